// The table of one pointwise formula's kernels, and the driver that walks tensors with it.
#pragma once

#include <cstdint>

#include "engine/cpu/layout.h"
#include "engine/tensor.h"

namespace mercer::cpu {

/// A block of rows × cols elements; operand k's element (r, c) at in[k] + r·in_row[k] + c·in_col[k]
/// elements.
struct PointwiseArgs {
    int64_t rows, cols;
    const void* const* in;
    const int64_t* in_row;
    const int64_t* in_col;
    void* const* out;  // dense, row after row; null where not wanted
    int64_t out_row;
    const void* state;   // a map's captures
    bool stream;         // store past the caches; rows of outputs start at multiples of 64 bytes
    bool ahead = false;  // and ask for operands in advance
};

using PointwiseFn = void (*)(const PointwiseArgs&);

/// One formula on one instruction set, for f32 [0] and f64 [1]; forward also for i32 and i64, or nullptr.
///   forward:  in x₀…          out y
///   backward: in g, x₀…, y    out ĝx₀…
///   second:   in g, x₀…, y, c₀…   out ∂/∂g, ∂/∂x₀…
struct PointwiseKernels {
    PointwiseFn forward[4], backward[2], second[2];
    int arity;
    unsigned needs;  // engine/ops/pointwise/formula.h
    int cost;        // about ns for 16 elements
};

/// Up to this many elements are one call of a kernel.
inline constexpr int64_t pointwise_piece = 1 << 14;

/// Runs `kernel` over `elements`, at most a piece: dense operands have step 1, numbers 0.
inline void run_dense(PointwiseFn kernel, int64_t elements, const void* const* in,
                      const int64_t* steps, void* out, const void* state = nullptr) {
    static constexpr int64_t no_rows[Walk::max_operands] = {};
    void* const outputs[1] = {out};
    kernel({1, elements, in, no_rows, steps, outputs, 0, state, false});
}

/// Runs `kernel` over `shape`; inputs have strides that broadcast to it, outputs are dense (or
/// undefined: not wanted).
void run_pointwise(PointwiseFn kernel, int cost, const Shape& shape,
                   std::span<const Tensor* const> in, std::span<const Strides> in_strides,
                   std::span<Tensor> out, const void* state);

}  // namespace mercer::cpu
