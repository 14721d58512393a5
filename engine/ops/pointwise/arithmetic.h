// Arithmetic. The derivatives of + − · and unary minus are written with the same operations,
// in autograd/ops/pointwise.cpp.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Add : OnIntegers {
    static MERCER_INLINE auto f(auto a, auto b) { return a + b; }
};
struct Sub : OnIntegers {
    static MERCER_INLINE auto f(auto a, auto b) { return a - b; }
};
struct Mul : OnIntegers {
    static MERCER_INLINE auto f(auto a, auto b) { return a * b; }
};
struct Div {
    static MERCER_INLINE auto f(auto a, auto b) { return a / b; }
};
struct Neg : OnIntegers {
    static MERCER_INLINE auto f(auto x) { return -x; }
};
struct Square : OnIntegers {
    static MERCER_INLINE auto f(auto x) { return x * x; }
};

}  // namespace mercer::MERCER_ISA::formula
