// The kernels that gemm.cpp drives, one table per instruction set and element type.
//
// A tile of C, at most mr×nr, stays in registers while k runs: each step reads mr + nr elements and
// does mr·nr fma. C is read (unless it starts from zero) and written once per call.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// One block product c (+)= a·b whose k steps of a panel of b fit L1.
template <class T>
struct GemmBlock {
    int64_t m, n, k;
    bool accumulate;  // else starts from zero and does not read c
    bool a_packed;  // a is pack_rows' output; else element (i, p) is at a[i·a_row + p·a_col], one
                    // of the strides 1
    bool b_direct;  // b_col is 1 and b is used where it is, but for a last panel of partial
                    // registers
    bool rows_outer;  // with b_direct: a strip of rows meets all of b (which fits L1) before the
                      // next strip comes
    const T* a;
    int64_t a_row, a_col;
    const T* b;  // element (p, j) at b[p·b_row + j·b_col]
    int64_t b_row, b_col;
    T* panel;  // room for a panel of b: k·nr elements and one register; unused where b is direct
               // and n whole
    T* c;
    int64_t c_row, c_col;
};

template <class T>
struct GemmTable {
    int mr, nr, lanes;
    /// Walks c panel by panel of columns, packing each panel of b once.
    void (*multiply)(const GemmBlock<T>& block);
    /// c(1×n) (+)= a(1×k)·b(k×n), b's and c's columns contiguous; reads b row by row, once.
    void (*multiply_row)(int64_t n, int64_t k, const T* a, int64_t a_col, const T* b, int64_t b_row,
                         T* c, bool accumulate);
    /// Strips of rows of a(m×k), element (i, p) at a[i·row + p·col], to `out`: m·k elements, and up
    /// to one register more.
    void (*pack_rows)(int64_t m, int64_t k, const T* a, int64_t row, int64_t col, T* out);
};

}  // namespace mercer::cpu
