// Products touch nothing after their operands' last elements: a fault would end this program.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "engine/cpu/caches.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/isa.h"
#include "tests/support/edge.h"

using namespace mercer;

namespace {

/// Dense products of `batch` entries, each operand at the edge: each kind of transposition, b shared by all entries or not.
template <class T>
void at_the_edge(int64_t batch, int64_t m, int64_t n, int64_t k) {
    CAPTURE(batch);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const AtTheEdge<T> a(size_t(batch * m * k)), b(size_t(batch * k * n)), c(size_t(batch * m * n));
    std::fill(a.begin(), a.end(), T(1));
    std::fill(b.begin(), b.end(), T(2));
    const Isa before = isa();
    for (Isa each : available_isas())
        for (const bool a_across : {false, true})
            for (const bool b_across : {false, true})
                for (const int64_t apart : {int64_t{0}, k * n}) {
                    set_isa(each);
                    CAPTURE(name_of(each));
                    std::vector<int64_t> at_a, at_b, at_c;
                    for (int64_t i = 0; i < batch; ++i) {
                        at_a.push_back(i * m * k);
                        at_b.push_back((batch - 1) * (k * n - apart) + i * apart);
                        at_c.push_back(i * m * n);
                    }
                    std::fill(c.begin(), c.end(), T(0));
                    const cpu::MatrixView<const T> l{a.begin(), a_across ? 1 : k, a_across ? m : 1},
                        r{b.begin(), b_across ? 1 : n, b_across ? k : 1};
                    const cpu::MatrixView<T> out{c.begin(), n, 1};
                    if (batch == 1)
                        cpu::gemm<T>(m, n, k, l, r, out);
                    else
                        cpu::gemm_batched<T>(batch, m, n, k, l, at_a.data(), r, at_b.data(), out,
                                             at_c.data());
                    CHECK(std::all_of(c.begin(), c.end(), [&](T x) { return x == T(2 * k); }));
                }
    set_isa(before);
}

}  // namespace

TEST_CASE_TEMPLATE("nothing is touched after the last element", T, float, double) {
    for (int64_t batch : {1, 3, 70})
        for (int64_t m : {1, 2, 3, 9, 15, 40})
            for (int64_t n : {1, 2, 3, 5, 8, 15, 17, 33, 37, 70})
                for (int64_t k : {1, 2, 4, 7, 16, 33}) {
                    if (batch == 70 && m * n * k > 4000) continue;
                    at_the_edge<T>(batch, m, n, k);
                }
}

TEST_CASE_TEMPLATE("nor by larger products", T, float, double) {
    at_the_edge<T>(1, 130, 201, 300);
    at_the_edge<T>(1, 131, 201, 8);  // few steps
    at_the_edge<T>(2, 4, 1029, 3);
    at_the_edge<T>(2, 33, 139, 1024);  // rows that share cache sets
    at_the_edge<T>(1, 1, 201, 150);    // a row by what L2 holds
    at_the_edge<T>(1, 16, 1029, 515);
    at_the_edge<T>(1, 700, 37, 40);  // of which threads copy b
    at_the_edge<T>(30, 100, 90, 64);
    // Rows of b shorter than a register, more of them than the stack has room for.
    at_the_edge<T>(1, 33, 7, 100);
    at_the_edge<T>(1, 65, 71, 100);
    // Few rows by what caches do not hold.
    const int64_t beyond = cpu::caches().l3 / 2 / (700 * int64_t(sizeof(T))) + 37;
    at_the_edge<T>(1, 5, std::min<int64_t>(beyond, 12037), 700);
}

TEST_CASE_TEMPLATE("nor by packing, which keeps every element", T, float, double) {
    // Strips of rows as strip_rows() cuts them, each step by step; source and strips end at the edge.
    const Isa before = isa();
    for (int64_t m : {1, 2, 5, 6, 7, 9, 14, 15, 31})
        for (int64_t k : {1, 2, 3, 7, 8, 9, 17, 40})
            for (int64_t apart : {-1, 0, 1, 9})  // −1: the same row (column) again and again
                for (const bool across : {false, true}) {
                    CAPTURE(m);
                    CAPTURE(k);
                    CAPTURE(apart);
                    CAPTURE(across);
                    const int64_t far = apart < 0 ? 0 : (across ? m : k) + apart,
                                  row = across ? 1 : far, col = across ? far : 1;
                    const AtTheEdge<T> a(size_t((m - 1) * row + (k - 1) * col + 1)),
                        strips(size_t(m * k));
                    for (size_t i = 0; i < size_t(a.end() - a.begin()); ++i) a.begin()[i] = T(i);
                    for (Isa each : available_isas()) {
                        set_isa(each);
                        CAPTURE(name_of(each));
                        const cpu::GemmTable<T>& table = cpu::gemm_kernels<T>();
                        std::fill(strips.begin(), strips.end(), T(-1));
                        table.pack_rows(m, k, a.begin(), row, col, strips.begin());
                        const T* at = strips.begin();
                        for (int64_t i = 0; i < m;) {
                            const int rows = cpu::strip_rows(table.mr, m - i);
                            int wrong = 0;
                            for (int64_t p = 0; p < k; ++p)
                                for (int r = 0; r < rows; ++r)
                                    wrong += *at++ != a.begin()[(i + r) * row + p * col];
                            CHECK(wrong == 0);
                            i += rows;
                        }
                    }
                }
    set_isa(before);
}
