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

/// c(m×n) = a(m×k)·b(k×n), or c += with `accumulate`. Strides are arbitrary (transposes cost no
/// copy beyond packing); c must not overlap a or b. Each element of c is one chain of fma in
/// ascending k, starting from 0 (or from c): the same bits on every instruction set, for any
/// blocking and any number of threads. Parallel over tiles of c. Cost 2mnk flops.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
          MatrixView<T> c, bool accumulate = false);

/// The same for `batch` independent products; entry i's operands start at offset[i] elements from
/// data (an offset may repeat: a broadcast operand is not copied).
template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, MatrixView<const T> a,
                  const int64_t* a_offset, MatrixView<const T> b, const int64_t* b_offset,
                  MatrixView<T> c, const int64_t* c_offset, bool accumulate = false);

}  // namespace mercer::cpu
