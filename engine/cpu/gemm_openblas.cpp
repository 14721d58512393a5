// gemm through OpenBLAS's cblas, which keeps ours honest.
#include <algorithm>
#include <climits>
#include <mutex>

#include "engine/cpu/gemm_plan.h"
#include "engine/cpu/instantiate.h"
#include "engine/cpu/openblas.h"
#include "engine/error.h"

namespace mercer::cpu {
namespace {

/// A matrix as cblas takes it: rows `step` apart, or columns where transposed.
template <class T>
struct Operand {
    const T* data;
    int form, step;
    Operand(Scratch& scratch, MatrixView<const T> x, int64_t rows, int64_t columns) {
        const auto fits = [](int64_t unit, int64_t step, int64_t across, int64_t along) {
            return (unit == 1 || along == 1) && (step >= along || across == 1) && step <= INT_MAX;
        };
        const bool by_row = fits(x.col, x.row, rows, columns);
        if (!by_row && !fits(x.row, x.col, columns, rows)) {
            T* const copy = scratch.take<T>(rows * columns);
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < columns; ++j)
                    copy[i * columns + j] = x.data[i * x.row + j * x.col];
            data = copy, form = 111, step = int(std::max<int64_t>(1, columns));
            return;
        }
        data = x.data;
        form = by_row ? 111 : 112;
        step = int(std::max({int64_t{1}, by_row ? x.row : x.col, by_row ? columns : rows}));
    }
};

}  // namespace

template <class T>
void gemm_openblas(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
                   MatrixView<T> c, bool accumulate) {
    if (m <= 0 || n <= 0) return;
    if (std::max({m, n, k}) > INT_MAX)
        throw ValueError("matmul", "MERCER_GEMM=openblas takes sizes below 2^31, got m ", m, ", n ",
                         n, ", k ", k);
    const auto multiply = [&](MatrixView<T> to) {
        if (k == 0) {
            if (!accumulate)
                for (int64_t i = 0; i < m; ++i) std::fill_n(to.data + i * to.row, n, T(0));
            return;
        }
        Scratch scratch;
        const Operand<T> l(scratch, a, m, k), r(scratch, b, k, n);
        const std::lock_guard lock(openblas::guard());
        openblas::gemm(T{})(101, l.form, r.form, int(m), int(n), int(k), T(1), l.data, l.step,
                            r.data, r.step, T(accumulate), to.data, int(to.row));
    };
    if (c.col == 1 && c.row >= n && c.row <= INT_MAX)
        multiply(c);
    else
        beside(m, n, c, accumulate, multiply);
}

MERCER_F32_F64(gemm_openblas)

}  // namespace mercer::cpu
