// Errors, blocks and batches of linear algebra; its values and derivatives are in tests/cases/linalg.cpp.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/cancel.h"
#include "engine/cpu/factor.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/linalg.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/emulated.h"
#include "tests/support/every_isa.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {

double largest(const Tensor& x) { return max(abs(cast(x, DType::f64))).item<double>(); }

}  // namespace

TEST_CASE("residuals of large factorisations are a few eps") {
    for (const int64_t n : {63, 64, 65, 200, 513}) {
        const Tensor x = randn(Key{5, uint64_t(n)}, {n, n}, DType::f64);
        const Tensor a = matmul(x, transpose(x)) + Tensor::eye(n, -1, DType::f64) * double(n),
                     b = randn(Key{6, 1}, {n, 3}, DType::f64);
        const double eps = std::numeric_limits<double>::epsilon() * double(n), scale = largest(a);
        const Tensor l = cholesky(a);
        CHECK(largest(matmul(l, transpose(l)) - a) < eps * scale);
        CHECK(largest(matmul(x, solve(x, b)) - b) < 1e4 * eps * largest(b));
        CHECK(largest(matmul(a, solve_spd(a, b)) - b) < 10 * eps * largest(b));
        CHECK(largest(matmul(a, inverse(a)) - Tensor::eye(n, -1, DType::f64)) < 100 * eps);
        const auto [values, v] = eigh(a);
        CHECK(largest(matmul(v * values, transpose(v)) - a) < 4 * eps * scale);
        CHECK(largest(matmul(transpose(v), v) - Tensor::eye(n, -1, DType::f64)) < 4 * eps);
        CHECK(std::abs(logdet(a).item<double>() - sum(log(values)).item<double>()) <
              1e-10 * double(n));
    }
}

namespace {

/// L and U in one, and the exchanges, one element after the other.
template <class T>
std::vector<int64_t> factored_plainly(int64_t n, std::vector<T>& a) {
    std::vector<int64_t> pivots(size_t(n), 0);
    const auto at = [&](int64_t i, int64_t j) -> T& { return a[size_t(i * n + j)]; };
    for (int64_t j = 0; j < n; ++j) {
        int64_t p = j;
        for (int64_t i = j + 1; i < n; ++i)
            if (std::abs(at(i, j)) > std::abs(at(p, j))) p = i;
        pivots[size_t(j)] = p;
        for (int64_t c = 0; c < n; ++c) std::swap(at(j, c), at(p, c));
        for (int64_t i = j + 1; i < n; ++i) {
            at(i, j) /= at(j, j);
            for (int64_t c = j + 1; c < n; ++c) at(i, c) = std::fma(-at(i, j), at(j, c), at(i, c));
        }
    }
    return pivots;
}

template <class T>
void check_factors(int64_t n, bool ties) {
    const DType dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
    CAPTURE(n);
    std::vector<T> a = randn(Key{9, uint64_t(n)}, {n, n}, dtype).to_vector<T>();
    if (ties)  // for the pivot, and zeros of both signs
        for (int64_t i = 0; i < n * n; ++i)
            if (i % (n + 1) && i * i % 7 < 4)
                a[size_t(i)] = i * i % 5 ? T(i * i % 11 % 3 - 1) : T(-0.0);
    const Tensor x = Tensor::from(a, {n, n}), b = Tensor::full({n, 1}, 1.0, dtype);
    const std::vector<int64_t> pivots = factored_plainly(n, a);
    const Tensor none;
    const Tensors<3> solved = Solve::forward({false}, {&x, &b, &none, &none});
    CHECK(solved[2].to_vector<int64_t>() == pivots);
    CHECK(std::memcmp(solved[1].raw(), a.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE("factors are those of plain elimination, bit by bit") {
    on_every_isa([] {
        for (const bool ties : {false, true})
            for (const int64_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 90, 130})
                check_factors<float>(n, ties), check_factors<double>(n, ties);
    });
}

namespace {

// Rows that exchange at every step, far from singular.
Tensor scattered(int64_t n, DType dtype) {
    return roll(randn(Key{7, 1}, {n, n}, dtype) * 0.01 + Tensor::eye(n, -1, dtype) * 3.0, {n / 3},
                {0});
}

}  // namespace

TEST_CASE("one column's solution is that of the first of several, bit by bit") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t n : {1, 2, 63, 64, 65, 130, 330}) {
                CAPTURE(n);
                const Tensor wide = scattered(2 * n, dtype) + Tensor::eye(2 * n, -1, dtype) * 4.0,
                             rows = slice(slice(wide, 0, 0, n), 1, 0, n),
                             apart = slice(slice(wide, 0, 0, 2 * n, 2), 1, 0, 2 * n, 2),
                             b = randn(Key{10, uint64_t(n)}, {n, 3}, dtype),
                             first = slice(b, 1, 0, 1);
                const auto same = [](const Tensor& one, const Tensor& several) {
                    const Tensor x = slice(several, 1, 0, 1).contiguous();
                    return std::memcmp(one.raw(), x.raw(),
                                       size_t(x.count()) * size_of(x.dtype())) == 0;
                };
                for (const Tensor& t : {rows, transpose(rows), apart})
                    for (const bool lower : {false, true})
                        for (const bool transposed : {false, true})
                            CHECK(same(triangular_solve(t, first, lower, transposed),
                                       triangular_solve(t, b, lower, transposed)));
                CHECK(same(solve(rows, first), solve(rows, b)));
            }
    });
}

TEST_CASE("matrices wider than what is packed at a time, and any number of threads") {
    reduced_under_emulation("one factorisation wider than what is packed at a time");
    const int64_t n = emulated ? 300 : 2120;
    const Tensor a = scattered(n, DType::f64), eye = Tensor::eye(n, -1, DType::f64);
    const Tensor inverted = inverse(a);
    CHECK(largest(matmul(a, inverted) - eye) < 1e-11);
    CHECK(largest(solve(a, eye) - inverted) < 1e-11);
    const Tensor lower = eye * 4.0 + tril(a, -1);
    const Tensor b = randn(Key{8, 1}, {n, 5}, DType::f64);
    CHECK(largest(matmul(lower, triangular_solve(lower, b)) - b) < 1e-10);
    CHECK(largest(matmul(transpose(lower), triangular_solve(lower, b, true, true)) - b) < 1e-10);
    const int threads = thread_count();
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = scattered(400, dtype), gram = matmul(x, transpose(x));
        std::vector<Tensor> first;
        for (const int count : {1, 2, 5}) {
            set_thread_count(count);
            const auto [values, vectors] = eigh(gram);
            std::vector<Tensor> all{inverse(x),     solve(x, gram),
                                    cholesky(gram), triangular_solve(gram, x, false, false),
                                    values,         vectors};
            if (first.empty()) first = all;
            for (size_t i = 0; i < all.size(); ++i)
                CHECK(std::memcmp(all[i].raw(), first[i].raw(),
                                  size_t(all[i].count()) * size_of(dtype)) == 0);
        }
        set_thread_count(threads);
    }
    // Blocks of several units, fewer at the end, of LU too; and several matrices at once.
    reduced_under_emulation("blocks of several units");
    const int64_t rows = emulated ? 330 : 1600;
    const Tensor wide = scattered(rows, DType::f32), gram = matmul(wide, transpose(wide));
    const Tensor many = stack(std::vector{gram, gram * 2.0, gram * 4.0}, 0);
    std::vector<Tensor> first;
    for (const int count : {1, 2, 5}) {
        set_thread_count(count);
        const std::vector<Tensor> all{inverse(wide), cholesky(gram), cholesky(many)};
        if (first.empty()) first = all;
        for (size_t i = 0; i < all.size(); ++i)
            CHECK(std::memcmp(all[i].raw(), first[i].raw(), size_t(all[i].count()) * 4) == 0);
    }
    set_thread_count(threads);
    const Tensor l = first[1];
    CHECK(largest(triu(l, 1)) == 0);
    CHECK(largest(matmul(l, transpose(l)) - gram) < 1e-5 * largest(gram));
    CHECK(std::memcmp(first[2].raw(), l.raw(), size_t(l.count()) * 4) == 0);
    CHECK(largest(matmul(wide, first[0]) - Tensor::eye(rows, -1, DType::f32)) < 1e-4);
}

TEST_CASE("a factorisation stops in the middle when asked to, and leaves nothing behind") {
    reduced_under_emulation("how large what is stopped is");
    const int threads = thread_count();
    const Tensor x = scattered(emulated ? 330 : 2000, DType::f64), gram = matmul(x, transpose(x)),
                 lower = cholesky(gram);
    const auto stopped = [](auto factor) {
        std::stop_source source;
        const CancelScope scope(source.get_token());
        std::atomic<bool> begun{false};
        std::thread other([&] {
            while (!begun) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            source.request_stop();
        });
        bool cancelled = false;
        try {
            begun = true;
            factor();
        } catch (const Cancelled&) {
            cancelled = true;
        }
        other.join();
        return cancelled;
    };
    for (const int count : {1, 3}) {
        set_thread_count(count);
        int cancelled = 0;  // not when the other thread slept too long
        for (int time = 0; time < 10; ++time) {
            cancelled += stopped([&] { cholesky(gram); });
            stopped([&] { inverse(x); });
        }
        CHECK(cancelled > 2);
    }
    set_thread_count(threads);
    CHECK(std::memcmp(cholesky(gram).raw(), lower.raw(), size_t(lower.count()) * 8) == 0);
}

TEST_CASE("memory that ends within a factorisation ends it on all threads") {
    const int threads = thread_count();
    const Tensor x = scattered(emulated ? 330 : 700, DType::f64), gram = matmul(x, transpose(x));
    set_thread_count(4);
    int failed = 0, done = 0;
    for (size_t more = 0; more < size_t{1} << 25; more += size_t{1} << 18)
        std::thread([&] {  // whose own scratch is not yet there
            set_memory_limit(memory_stats().live + more);
            try {
                cholesky(gram), inverse(x), ++done;
            } catch (const MemoryError&) {
                ++failed;
            }
            set_memory_limit(0);
        })
            .join();
    set_thread_count(threads);
    CHECK(failed > 0);
    CHECK(done > 0);
}

namespace {

// Symmetric matrices that are hard for one step or another of an eigenvalue algorithm.
std::vector<std::pair<const char*, Tensor>> spectra(int64_t n) {
    const Tensor eye = Tensor::eye(n, -1, DType::f64), ones = Tensor::ones({n, n}, DType::f64),
                 x = randn(Key{9, uint64_t(n)}, {n, n}, DType::f64), symmetric = x + transpose(x),
                 thin = slice(x, 1, 0, std::min<int64_t>(3, n));
    Tensor glued = Tensor::zeros({n, n}, DType::f64), graded = glued.clone(),
           laplace = glued.clone();
    const auto put = [n](Tensor& a, int64_t i, int64_t j, double v) {
        a.mutable_data<double>()[i * n + j] = a.mutable_data<double>()[j * n + i] = v;
    };
    for (int64_t i = 0; i < n; ++i) {
        put(glued, i, i, std::abs(double(i % 21) - 10));
        put(laplace, i, i, 2);
        if (i > 0) put(glued, i, i - 1, i % 21 ? 1 : 1e-7), put(laplace, i, i - 1, -1);
        for (int64_t j = 0; j <= i; ++j)
            put(graded, i, j, std::pow(10.0, -double(i % 30)) * double(1 + i * j % 7));
    }
    return {{"one eigenvalue", eye},
            {"zero", eye * 0.0},
            {"rank one", ones},
            {"rank three", matmul(thin, transpose(thin))},
            {"random", symmetric},
            {"pairs as good as equal", glued},
            {"graded", graded},
            {"its own tridiagonal form", laplace},
            {"squares vanish", symmetric * 1e-30},
            {"squares overflow", symmetric * 1e30},
            {"subnormal", symmetric * 1e-42}};
}

}  // namespace

TEST_CASE("eigenvectors of hard matrices are orthonormal and of small residual") {
    reduced_under_emulation("eigenvectors of matrices of order 17 to 420");
    const std::vector<int64_t> orders = emulated
                                            ? std::vector<int64_t>{1, 41, 90}
                                            : std::vector<int64_t>{1, 2, 17, 40, 41, 90, 130, 420};
    for (const int64_t n : orders)
        for (const auto& [what, a] : spectra(n))
            for (const DType dtype : {DType::f32, DType::f64}) {
                CAPTURE(n);
                CAPTURE(what);
                CAPTURE(int(dtype));
                const Tensor x = cast(a, dtype);
                const auto [l, v] = eigh(x);
                const Tensor values = cast(l, DType::f64), vectors = cast(v, DType::f64),
                             exact = cast(x, DType::f64);
                const double eps = (8 + 3 * std::sqrt(double(n))) *
                                   (dtype == DType::f32 ? 0x1p-24 : 0x1p-53),
                             scale = largest(sum(abs(exact), {-1})),
                             // A subnormal matrix has no more digits than this.
                    quantum = dtype == DType::f32 ? 0x1p-149 : 0x1p-1074;
                CHECK(largest(matmul(vectors * values, transpose(vectors)) - exact) <=
                      eps * scale + double(n) * quantum);
                CHECK(largest(matmul(transpose(vectors), vectors) -
                              Tensor::eye(n, -1, DType::f64)) <= eps);
                if (n > 1)
                    CHECK(min(slice(values, 0, 1, n) - slice(values, 0, 0, n - 1)).item<double>() >=
                          0);
                CHECK(largest(max(vectors, {0}) - max(abs(vectors), {0})) == 0);
            }
}

TEST_CASE("the column that stops a blocked factorisation is named") {
    Tensor a = Tensor::eye(300, -1, DType::f64);
    a.mutable_data<double>()[170 * 301] = -1;
    CHECK(message_of([&] { cholesky(a); }).find("at column 170") != std::string::npos);
    a.mutable_data<double>()[170 * 301] = 0;
    CHECK(message_of([&] { inverse(a); }).find("at column 170") != std::string::npos);
    CHECK(message_of([&] { solve(roll(a, {40}, {0}), a); }).find("at column 170") !=
          std::string::npos);
    // In each of the blocks, while other threads are at work or wait.
    reduced_under_emulation("in how many blocks that is");
    const int threads = thread_count();
    const int64_t n = emulated ? 330 : 1000;
    for (const int count : {1, 2, 5})
        for (int64_t column = 0; column < n; column += 111) {
            set_thread_count(count);
            Tensor x = scattered(n, DType::f32), gram = matmul(x, transpose(x));
            gram.mutable_data<float>()[column * (n + 1)] = -1e4f;
            const std::string at = "at column " + std::to_string(column) + ")";
            CHECK(message_of([&] { cholesky(gram); }).find(at) != std::string::npos);
            for (int64_t i = 0; i < n; ++i) x.mutable_data<float>()[i * n + column] = 0;
            CHECK(message_of([&] { inverse(x); }).find(at) != std::string::npos);
        }
    set_thread_count(threads);
}

TEST_CASE("matrices without rows") {
    for (const int64_t k : {0, 1, 3}) {
        double x = 7;
        int64_t pivot = 7;
        CHECK(cpu::lu<double>(0, &x, &pivot) == 0);
        cpu::lu_solve<double>(0, k, &x, &pivot, false, &x);
        cpu::lu_solve<double>(0, k, &x, &pivot, true, &x);
        cpu::lu_inverse<double>(0, &x, &pivot, &x);
        cpu::solve_triangular<double>(0, k, {&x, 0, 1}, true, false, {&x, k, 1});
        CHECK((x == 7 && pivot == 7));
        CHECK(solve(Tensor::ones({0, 0}), Tensor::ones({0, k})).shape() == Shape{0, k});
    }
    CHECK(inverse(Tensor::ones({2, 0, 0})).shape() == Shape{2, 0, 0});
}

TEST_CASE("what is wrong is named") {
    const Tensor eye = Tensor::eye(3, -1, DType::f32), bad = -eye;
    CHECK(message_of([&] { cholesky(bad); }).find("not positive definite") != std::string::npos);
    CHECK(message_of([&] {
              cholesky(stack(std::vector{eye, eye, bad}, 0));
          }).find("matrix 2 of the batch") != std::string::npos);
    // Of several, the first matrix, and its own column.
    std::vector<Tensor> many(64, eye);
    for (size_t i = 5; i < many.size(); ++i) {
        many[i] = eye.clone();
        many[i].mutable_data<float>()[i % 3 * 4] = -1;
    }
    const int threads = thread_count();
    for (const int count : {1, 4})
        for (int times = 0; times < 20; ++times) {
            set_thread_count(count);
            CHECK(message_of([&] {
                      cholesky(stack(many, 0));
                  }).find("matrix 5 of the batch is not positive") != std::string::npos);
            CHECK(message_of([&] { cholesky(stack(many, 0)); }).find("(at column 2)") !=
                  std::string::npos);
        }
    set_thread_count(threads);
    CHECK_THROWS_AS(cholesky(eye * std::numeric_limits<double>::quiet_NaN()), NumericalError);
    CHECK_THROWS_AS(eigh(eye * std::numeric_limits<double>::infinity()), NumericalError);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor half = Tensor::from(std::vector<double>{1, nan, .5, 1}, {2, 2});
    CHECK(all(isfinite(eigh(half).first)).item<bool>());  // its lower triangle is read
    CHECK_THROWS_AS(eigh(Tensor::from(std::vector<double>{1, .5, nan, 1}, {2, 2})), NumericalError);
    CHECK_THROWS_AS(inverse(Tensor::zeros({3, 3})), NumericalError);
    CHECK_THROWS_AS(solve(Tensor::zeros({3, 3}), eye), NumericalError);
    CHECK_THROWS_AS(cholesky(Tensor::zeros({3, 4})), ShapeError);
    CHECK(message_of([&] {
              solve(eye, Tensor::zeros({4, 1}));
          }).find("(3,3)") != std::string::npos);
    CHECK_THROWS_AS(solve(eye, Tensor::zeros({3, 1}, DType::f64)), DTypeError);
    CHECK_THROWS_AS(cholesky(Tensor::zeros({2, 2}, DType::i64)), DTypeError);
    CHECK_THROWS_AS(diagonal(Tensor::zeros({2})), ShapeError);
}
