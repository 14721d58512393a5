// C = A·B (or C += A·B) on strided matrices: ours, packed and register-blocked per instruction set.
#pragma once

#include <cstdint>

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
/// c = activation(alpha·c + bias), with the bits of mul, add and the activation one after another.
template <class T>
struct Epilogue {
    T alpha = T(1);
    const T* bias = nullptr;  // one for each column, bias_step elements apart
    int64_t bias_step = 1;
    const PointwiseKernels* activation = nullptr;  // of one operand

    bool any() const { return alpha != T(1) || bias || activation; }
};

/// c(m×n) = a(m×k)·b(k×n), or c += with `accumulate`. Strides are arbitrary (transposes cost no
/// copy beyond packing); c must not overlap a or b. Each element of c is one chain of fma in
/// ascending k, starting from 0 (or from c): the same bits on every instruction set, for any
/// blocking and any number of threads. Parallel over tiles of c. Cost 2mnk flops.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
          MatrixView<T> c, bool accumulate = false, const Epilogue<T>& after = {});

/// The same for `batch` independent products; entry i's operands start at offset[i] elements from
/// data (an offset may repeat: a broadcast operand is not copied).
template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, MatrixView<const T> a,
                  const int64_t* a_offset, MatrixView<const T> b, const int64_t* b_offset,
                  MatrixView<T> c, const int64_t* c_offset, bool accumulate = false,
                  const Epilogue<T>& after = {});

/// Whether the environment says MERCER_GEMM=openblas, read once: then both functions above run on
/// OpenBLAS, on one thread, with its rounding. MERCER_GEMM=mercer is the default; else ValueError.
bool gemm_by_openblas();
/// gemm on OpenBLAS, for comparison: rounding is its own. Operands that it cannot take where they
/// are (no unit stride) are copied. ValueError from 2³¹ rows or columns on.
template <class T>
void gemm_openblas(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
                   MatrixView<T> c, bool accumulate = false);

}  // namespace mercer::cpu
