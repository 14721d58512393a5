// Kernels for batches of tiny matrices on one instruction set. A tile holds element e of matrix c at e·columns + c, e along
// its rows; `columns` is 64 at most.
#pragma once

#include <cstdint>

namespace mercer::cpu {

inline constexpr int64_t tiny = 16;          // rows and columns, at most
inline constexpr int64_t tiny_steps = 8;     // of a product, at most
inline constexpr int64_t tiny_columns = 64;  // matrices in a tile, at most

template <class T>
struct TinyKernels {
    /// c = a·b, k at most tiny_steps, each element a chain of fma in ascending k.
    void (*multiply)(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c,
                     int64_t columns);
    /// sums[0][j] = Σ_p x(p, j) y(p, j) of columns side by side, in the order of `lanes` (gemm.h), a row of sums for each; in a
    /// chain, lanes = 1. They are 0 before. Memory traffic: x and y once.
    void (*dots)(int64_t k, int64_t lanes, int64_t columns, const T* x, const T* y, int64_t row,
                 T* sums);
    /// As factor.h's of each matrix; false, and nothing said of l and x, if one of them fails. solve() destroys a.
    bool (*cholesky)(int64_t n, const T* a, T* l, int64_t columns);
    void (*solve_triangular)(int64_t n, int64_t k, const T* t, bool lower, T* x, int64_t columns);
    bool (*solve)(int64_t n, int64_t k, T* a, T* x, int64_t columns);
};

}  // namespace mercer::cpu
