// The shape of a structural operation.
//
//   struct Name : Reads<input_bit(i) | output_bit> {
//       static constexpr const char* name;
//       struct Attrs { … };                        trivially destructible
//       static Tensor forward(const Attrs&, TensorRefs x);
//                                                  checks, infers the shape, computes;
//                                                  std::array<Tensor, n> for n results
//       static constexpr unsigned needs(unsigned wanted);
//                                                  what vjp reads, as Reads has it, where it depends
//                                                  on what is wanted
//       template <class X> static void vjp(Vjp<X>&, const Attrs&);
//                                                  in an .inl, once for X = Tensor and X = Var
//   };
//
// vjp reads the cotangent of the result with c.g(), saved values with c.in(i) and c.out(), and
// gives back one value for each wanted input with c.give(i, …). It calls only functions that Tensor
// and Var share, so the same text yields second derivatives.
//
// With it in the .inl stand the functions that are this operation, for MERCER_VALUE = Tensor in functions.cpp and for
// MERCER_VALUE = Var in autograd/ops/.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include "engine/operation.h"
#include "engine/tensor.h"

namespace mercer {

/// Specialised by autograd for X = Tensor and X = Var: attrs(), g(), in(i), value(i), out(),
/// in_shape(i), wants(i), give(i, x).
template <class X>
class Vjp;

constexpr unsigned input_bit(int i) { return 1u << i; }
/// Result k, of at most four: the highest bits, from the top.
constexpr unsigned output_bit_of(int k) { return 1u << (31 - k); }
inline constexpr unsigned output_bit = output_bit_of(0);
/// An operation whose vjp reads these inputs and results, whatever is wanted.
template <unsigned bits = 0>
struct Reads {
    static constexpr unsigned needs(unsigned) { return bits; }
};
/// One that opens no scope, for it looks at the same memory in another way, or asks another operation.
struct Unwatched : Reads<> {};

/// Op on tensors, in a scope of its own (operation.h): throws what the check of results has found (finite.h).
template <class Op>
auto compute(const typename Op::Attrs& attrs, TensorRefs x) {
    return instruments::settled([&] {
        if constexpr (std::is_base_of_v<Unwatched, Op>) return Op::forward(attrs, x);
        const OperationScope scope(Op::name, x.pointers());
        return Op::forward(attrs, x);
    });
}

/// Op on x, as functions and derivatives call it: their text is the same for Tensor and for Var (autograd/record.h).
template <class Op, class... X>
requires(std::is_same_v<X, Tensor>&&...) auto perform(const typename Op::Attrs& attrs,
                                                      const X&... x) {
    return compute<Op>(attrs, {&x...});
}
/// Op, whose first attribute is an axis, along one of x's that may be negative.
template <class Op, class X, class... More>
auto perform_along(int axis, const X& x, const More&... attributes) {
    return perform<Op>({normal_axis(Op::name, axis, x.rank()), attributes...}, x);
}
inline const Tensor& value_of(const Tensor& x) { return x; }
/// Two results, the second of which says where the first's elements stood: a constant.
template <class X>
std::pair<X, Tensor> with_indices(std::array<X, 2> results) {
    return {std::move(results[0]), value_of(results[1])};
}
/// The derivative of such an operation: what was moved out is moved back.
template <class X>
void give_back(Vjp<X>& c, int axis) {
    c.give(0, scatter_add(c.g(), c.out_value(1), axis, c.in_shape(0)[axis]));
}

constexpr bool wants_input(unsigned wanted, int i) { return (wanted >> i) & 1u; }
/// One that is linear in its first two inputs: the derivative by either reads the other; and these, whatever is wanted.
template <unsigned bits = 0>
struct Bilinear {
    static constexpr unsigned needs(unsigned wanted) {
        return bits | (wants_input(wanted, 0) ? input_bit(1) : 0) |
               (wants_input(wanted, 1) ? input_bit(0) : 0);
    }
};
/// The y of a linear equation in y with coefficients a, the first input: reads a, and for its derivative y.
struct SolvedFor {
    static constexpr unsigned needs(unsigned wanted) {
        return input_bit(0) | (wants_input(wanted, 0) ? output_bit : 0);
    }
};

template <int results>
using Tensors = std::array<Tensor, results>;

struct AxisAttrs {
    int axis;
};

/// An operation of this shape and nothing more: MERCER_OPERATION(Name, "name", Result, reads, fields of Attrs…), its header's
/// comment says what it computes; one that has `needs` from elsewhere; and one whose attributes others have too.
#define MERCER_OPERATION(Name, text, Result, reads, ...) \
    MERCER_OPERATION_ON(Reads<(reads)>, Name, text, Result, __VA_ARGS__)
#define MERCER_OPERATION_ON(Base, Name, text, Result, ...) \
    struct Name##Attrs {                                   \
        __VA_ARGS__                                        \
    };                                                     \
    MERCER_OPERATION_WITH(Name##Attrs, Base, Name, text, Result)
#define MERCER_OPERATION_OF(Attributes, Name, text, Result, reads) \
    MERCER_OPERATION_WITH(Attributes, Reads<(reads)>, Name, text, Result)
#define MERCER_OPERATION_WITH(Attributes, Base, Name, text, Result) \
    struct MERCER_API Name : Base {                                 \
        using Attrs = Attributes;                                   \
        MERCER_OPERATION_MEMBERS(text, Result)                      \
    };
/// What one that has more says after its Attrs.
#define MERCER_OPERATION_MEMBERS(text, Result)         \
    static constexpr const char* name = (text);        \
    static Result forward(const Attrs&, TensorRefs x); \
    template <class X>                                 \
    static void vjp(Vjp<X>& c, const Attrs& a);
/// The vjp of one whose derivative is one expression of c and of the attributes a, or a call of what several share.
#define MERCER_VJP(Name, ...)                                    \
    template <class X>                                           \
    void Name::vjp(Vjp<X>& c, [[maybe_unused]] const Attrs& a) { \
        __VA_ARGS__;                                             \
    }

}  // namespace mercer
