// The vjp of an operation whose values a function of Vars gives as well: by computing it again.
#pragma once

#include <span>
#include <type_traits>

#include "autograd/functions.h"
#include "autograd/vjp.h"

namespace mercer {

/// f: std::span<const Var> → std::vector<Var>, the first results of the operation. For X = Tensor
/// on a tape of its own, for X = Var on the same.
template <class X, class F>
void recompute(Vjp<X>& c, const F& f) {
    constexpr bool values = std::is_same_v<X, Tensor>;
    Tape fresh;
    Tape& tape = values ? fresh : c.tape();
    std::vector<Var> inputs, wrt;
    std::vector<int> which;  // input of each wrt
    for (int i = 0; i < c.inputs(); ++i) {
        const int like = c.first_like(i);
        if (like < i) {
            inputs.push_back(inputs[size_t(like)]);
        } else if (!c.wants(i)) {
            inputs.push_back(Var(c.in(i)));
        } else {
            // A value of its own, so that what flows back to it came through f only.
            const X in = c.in(i);
            if constexpr (values)
                inputs.push_back(tape.watch(in));
            else
                inputs.push_back(reshape(in, in.shape()));
            wrt.push_back(inputs.back());
            which.push_back(i);
        }
    }
    const std::vector<Var> out = f(inputs);
    std::vector<Var> losses;
    std::vector<X> cotangents;
    for (size_t k = 0; k < out.size(); ++k) {
        if (!c.g(int(k)).defined() || out[k].is_constant()) continue;
        losses.push_back(out[k]);
        cotangents.push_back(c.g(int(k)));
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

}  // namespace mercer
