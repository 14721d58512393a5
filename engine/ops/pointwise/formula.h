// What formulas are written with.
#pragma once

namespace mercer {

/// What the derivative of a formula reads: bit i for input i, this for the result.
inline constexpr unsigned needs_output = 1u << 7;

/// Base of a formula that is one of integers too, which wrap around.
struct OnIntegers {
    static constexpr bool integers = true;
};

}  // namespace mercer

/// A function of engine/simd as it is; its derivatives follow from it.
#define MERCER_FORMULA(Name, function)                                    \
    struct Name {                                                         \
        static MERCER_INLINE auto f(auto... x) { return function(x...); } \
    };
/// The same of one argument, whose derivative is `slope`, an expression of the result y: read from what is saved.
#define MERCER_FORMULA_BY_RESULT(Name, function, slope)             \
    struct Name {                                                   \
        static MERCER_INLINE auto f(auto x) { return function(x); } \
        static constexpr unsigned needs = needs_output;             \
        template <class V>                                          \
        static MERCER_INLINE V df(V, V y) {                         \
            [[maybe_unused]] const V one(typename V::Scalar(1));    \
            return slope;                                           \
        }                                                           \
    };
