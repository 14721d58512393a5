#include "engine/cpu/factor.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/factor_table.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::FactorTable, factor_table)

namespace cpu {
namespace {

template <class T>
const FactorKernels<T>& kernels() {
    if constexpr (sizeof(T) == 4)
        return factor_table().f32;
    else
        return factor_table().f64;
}

// −t(i, j), rows × columns, contiguous.
template <class T>
const T* negated(Scratch& scratch, int64_t rows, int64_t columns, MatrixView<const T> t) {
    T* out = scratch.take<T>(rows * columns);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) out[i * columns + j] = -t.data[i * t.row + j * t.col];
    return out;
}

// The kernel, by strips of columns on several threads.
template <class T>
void substitute(int64_t rows, int64_t n, MatrixView<const T> t, bool unit, T* b, int64_t b_row) {
    constexpr int64_t strip = 256;
    parallel_for((n + strip - 1) / strip, grain_for(rows * rows * strip / 16),
                 [&](int64_t begin, int64_t end) {
                     const int64_t from = begin * strip, to = std::min(n, end * strip);
                     kernels<T>().substitute(rows, to - from, t.data, t.row, t.col, unit, b + from,
                                             b_row);
                 });
}

}  // namespace

template <class T>
int64_t cholesky_upper(int64_t n, T* a) {
    for (int64_t p = 0; p < n; p += factor_block) {
        const int64_t w = std::min(factor_block, n - p), rest = n - p - w;
        T *block = a + p * n + p, *beside = block + w;
        const int64_t done = kernels<T>().cholesky(w, block, n);
        if (done < w) return p + done + 1;
        for (int64_t i = 0; i < w; ++i) std::fill_n(a + (p + i) * n, p + i, T(0));
        if (rest == 0) break;
        substitute<T>(w, rest, {block, 1, n}, false, beside, n);
        Scratch scratch;
        const T* minus = negated<T>(scratch, w, rest, {beside, n, 1});
        constexpr int64_t band = 256;  // of rows, so that little below the diagonal is computed
        for (int64_t i = 0; i < rest; i += band)
            gemm<T>(std::min(band, rest - i), rest - i, w, {minus + i, 1, rest}, {beside + i, n, 1},
                    {block + (w + i) * n + w + i, n, 1}, true);
    }
    return 0;
}

template <class T>
void solve_triangular(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit, T* b) {
    const int64_t blocks = (n + factor_block - 1) / factor_block;
    for (int64_t s = 0; s < blocks; ++s) {
        const int64_t p = (lower ? s : blocks - 1 - s) * factor_block,
                      w = std::min(factor_block, n - p);
        const T* block = t.data + p * (t.row + t.col);
        // An upper triangle is a lower one, walked from its end.
        if (lower)
            substitute<T>(w, k, {block, t.row, t.col}, unit, b + p * k, k);
        else
            substitute<T>(w, k, {block + (w - 1) * (t.row + t.col), -t.row, -t.col}, unit,
                          b + (p + w - 1) * k, -k);
        const int64_t from = lower ? p + w : 0, rest = lower ? n - p - w : p;
        if (rest == 0) continue;
        Scratch scratch;
        const T* minus =
            negated<T>(scratch, rest, w, {t.data + from * t.row + p * t.col, t.row, t.col});
        gemm<T>(rest, k, w, {minus, w, 1}, {b + p * k, k, 1}, {b + from * k, k, 1}, true);
    }
}

template <class T>
int64_t lu(int64_t n, T* a, int64_t* pivots) {
    constexpr int64_t panel = 32;
    for (int64_t p = 0; p < n; p += panel) {
        const int64_t w = std::min(panel, n - p), rest = n - p - w;
        T* block = a + p * n + p;
        const int64_t done = kernels<T>().lu(n - p, w, block, n, pivots + p);
        if (done < w) return p + done + 1;
        for (int64_t j = p; j < p + w; ++j) {
            pivots[j] += p;
            if (pivots[j] == j) continue;
            T *one = a + j * n, *other = a + pivots[j] * n;
            std::swap_ranges(one, one + p, other);
            std::swap_ranges(one + p + w, one + n, other + p + w);
        }
        if (rest == 0) break;
        substitute<T>(w, rest, {block, n, 1}, true, block + w, n);
        Scratch scratch;
        const T* minus = negated<T>(scratch, rest, w, {block + w * n, n, 1});
        gemm<T>(rest, rest, w, {minus, w, 1}, {block + w, n, 1}, {block + w * n + w, n, 1}, true);
    }
    return 0;
}

template int64_t cholesky_upper<float>(int64_t, float*);
template int64_t cholesky_upper<double>(int64_t, double*);
template void solve_triangular<float>(int64_t, int64_t, MatrixView<const float>, bool, bool,
                                      float*);
template void solve_triangular<double>(int64_t, int64_t, MatrixView<const double>, bool, bool,
                                       double*);
template int64_t lu<float>(int64_t, float*, int64_t*);
template int64_t lu<double>(int64_t, double*, int64_t*);

}  // namespace cpu
}  // namespace mercer
