// How an operation (engine/ops/op.h) gets onto the tape.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <new>
#include <type_traits>

#include "autograd/vjp.h"

namespace mercer {

/// An operation's vjp with the attributes that it was recorded with; empty ones are not kept.
template <class Op, class X>
void vjp_of(Vjp<X>& c) {
    using Attrs = typename Op::Attrs;
    if constexpr (std::is_empty_v<Attrs>)
        Op::vjp(c, Attrs{});
    else
        Op::vjp(c, c.template attrs<Attrs>());
}
/// The rule of an operation, from its vjp. An operation without one does not compile here.
template <class Op>
inline constexpr Rule rule_of{Op::name, vjp_of<Op, Tensor>, vjp_of<Op, Var>};

/// What an operation gave, a tensor or an array of them, as Vars of the tape; without one as constants.
template <class Out>
auto on_tape(Tape* tape, const Rule& rule, const void* attrs, VarRefs inputs, const Out& out,
             unsigned saved) {
    if constexpr (std::is_same_v<Out, Tensor>) {
        return tape ? tape->append_one(rule, attrs, inputs, out, saved) : Var(out);
    } else {
        std::array<Var, std::tuple_size_v<Out>> vars;
        if (tape)
            std::ranges::move(tape->append(rule, attrs, inputs, out, saved), vars.begin());
        else
            std::ranges::copy(out, vars.begin());
        return vars;
    }
}

/// Computes Op on the values and records it when an input stands on a tape. A Var, or as many as
/// forward gives tensors (an array).
template <class Op>
auto record(const typename Op::Attrs& attrs, VarRefs inputs) {
    static_assert(std::is_trivially_destructible_v<typename Op::Attrs>);  // a tape only drops them
    constexpr size_t inline_inputs = 4;
    const Tensor* few[inline_inputs];
    std::vector<const Tensor*> many;
    std::span<const Tensor*> values(few, std::min(inputs.size(), inline_inputs));
    if (inputs.size() > inline_inputs) values = many = std::vector<const Tensor*>(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) values[i] = &inputs[i]->value();
    const auto out = compute<Op>(attrs, TensorRefs(values));
    Tape* tape = Tape::of(Op::name, inputs);
    const void* kept = nullptr;
    if constexpr (!std::is_empty_v<typename Op::Attrs>)
        if (tape) kept = new (tape->keep(sizeof attrs)) typename Op::Attrs(attrs);
    return on_tape(tape, rule_of<Op>, kept, inputs, out, Op::needs(Tape::wanted(inputs)));
}
template <class Op>
auto record(const typename Op::Attrs& attrs, std::initializer_list<const Var*> inputs) {
    return record<Op>(attrs, VarRefs(inputs.begin(), inputs.size()));
}
/// The same for the text that is written once (engine/ops/op.h).
template <class Op, class... X>
requires any_var<X...>
auto perform(const typename Op::Attrs& attrs, const X&... x) {
    return [&](const auto&... v) { return record<Op>(attrs, {&v...}); }(as_var(x)...);
}

}  // namespace mercer
