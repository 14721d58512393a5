// gemm against the sums it promises, bit for bit.
#include "engine/cpu/gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/cpu/caches.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/gemm_plan.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "tests/engine/gemm_promise.h"
#include "tests/support/edge.h"
#include "tests/support/restore.h"

namespace {

constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 257};

}  // namespace

TEST_CASE_TEMPLATE("gemm: every element is the sum promised", T, float, double) {
    uint64_t seed = 1;
    Numbers choice{sizeof(T)};
    for (int64_t m : sizes)
        for (int64_t n : sizes)
            for (int64_t k : sizes) {
                ++seed;
                const bool small = m * n * k <= 2000;
                if (choice.next() % (small ? 2 : m * n * k < 300000 ? 7 : 40) != 0) continue;
                check<T>(m, n, k, Layout(choice.next() % layouts), Layout(choice.next() % layouts),
                         Layout(choice.next() % layouts), choice.next() % 2, seed);
            }
}

TEST_CASE_TEMPLATE("gemm: which sums are in lanes, which in strands", T, float, double) {
    constexpr int64_t l = 64 / sizeof(T);
    const auto order = [](int64_t m, int64_t n, int64_t k, Layout la, Layout lb) {
        Matrix<T> a(m, k, la), b(k, n, lb);
        return cpu::order_by_shape(m, n, k, a.in(), b.in());
    };
    const auto chosen = [&](auto... x) { return order(x...) == cpu::Order::lanes; };
    const auto stranded = [&](auto... x) { return order(x...) == cpu::Order::strands; };
    for (int64_t m : {1, 2, 300}) {  // never by the number of rows
        CHECK(chosen(m, 1, l, Layout::rows, Layout::rows));
        CHECK(chosen(m, 8, 8 * l, Layout::padded_rows, Layout::both));
        CHECK_FALSE(chosen(m, 8, 8 * l - 1, Layout::rows, Layout::rows));
        CHECK_FALSE(chosen(m, 9, 1000, Layout::rows, Layout::rows));
        CHECK_FALSE(chosen(m, 2, 1000, Layout::both, Layout::rows));
        CHECK(chosen(m, 16, 1000, Layout::rows, Layout::columns) == (m == 1));
        CHECK(stranded(m, 4 * l, 16, Layout::rows, Layout::rows) == (m == 1));
        CHECK(stranded(4 * l, m, 16, Layout::columns, Layout::rows) == (m == 1));
    }
    CHECK(stranded(1, 4 * l, 128, Layout::both, Layout::padded_rows));  // 32 KiB
    CHECK_FALSE(stranded(1, 4 * l, 129, Layout::rows, Layout::rows));
    CHECK(stranded(1, l, 2048, Layout::both, Layout::rows));  // 128 KiB
    CHECK_FALSE(stranded(1, l, 2049, Layout::both, Layout::rows));
    CHECK_FALSE(stranded(1, l + 1, 2048, Layout::rows, Layout::rows));
    CHECK_FALSE(stranded(1, 4 * l + 1, 100, Layout::rows, Layout::rows));
    CHECK_FALSE(stranded(1, 4 * l, 15, Layout::rows, Layout::rows));
    CHECK_FALSE(stranded(4 * l, 1, 100, Layout::both, Layout::rows));
    CHECK_FALSE(stranded(1, 0, 100, Layout::rows, Layout::rows));
}

TEST_CASE_TEMPLATE("gemm: sums in strands, every width and tail", T, float, double) {
    uint64_t seed = 300;
    for (int64_t n = 1; n <= 4 * int64_t(64 / sizeof(T)); ++n)
        for (int64_t k : {16, 17, 18, 19, 40, 103}) {
            const Layout from = Layout(seed % layouts), to = Layout(seed / 7 % layouts);
            const Layout rows = seed / 2 % 2 ? Layout::rows : Layout::padded_rows;
            const Layout columns = seed / 2 % 2 ? Layout::columns : Layout::padded_columns;
            check<T>(1, n, k, from, rows, to, seed % 3 == 0, seed);
            check<T>(n, 1, k, columns, from, to, seed % 3 == 0, seed);
            ++seed;
        }
}

TEST_CASE_TEMPLATE("gemm: sums in lanes, every width and tail", T, float, double) {
    constexpr int64_t l = 64 / sizeof(T);
    uint64_t seed = 100;
    for (int64_t n = 1; n <= 8; ++n)
        for (int64_t m : {1, 2, 5, 7, 16, 21, 33})
            for (int64_t more : {0, 1, 7, 13}) {
                const Layout from = Layout(seed % 2 ? Layout::rows : Layout::padded_rows);
                check<T>(m, n, l * n + more, from, Layout(seed % layouts),
                         Layout(seed / 3 % layouts), seed % 3 == 0, seed);
                ++seed;
            }
    for (int64_t n : {3, 17, 40, 101})
        for (int64_t k : {16, 100, 333})
            for (Layout row : {Layout::rows, Layout::both}) {
                check<T>(1, n, k, row, n % 2 ? Layout::columns : Layout::padded_columns,
                         Layout(seed % layouts), seed % 2, seed);
                ++seed;
            }
}

TEST_CASE_TEMPLATE("gemm: few columns against rows from beyond L2", T, float, double) {
    uint64_t seed = 700;
    for (int64_t k : {int64_t{200}, 5 * (1024 / int64_t(sizeof(T))) + 3, int64_t{40000}})
        for (int64_t n : {1, 3, 4, 5, 6, 7, 8})
            for (int64_t more : {1, 3}) {
                const int64_t beyond = cpu::caches().l2 / 2 / (k * int64_t(sizeof(T)));
                check<T>(beyond / 6 * 6 + 6 + more, n, k,
                         Layout(seed % 2 ? Layout::rows : Layout::padded_rows),
                         Layout(seed % layouts), Layout(seed / 3 % layouts), seed % 3 == 0, seed);
                ++seed;
            }
}

TEST_CASE_TEMPLATE("gemm: rows that share cache sets", T, float, double) {
    uint64_t seed = 300;
    for (int64_t k : {512, 1024, 4096})
        for (int64_t m : {8, 9, 13, 14, 29, 200})
            for (int64_t n : {3, 17, 64, 139, 200}) {
                if (m * n * k > 16'000'000 && (seed += 1) % 3) continue;
                check<T>(m, n, k, Layout::rows, Layout(seed % 2), Layout(seed / 2 % 2),
                         seed % 3 == 0, seed);
                ++seed;
            }
}

TEST_CASE_TEMPLATE("gemm: few rows by a matrix larger than caches", T, float, double) {
    // The kernel itself: every number of rows, tails of n and k, b to its last element.
    uint64_t seed = 500;
    for (int64_t m : {1, 2, 3, 5, 8, 9, 13, 14, 15, 16, 31})
        for (int64_t n : {1, 15, 16, 33, 64, 201})
            for (int64_t k : {1, 2, 8, 9, 16, 17, 45}) {
                const bool accumulate = ++seed % 2;
                CAPTURE(m);
                CAPTURE(n);
                CAPTURE(k);
                Numbers numbers{seed};
                Matrix<T> a(m, k, Layout::rows), b(k, n, Layout::padded_rows),
                    c(m, n, Layout::padded_rows);
                a.fill(numbers), b.fill(numbers), c.fill(numbers);
                Matrix<T> expected = c;
                chain<T>(m, n, k, a.in(), b.in(), expected.out(), accumulate);
                const int64_t whole = (n + 63) / 64 * 64;
                const T nan = std::numeric_limits<T>::quiet_NaN();
                const AtTheEdge<T> rows(size_t((k - 1) * whole + n));
                std::fill(rows.begin(), rows.end(), nan);
                for (int64_t p = 0; p < k; ++p)
                    std::copy_n(b.memory.data() + p * b.row, n, rows.begin() + p * whole);
                on_every_isa([&] {
                    const cpu::GemmTable<T>& table = cpu::gemm_kernels<T>();
                    std::vector<T> strips(size_t(m * k));
                    table.pack_rows(m, k, a.memory.data(), a.row, a.col, strips.data());
                    Matrix<T> actual = c;
                    table.multiply_strips(m, n, k, strips.data(), rows.begin(), whole,
                                          actual.memory.data(), c.row, accumulate);
                    CHECK(same_bits(actual.memory, expected.memory));
                });
            }
    // The way there, unless half of L3 is larger than a test should be.
    constexpr int64_t k = 700;
    const int64_t beyond = cpu::caches().l3 / 2 / (k * int64_t(sizeof(T))) + 37;
    for (int64_t m : {3, 9, 16})
        check<T>(m, std::min<int64_t>(beyond, 16037), k, Layout::rows, Layout::rows, Layout::rows,
                 m == 9, 7);
}

TEST_CASE_TEMPLATE("gemm: a row's bits do not depend on how many there are", T, float, double) {
    const int64_t m = 37, k = 300;
    for (int64_t n : {1, 2, 3, 4, 8, 9, 16, 40}) {
        Numbers numbers{uint64_t(n)};
        Matrix<T> a(m, k, Layout::rows), b(k, n, Layout::rows), c(m, n, Layout::rows),
            d(m, n, Layout::rows);
        a.fill(numbers), b.fill(numbers);
        cpu::gemm(m, n, k, a.in(), b.in(), c.out());
        for (int64_t rows : {1, 2, 5})
            for (int64_t i = 0; i + rows <= m; i += rows) {
                // A row alone may be summed in strands; where it must be as among others, that is asked for.
                const cpu::Order order =
                    rows == 1 && n > 8 ? cpu::Order::chain : cpu::Order::by_shape;
                cpu::gemm<T>(rows, n, k, {a.memory.data() + i * k, k, 1}, b.in(),
                             {d.memory.data() + i * n, n, 1}, false, {}, order);
                CHECK(std::memcmp(d.memory.data() + i * n, c.memory.data() + i * n,
                                  size_t(rows * n) * sizeof(T)) == 0);
            }
    }
    // Columns along memory: likewise.
    Numbers numbers{5};
    Matrix<T> a(m, k, Layout::rows), b(k, 40, Layout::columns), c(m, 40, Layout::rows),
        d(m, 40, Layout::rows);
    a.fill(numbers), b.fill(numbers);
    cpu::gemm(m, 40, k, a.in(), b.in(), c.out());
    for (int64_t i = 0; i < m; ++i)
        cpu::gemm<T>(1, 40, k, {a.memory.data() + i * k, k, 1}, b.in(),
                     {d.memory.data() + i * 40, 40, 1}, false, {}, cpu::Order::chain);
    CHECK(same_bits(d.memory, c.memory));
}

TEST_CASE_TEMPLATE("gemm: last columns that share registers", T, float, double) {
    constexpr int64_t line = 64 / sizeof(T);
    uint64_t seed = 700;
    for (int64_t lines : {2, 3, 4, 5})
        for (int64_t more = 1; more <= line / 2 + 1; ++more)
            for (int64_t m : {9, 10, 12, 13, 17, 19, 24, 33})
                for (int64_t k : {9, 31, 40, 67}) {
                    ++seed;
                    check<T>(m, lines * line + more, k, Layout(seed % layouts),
                             seed % 2 ? Layout::rows : Layout::padded_rows,
                             seed % 4 ? Layout::rows : Layout::padded_rows, seed % 7 == 0, seed);
                }
}

TEST_CASE_TEMPLATE("gemm: rows of b that overlap, or are all the same one", T, float, double) {
    constexpr int64_t m = 5, k = 9;
    Numbers numbers{11};
    Matrix<T> a(m, k, Layout::rows), b(k, 16, Layout::rows);
    a.fill(numbers), b.fill(numbers);
    for (int64_t n = 1; n <= 16; ++n)
        for (int64_t row : {0, 1, 2, 7}) {
            CAPTURE(n);
            CAPTURE(row);
            Matrix<T> c(m, n, Layout::rows), expected(m, n, Layout::rows);
            const MatrixView<const T> overlapping{b.memory.data(), row, 1};
            promised<T>(m, n, k, a.in(), overlapping, expected.out(), false);
            on_every_isa([&] {
                cpu::gemm<T>(m, n, k, a.in(), overlapping, c.out());
                CHECK(same_bits(c.memory, expected.memory));
            });
        }
}

TEST_CASE_TEMPLATE("gemm: k across several blocks", T, float, double) {
    for (int64_t k : {1000, 1031, 2500})
        for (Layout l : {Layout::rows, Layout::columns}) {
            check<T>(33, 35, k, l, Layout::rows, Layout::rows, false, 5);
            check<T>(3, 70, k, Layout::rows, l, Layout::rows, true, 6);
            check<T>(1, 97, k, Layout::rows, l, Layout::rows, false, 7);
            check<T>(97, 1, k, l, Layout::rows, Layout::rows, true, 8);
            check<T>(97, 1, k, l, Layout::rows, Layout::both, false, 8);
            check<T>(40, 20, k, l, Layout::both, l, true, 9);
        }
}

TEST_CASE_TEMPLATE("gemm: few strips by a far b whose rows lie pairs of pages apart", T, float,
                   double) {
    const Restore restore;
    constexpr int64_t wide = 8192 / sizeof(T);
    const auto plan = [](int64_t m, int64_t n, int64_t k, int64_t threads) {
        const T* const none = nullptr;
        return cpu::plan_for<T>(
            cpu::gemm_kernels<T>(),
            {m, n, k, {none, k, 1}, {none, wide, 1}, {nullptr, n, 1}, false, nullptr, {none, 0, 0}},
            threads);
    };
    const int64_t far = cpu::caches().l3 / 4 / 8192 + 1, piece = plan(17, wide, 2 * far, 1).kc,
                  beyond = cpu::round_up(far, piece) + piece;
    Numbers numbers{9};
    Matrix<T> a(39, beyond + 37, Layout::rows), b(beyond + 37, wide, Layout::rows);
    a.fill(numbers), b.fill(numbers);
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{17, wide, beyond},
                                  {20, wide - 5, beyond},
                                  {20, wide - 5, beyond + 37},
                                  {39, wide - 64, beyond + 37}}) {
        const bool accumulate = m == 20;
        cpu::Epilogue<T> after;
        if (m == 17) after.bias = b.memory.data();
        Matrix<T> before(m, n, m == 39 ? Layout::both : Layout::rows);
        before.fill(numbers);
        Matrix<T> expected = before;
        for (int64_t i = 0; i < m; ++i)  // which b is read for in other ways
            cpu::gemm<T>(1, n, k, {a.memory.data() + i * a.row, a.row, 1}, b.in(),
                         {expected.memory.data() + i * expected.row, expected.row, expected.col},
                         accumulate, after);
        for (int threads : {1, 2, 3, 7}) {
            set_thread_count(threads);
            on_every_isa([&] {
                Matrix<T> c = before;
                cpu::gemm(m, n, k, a.in(), b.in(), c.out(), accumulate, after);
                CHECK_MESSAGE(same_bits(c.memory, expected.memory),
                              m << " x " << n << " x " << k << " threads " << threads);
                CHECK(plan(m, n, k, threads).long_rows == is_low(cpu::gemm_kernels<T>()));
            });
        }
    }
}

TEST_CASE_TEMPLATE("gemm: a few columns against many of a transpose", T, float, double) {
    uint64_t seed = 20;
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{300, 30, 200}, {1433, 7, 150}, {135, 64, 1100}})
        for (Layout b : {Layout::rows, Layout::padded_rows})
            for (bool accumulate : {false, true})
                check<T>(m, n, k, Layout::columns, b, Layout::padded_rows, accumulate, ++seed);
}

TEST_CASE("gemm: k too long to be packed at once") {
    check<float>(29, 2, 600000, Layout::rows, Layout::rows, Layout::rows, false, 10);
}

TEST_CASE_TEMPLATE("gemm: m, n across several blocks", T, float, double) {
    check<T>(307, 203, 3, Layout::rows, Layout::rows, Layout::rows, false, 4);
    check<T>(2100, 17, 9, Layout::rows, Layout::rows, Layout::rows, false, 1);
    check<T>(19, 5000, 9, Layout::rows, Layout::columns, Layout::rows, true, 2);
    check<T>(1, 20000, 9, Layout::rows, Layout::rows, Layout::rows, false, 3);
}

TEST_CASE_TEMPLATE("gemm: panels packed while others are multiplied", T, float, double) {
    check<T>(130, 203, 301, Layout::rows, Layout::rows, Layout::rows, false, 1);
    check<T>(130, 203, 301, Layout::columns, Layout::padded_rows, Layout::rows, true, 2);
    check<T>(40, 610, 301, Layout::rows, Layout::padded_rows, Layout::rows, false, 3);
    check<T>(60, 750, 263, Layout::rows, Layout::rows, Layout::columns, false, 4);
}

TEST_CASE_TEMPLATE("gemm: b in place whose rows end within a register", T, float, double) {
    uint64_t seed = 40;
    for (int64_t n : {3, 8, 9, 13, 24, 40, 61})
        for (const auto& [m, k] : {std::array<int64_t, 2>{2, 1}, {5, 17}, {20, 64}, {70, 40}})
            for (Layout a : {Layout::rows, Layout::columns}) {
                check<T>(m, n, k, a, Layout::rows, Layout::rows, false, ++seed);
                check<T>(m, n, k, a, Layout::padded_rows, Layout::padded_columns, true, ++seed);
            }
    check<T>(17, 301, 70, Layout::rows, Layout::rows, Layout::rows, false, ++seed);
    check<T>(2, 301, 1100, Layout::columns, Layout::padded_rows, Layout::rows, true, ++seed);
}

TEST_CASE_TEMPLATE("gemm: few steps, every rest of rows and columns", T, float, double) {
    uint64_t seed = 60;
    for (int64_t k = 1; k <= 9; ++k)
        for (int64_t n : {2, 8, 16, 17, 23, 32, 47, 64, 65, 128, 150, 401, 1500})
            for (int64_t m : {1, 3, 4, 5, 6, 7, 8, 14, 30})
                for (Layout c : {Layout::rows, Layout::padded_rows}) {
                    ++seed;
                    check<T>(m, n, k, Layout(seed % layouts),
                             seed % 5 ? Layout::rows : Layout::padded_rows, c, seed % 3 == 0, seed);
                }
    for (int64_t k : {1, 3, 8, 21})  // as much as L2 holds, and more
        for (const auto& [m, n] : {std::array<int64_t, 2>{511, 200}, {1022, 128}, {90, 3000}})
            for (Layout a : {Layout::rows, Layout::columns})
                for (bool accumulate : {false, true})
                    check<T>(m, n, k, a, Layout::rows, Layout::rows, accumulate, ++seed);
}

TEST_CASE_TEMPLATE("gemm: k long beside m and n", T, float, double) {
    const Restore restore;
    for (int threads : {1, 3}) {
        set_thread_count(threads);
        check<T>(40, 150, 5000, Layout::rows, Layout::rows, Layout::rows, false, 50);
        check<T>(33, 100, 4100, Layout::columns, Layout::padded_columns, Layout::rows, true, 51);
    }
}

TEST_CASE_TEMPLATE("gemm: threads with a small b of their own", T, float, double) {
    const Restore restore;
    for (int threads : {2, 3}) {
        set_thread_count(threads);
        check<T>(700, 45, 37, Layout::rows, Layout::rows, Layout::rows, false, 60);
        check<T>(1501, 16, 70, Layout::columns, Layout::padded_rows, Layout::rows, true, 61);
        check<T>(800, 100, 64, Layout::padded_rows, Layout::rows, Layout::columns, false, 62);
    }
}

TEST_CASE_TEMPLATE("gemm: one thread and several give the same bits", T, float, double) {
    const Restore restore;
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{151, 290, 270},
                                  {301, 290, 270},
                                  {1, 4000, 600},
                                  {2000, 40, 300},
                                  {3001, 1, 600},
                                  {2003, 7, 400},
                                  {9, 3001, 513},
                                  {601, 709, 501},
                                  {901, 130, 2311},
                                  {63, 64, 14001}}) {
        Numbers numbers{uint64_t(m)};
        Matrix<T> a(m, k, Layout::rows), b(k, n, Layout::padded_rows), c(m, n, Layout::rows);
        a.fill(numbers), b.fill(numbers);
        std::vector<T> first;
        for (int threads : {1, 2, 3, 7}) {
            set_thread_count(threads);
            cpu::gemm(m, n, k, a.in(), b.in(), c.out());
            if (threads == 1) first = c.memory;
            CHECK_MESSAGE(same_bits(c.memory, first),
                          m << " x " << n << " x " << k << " threads " << threads);
        }
    }
}

TEST_CASE_TEMPLATE("gemm: what c holds does not matter without accumulate", T, float, double) {
    on_every_isa([] {
        for (Layout layout : {Layout::rows, Layout::columns, Layout::both})
            for (const auto& shape : {std::array<int64_t, 3>{5, 7, 3},
                                      {65, 67, 70},
                                      {20, 20, 0},
                                      {1, 33, 9},
                                      {30, 1, 900},
                                      {30, 4, 901}}) {
                const int64_t m = shape[0], n = shape[1], k = shape[2];
                Numbers numbers{7};
                Matrix<T> a(m, k, Layout::rows), b(k, n, Layout::rows), c(m, n, layout),
                    expected(m, n, layout);
                a.fill(numbers), b.fill(numbers);
                for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < n; ++j)
                        c.memory[size_t(i * c.row + j * c.col)] =
                            std::numeric_limits<T>::quiet_NaN();
                cpu::gemm(m, n, k, a.in(), b.in(), c.out());
                promised(m, n, k, a.in(), b.in(), expected.out(), false);
                CHECK(same_bits(c.memory, expected.memory));
            }
    });
}

TEST_CASE_TEMPLATE("gemm: infinities and NaN stay in their row and column", T, float, double) {
    for (const int64_t n : {45, 3})
        on_every_isa([n] {
            const int64_t m = 37, k = 341;
            Numbers numbers{3};
            Matrix<T> a(m, k, Layout::rows), b(k, n, Layout::columns), c(m, n, Layout::rows),
                expected(m, n, Layout::rows);
            a.fill(numbers), b.fill(numbers);
            a.memory[size_t(36 * k + 340)] = std::numeric_limits<T>::quiet_NaN();
            b.memory[size_t((n - 1) * k + 3)] = std::numeric_limits<T>::infinity();
            cpu::gemm(m, n, k, a.in(), b.in(), c.out());
            promised(m, n, k, a.in(), b.in(), expected.out(), false);
            for (int64_t i = 0; i < m * n; ++i) {
                const T x = c.memory[size_t(i)], y = expected.memory[size_t(i)];
                CHECK((x == y || (x != x && y != y)));
            }
        });
}

TEST_CASE_TEMPLATE("gemm: a negative zero survives where the chain keeps it", T, float, double) {
    on_every_isa([] {
        for (int64_t k : {1, 3, 300}) {
            Matrix<T> a(4, k, Layout::rows), b(k, 20, Layout::rows), c(4, 20, Layout::rows);
            for (T& x : a.memory) x = T(-0.0);
            for (T& x : b.memory) x = T(1);
            for (T& x : c.memory) x = T(-0.0);
            cpu::gemm(4, 20, k, a.in(), b.in(), c.out(), true);
            for (int64_t i = 0; i < 80; ++i) CHECK(std::signbit(c.memory[size_t(i)]));
        }
    });
}
