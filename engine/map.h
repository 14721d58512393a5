// One's own pointwise formula. A lambda over generic elements becomes a vectorised operation with
// exact derivatives:
//
//   Tensor z = map([](auto a, auto b) { return sigmoid(a) * tanh(b); }, u, v);
//
// It may use + − · /, comparisons with select(), abs, maximum, minimum, sqrt, exp, expm1, log,
// log1p, pow, sin, cos, tanh, erf, sigmoid, softplus, gelu, and capture trivially copyable values.
// In an ordinary file it is compiled for the build's baseline. For full speed on every machine put the
// formula in a file of its own, listed in the CMake function mercer_kernels(target file.cpp):
//
//   MERCER_MAP(swish, 1, [](auto x) { return x * sigmoid(x); })           // in file.cpp
//   const mercer::PointwiseOp& swish();                                   // where it is used:
//   y = map(swish(), x);
#pragma once

#ifndef MERCER_KERNEL_ISA
#include <algorithm>
#endif
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/pointwise_sum_kernels.h"
#include "engine/simd/circular.h"
#include "engine/simd/gelu.h"
#include "engine/simd/hyperbolic.h"
#include "engine/simd/logistic.h"

#ifndef MERCER_KERNEL_ISA
#include "engine/operation.h"
#include "engine/ops/pointwise.h"
#endif

namespace mercer::MERCER_ISA {

template <class F>
struct FromLambda {
    F lambda;
    template <class... V>
    MERCER_INLINE auto f(V... x) const {
        return lambda(x...);
    }
};

}  // namespace mercer::MERCER_ISA

#ifdef MERCER_KERNEL_ISA

#define MERCER_MAP(name, arity, ...)                                       \
    namespace mercer::MERCER_ISA {                                         \
    static constexpr auto name##_formula = __VA_ARGS__;                    \
    extern const cpu::PointwiseKernels name##_map =                        \
        pointwise_kernels<FromLambda<decltype(name##_formula)>, arity>(4); \
    extern const cpu::PointwiseSums name##_map_sum =                       \
        pointwise_sums<FromLambda<decltype(name##_formula)>, arity>();     \
    }

#else

#define MERCER_MAP(name, arity, ...)                                        \
    namespace mercer {                                                      \
    MERCER_DISPATCH(cpu::PointwiseKernels, name##_map)                      \
    MERCER_DISPATCH(cpu::PointwiseSums, name##_map_sum)                     \
    }                                                                       \
    const mercer::PointwiseOp& name() {                                     \
        static constexpr mercer::PointwiseOp op{#name, &mercer::name##_map, \
                                                &mercer::name##_map_sum};   \
        return op;                                                          \
    }

namespace mercer {

namespace detail {
template <class F, int n>
const PointwiseOp& map_op() {
    static_assert(std::is_trivially_copyable_v<F>, "a map's captures must be trivially copyable");
    static constexpr cpu::PointwiseKernels kernels =
        MERCER_ISA::pointwise_kernels<MERCER_ISA::FromLambda<F>, n>(4);
    static constexpr cpu::PointwiseSums sums =
        MERCER_ISA::pointwise_sums<MERCER_ISA::FromLambda<F>, n>();
    static constexpr PointwiseOp op{"map",
                                    +[]() -> const cpu::PointwiseKernels& { return kernels; },
                                    +[]() -> const cpu::PointwiseSums& { return sums; }};
    return op;
}

/// A formula as pointwise operations take it: a lambda with its captures, or one made by MERCER_MAP.
struct Formula {
    const PointwiseOp& op;
    const void* state = nullptr;
    size_t bytes = 0;
};
template <int n, class F>
Formula formula_of(const F& f) {
    if constexpr (std::is_same_v<F, PointwiseOp>)
        return {f};
    else
        return {map_op<F, n>(), &f, sizeof f};
}
}  // namespace detail

/// f(x…) elementwise, with broadcasting; all x of one floating dtype. f: a lambda, or made by MERCER_MAP. Cost: one pass
/// over memory.
template <class F, class... X>
requires(sizeof...(X) >= 1 && sizeof...(X) <= max_pointwise_inputs &&
         (std::is_same_v<X, Tensor> && ...)) Tensor map(const F& f, const X&... x) {
    const auto formula = detail::formula_of<int(sizeof...(X))>(f);
    const Tensor* const in[] = {&x...};
    return instruments::settled([&] { return pointwise(formula.op, in, formula.state); });
}

/// Σ f(x…) over all elements; f(x…) itself is not stored. Cost: one read of the operands.
template <class F, class... X>
requires(sizeof...(X) >= 1 && sizeof...(X) <= max_pointwise_inputs &&
         (std::is_same_v<X, Tensor> && ...)) Tensor map_sum(const F& f, const X&... x) {
    const auto formula = detail::formula_of<int(sizeof...(X))>(f);
    const Tensor* const in[] = {&x...};
    const int axes = std::max({x.rank()...});
    return instruments::settled([&] { return pointwise_sum(formula.op, in, axes, formula.state); });
}

}  // namespace mercer

#endif
