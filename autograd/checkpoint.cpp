#include "autograd/checkpoint.h"

#include "autograd/functions.h"
#include "autograd/vjp.h"

namespace mercer {
namespace {

template <class X>
void recompute(Vjp<X>& c);
constexpr Rule rule{"checkpoint", recompute<Tensor>, recompute<Var>};

// A value of its own for input i, so that what flows back to it came through f only.
Var own_input(Tape& tape, const Tensor& value) { return tape.watch(value); }
Var own_input(Tape&, const Var& value) { return reshape(value, value.shape()); }

template <class X>
void recompute(Vjp<X>& c) {
    constexpr bool values = std::is_same_v<X, Tensor>;
    Tape fresh;
    Tape& tape = values ? fresh : c.tape();
    std::vector<Var> inputs, wrt;
    std::vector<int> which;  // input of each wrt
    for (int i = 0; i < c.inputs(); ++i) {
        const int like = c.first_like(i);
        if (like < i) {
            inputs.push_back(inputs[size_t(like)]);
        } else if (c.wants(i)) {
            inputs.push_back(own_input(tape, c.in(i)));
            wrt.push_back(inputs.back());
            which.push_back(i);
        } else {
            inputs.push_back(Var(c.in(i)));
        }
    }
    const std::vector<Var> out = c.template attrs<CheckpointBody>()(inputs);
    if (out.size() != size_t(c.outputs()))
        throw TapeError(c.name(), "the function gave " + std::to_string(out.size()) +
                                      " results the second time, " + std::to_string(c.outputs()) +
                                      " the first");
    std::vector<Var> losses;
    std::vector<X> cotangents;
    for (int k = 0; k < c.outputs(); ++k) {
        if (!c.g(k).defined() || out[size_t(k)].is_constant()) continue;
        losses.push_back(out[size_t(k)]);
        cotangents.push_back(c.g(k));
    }
    if (losses.empty()) return;
    // The sums go on from what later nodes gave: the order of additions is that of f recorded.
    std::vector<X> onto;
    for (int i : which) onto.push_back(c.take(i));
    std::vector<X> gradient;
    if constexpr (values)
        gradient = tape.gradient(losses, wrt,
                                 {.cotangents = std::move(cotangents), .onto = std::move(onto)});
    else
        gradient = tape.gradient(losses, wrt, CreateGraph{std::move(cotangents)});
    for (size_t n = 0; n < which.size(); ++n) {
        if constexpr (!values)
            if (onto[n].defined()) accumulate(onto[n], gradient[n]), gradient[n] = onto[n];
        c.put(which[n], std::move(gradient[n]));
    }
}

}  // namespace

std::vector<Var> checkpoint(CheckpointBody f, std::span<const Var> x) {
    std::vector<const Var*> inputs;
    std::vector<Var> constants;
    for (const Var& v : x) {
        inputs.push_back(&v);
        constants.push_back(v.detach());
    }
    Tape* tape = Tape::of(rule.name, inputs);
    if (!tape) return f(x);
    std::vector<Tensor> values;
    for (const Var& y : f(constants)) {
        if (!y.is_constant())
            throw TapeError(rule.name,
                            "the function reads a Var on a tape that it was not given; pass it "
                            "among the inputs, or detach() it");
        values.push_back(y.value());
    }
    const auto body = std::make_shared<const CheckpointBody>(std::move(f));
    tape->own(body);
    return tape->append(rule, body.get(), inputs, values, Tape::save_inputs);
}

}  // namespace mercer
