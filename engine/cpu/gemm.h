// C = A·B (or C += A·B) on strided matrices: ours, packed and register-blocked per instruction set.
#pragma once

#include "engine/cpu/gemm_table.h"
#include "engine/export.h"

namespace mercer::cpu {

/// A matrix in memory: element (i, j) at data[i·row + j·col].
template <class T>
struct MatrixView {
    T* data;
    int64_t row, col;
};

struct PointwiseKernels;

/// What becomes of c when its sums are complete, piece by piece while it is in cache:
/// c = activation(c + bias), with the bits of add and the activation one after the other.
template <class T>
struct Epilogue {
    const T* bias = nullptr;  // one for each column, bias_step elements apart
    int64_t bias_step = 1;
    const PointwiseKernels* activation = nullptr;  // of one operand

    bool any() const { return bias || activation; }
};

/// The orders that an element's sum may have. Each gives the same bits on every instruction set, for any
/// blocking and any number of threads.
///   chain     one chain of fma in ascending k, starting from 0 (or from c)
///   lanes     step p goes to lane p mod L, L = sum_lanes<T>, each lane a chain of fma in ascending p from 0 on (steps
///             are added up to a multiple of L: 0·0); then lanes j and j + h are joined for h = L/2, … 1; then c is
///             added to, if it is accumulated
///   strands   step p goes to strand p mod 4, each a chain of fma in ascending p from 0 on; then strands 0 and 2, 1 and 3
///             are joined, then those; then c is added to, if it is accumulated
/// Who calls takes by_shape or chain; by_shape is one of the other three, as order_by_shape says.
enum class Order { by_shape, chain, lanes, strands };

/// Lanes are for where k runs along memory and so few columns meet it that turning it across
/// registers, as a chain must, would take longer than the product. That is for few columns of c
/// and, one row alone, for columns of b that lie along memory. Strands are for where one row alone (or one column, of a
/// transposed a) meets so few columns that a processor would wait for their chains. Of these only few columns in
/// lanes depend on no number of rows: a row's bits are the same in whatever batch it is computed. A row alone may
/// differ in rounding from the same row among others; who needs them alike takes `chain`.
template <class T>
constexpr Order order_by_shape(int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
                               const MatrixView<const T>& b) {
    constexpr int64_t l = sum_lanes<T>;
    if ((a.col == 1 && n <= few_columns && k >= l * n) || (m == 1 && b.row == 1 && k >= l))
        return Order::lanes;
    const bool row = m == 1 && b.col == 1, column = n == 1 && a.row == 1;
    // Of L1; or of L2, where it is read once on every instruction set.
    const int64_t across = m == 1 ? n : m,
                  most = (across <= l ? 128 << 10 : 32 << 10) / int64_t(sizeof(T));
    return (row || column) && k >= 16 && k <= most && across <= lone_columns<T> &&
                   across * k <= most && across > 0
               ? Order::strands
               : Order::chain;
}

/// c(m×n) = a(m×k)·b(k×n), or c += with `accumulate`. Strides are arbitrary (transposes cost no copy beyond packing; a c
/// with neither stride 1 is made in scratch of its size); c must not overlap a or b. Parallel over tiles of c. Cost 2mnk flops.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
          const MatrixView<const T>& b, const MatrixView<T>& c, bool accumulate = false,
          const Epilogue<T>& after = {}, Order order = Order::by_shape);

/// The same for `batch` independent products; entry i's operands start at offset[i] elements from
/// data (an offset may repeat: a broadcast operand is not copied).
template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
                  const int64_t* a_offset, const MatrixView<const T>& b, const int64_t* b_offset,
                  const MatrixView<T>& c, const int64_t* c_offset, bool accumulate = false,
                  const Epilogue<T>& after = {}, Order order = Order::by_shape);

/// Whether the environment says MERCER_GEMM=openblas, read once: then both functions above run on
/// OpenBLAS, on one thread, with its rounding. MERCER_GEMM=mercer is the default; else ValueError.
bool gemm_by_openblas();
/// gemm on OpenBLAS, for comparison: rounding is its own. Operands that it cannot take where they
/// are (no unit stride) are copied. ValueError from 2³¹ rows or columns on.
template <class T>
void gemm_openblas(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
                   MatrixView<T> c, bool accumulate = false);

}  // namespace mercer::cpu
