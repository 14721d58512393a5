// The kernels that gemm.cpp drives, one table per instruction set and element type.
//
// A tile of C, at most mr×nr, stays in registers while k runs: each step reads mr + nr elements and
// does mr·nr fma. C is read (unless it starts from zero) and written once per call.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// Lanes of a sum along memory (gemm.h): a cache line.
template <class T>
inline constexpr int sum_lanes = int(64 / sizeof(T));
/// Columns of such a product, at most.
inline constexpr int64_t few_columns = 8;
/// Strands of a sum across memory, and columns of such a product, at most: four lines.
inline constexpr int sum_strands = 4;
template <class T>
inline constexpr int64_t lone_columns = 4 * sum_lanes<T>;
/// Of a product by outer products: rows together, and steps at most.
inline constexpr int outer_rows = 4, outer_steps = 8;

/// Rows of the next strip of at most mr. A last strip too short to keep the fma units busy shares with the
/// one before.
constexpr int strip_rows(int mr, int64_t left) {
    if (left <= mr) return int(left);
    return left < mr + mr / 2 ? int(left + 1) / 2 : mr;
}
/// What mr is where rows are used in place, `stride` bytes apart: L1 finds a line by the low 12 bits of its
/// address, and has 8 places or more for those that agree.
constexpr int rows_in_place(int mr, int64_t stride) {
    return stride % 4096 == 0 && mr > 8 ? 8 : mr;
}

/// Whether tiles of so many columns may send c past the caches. Rows of a line or less each, one after the other, wait for
/// memory longer than that saves (Zen 3, AVX2: plain stores are 1 to 29 % faster).
template <class T>
constexpr bool rows_may_stream(int64_t columns) {
    return columns * int64_t(sizeof(T)) > 64;
}

/// What is fetched to L2 while tiles run: tile t, `done` ≤ t < `tiles`, asks for the elements at
/// from + (t / phases)·major + (t % phases)·minor + u·step, u counting every few steps of k.
template <class T>
struct GemmAhead {
    const T* from;
    int64_t tiles, phases, major, minor, step, done = 0;
};

/// Rows of a panel of b, each a whole panel wide, `row` elements apart, that are packed to `to` while
/// tiles run: their loads and stores cost nothing beside the fma. Or of `panels` side by side, row by row, a tile
/// for each row; a tile must have turns of `steps` for all of them.
template <class T>
struct GemmCopy {
    const T* from;
    T* to;
    int64_t row, rows, panels = 1;
};

/// One block product c(m×n) (+)= a(m×k)·b(k×n).
template <class T>
struct GemmBlock {
    int64_t m, n, k;
    bool accumulate;  // else starts from zero and does not read c
    bool a_packed;  // pack_rows' output; else (i, p) is at a[i·a_row + p·a_col], one stride is 1
    /// pack_columns' output; else (p, j) is at b[p·b_row + j], and rows but the last may be read in whole registers.
    bool b_packed;
    /// A strip of rows meets all of b before the next strip comes; else a panel of columns all of a.
    bool rows_outer;
    const T* a;
    int64_t a_row, a_col;
    const T* b;
    int64_t b_row;
    int64_t b_depth;  // of a packed b, of which rows [b_first, b_first + k) are used; 0: it has k
    int64_t b_first;
    T* c;
    int64_t c_row;
    /// c goes past the caches: nothing is accumulated, rows are contiguous and begin at a line.
    bool stream;
    GemmAhead<T> ahead[2];  // the first not with a copy, which fetches its own rows
    GemmCopy<T> copy;       // done when the block is
};

/// The same with nothing packed, c's columns contiguous; `next` (nullptr: neither) is fetched to L2.
template <class T>
struct GemmSmall {
    int64_t m, n, k;
    const T* a;
    int64_t a_row, a_col;
    const T* b;
    int64_t b_row;
    T* c;
    int64_t c_row;
    bool accumulate, stream;  // as above
    bool outer;               // k <= outer_steps, and L1 holds b
    bool brief;               // little but c's way out takes time
    bool fetch;               // c is asked for before it is met
    const T* const* next;     // of the product after this: a, b; each one run, or nullptr
    int64_t ahead;  // else a, one run, is asked for so many elements ahead of itself; 0: not
};

template <class T>
struct GemmTable {
    int mr, nr, lanes, steps;  // a tile's rows and columns, a register's elements, k per fetch
    void (*multiply)(const GemmBlock<T>& block);
    /// For operands that are in cache (b in L2 at most): fetches nothing.
    void (*multiply_small)(const GemmSmall<T>& block);
    /// The same of what asks for nothing but a product: of the fields after `accumulate` none is read.
    void (*multiply_plain)(const GemmSmall<T>& block);
    /// c(m×n) (+)= a(m×k)·b(k×n), m 1 or 2, b's and c's columns contiguous; reads b row by row, once.
    void (*multiply_rows)(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col,
                          const T* b, int64_t b_row, T* c, int64_t c_row, bool accumulate);
    /// The same for any m: strips is pack_rows' output, b as in GemmBlock.
    void (*multiply_strips)(int64_t m, int64_t n, int64_t k, const T* strips, const T* b,
                            int64_t b_row, T* c, int64_t c_row, bool accumulate);
    /// The same for any m and n <= few_columns, each element summed in lanes: a's rows along memory, b in pack_lanes' form
    /// (or, n = 1, a contiguous column).
    void (*multiply_lanes)(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b,
                           T* c, int64_t c_row, bool accumulate);
    /// The same, for an a from beyond L2.
    void (*multiply_lanes_far)(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row,
                               const T* b, T* c, int64_t c_row, bool accumulate);
    /// b(k×n), element (p, j) at b[p·row + j·col], to `out`: n·k elements, k rounded up to sum_lanes.
    void (*pack_lanes)(int64_t n, int64_t k, const T* b, int64_t row, int64_t col, T* out);
    /// Strips of rows of a(m×k), element (i, p) at a[i·row + p·col], to `out`: m·k elements.
    void (*pack_rows)(int64_t m, int64_t k, const T* a, int64_t row, int64_t col, T* out);
    /// Panels of columns of b(k×n), element (p, j) at b[p·row + j·col], to `out`: n·k elements, n
    /// rounded up to whole registers. The panel of column j (a multiple of nr) begins at out + j·k.
    void (*pack_columns)(int64_t n, int64_t k, const T* b, int64_t row, int64_t col, T* out);
    /// c(1×n) (+)= a(1×k)·b(k×n), each element summed in strands; b's and c's columns contiguous.
    void (*multiply_strands)(int64_t n, int64_t k, const T* a, int64_t a_col, const T* b,
                             int64_t b_row, T* c, bool accumulate);
};

}  // namespace mercer::cpu
