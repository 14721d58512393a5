// Elementwise operations: a formula, applied with broadcasting; its first and second derivatives.
#pragma once

#include <array>
#include <span>

#include "engine/tensor.h"

namespace mercer {

namespace cpu {
struct PointwiseKernels;
struct PointwiseSums;
}  // namespace cpu

/// A pointwise operation: built in (ops.def) or made by map(). Lives as long as the program.
struct PointwiseOp {
    const char* name;
    const cpu::PointwiseKernels& (*kernels)();
    const cpu::PointwiseSums& (*sums)() = nullptr;  // null: the values are stored, then summed
};

inline constexpr int max_pointwise_inputs = 4;
using PointwiseGradients = std::array<Tensor, max_pointwise_inputs + 1>;

/// y = f(x₀, …), shapes broadcast, all of one floating dtype. `state`: a map's captures, or null.
/// `dying`: the mask of operands, not const, whose memory the result may take over (engine/functions.h).
/// Throws DTypeError, ShapeError. Cost: one pass over memory.
MERCER_API Tensor pointwise(const PointwiseOp& op, std::span<const Tensor* const> x,
                            const void* state = nullptr, unsigned dying = 0);

/// Σ f(x₀, …) over the last `axes` axes of the broadcast shape, which go: the bits of a sum over
/// pointwise(op, x). Cost: where the operands are dense or repeat, one read of them, nothing stored.
MERCER_API Tensor pointwise_sum(const PointwiseOp& op, std::span<const Tensor* const> x, int axes,
                                const void* state = nullptr);

/// a += b over a's own memory; both dense, of one shape and floating dtype. For values nobody else
/// holds.
MERCER_API void add_in_place(Tensor& a, const Tensor& b);

/// ĝx_k = g·f_k(x), in the broadcast shape, for every k in the mask `wanted`; others stay
/// undefined. Inputs (and y) that the formula's `needs` does not name may be undefined.
MERCER_API PointwiseGradients pointwise_backward(const PointwiseOp& op, const Tensor& g,
                                                 std::span<const Tensor> x, const Tensor& y,
                                                 unsigned wanted, const void* state = nullptr);

/// For cotangents c_k of the ĝx_k (undefined: zero): [0] ∂/∂g = Σ c_k f_k, [1 + j] ∂/∂x_j = g·∂(Σ
/// c_k f_k)/∂x_j. Bit 0 of `wanted` asks for the first, bit 1 + j for x_j's.
MERCER_API PointwiseGradients pointwise_second(const PointwiseOp& op, const Tensor& g,
                                               std::span<const Tensor> x, const Tensor& y,
                                               std::span<const Tensor> c, unsigned wanted,
                                               const void* state = nullptr);

/// Bits of the inputs (and needs_output) that the derivative reads.
MERCER_API unsigned pointwise_needs(const PointwiseOp& op);

}  // namespace mercer
