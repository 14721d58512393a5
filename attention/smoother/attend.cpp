// attend(): the fused smoother where it reaches, else the reference form; and how the fused one stands
// on a tape.
#include "attention/smoother/fused/gradient.h"
#include "attention/smoother/placed.h"
#include "autograd/recompute.h"

namespace mercer {
namespace {

using attention::FusedSpec;

struct Kept {
    FusedSpec spec;
    bool measures;
};

template <class X>
std::vector<X> inputs_of(const Vjp<X>& c) {
    std::vector<X> x;
    for (int i = 0; i < c.inputs(); ++i) x.push_back(c.in(i));
    return x;
}
std::vector<bool> wanted_of(const auto& c) {
    std::vector<bool> wanted;
    for (int i = 0; i < c.inputs(); ++i) wanted.push_back(c.wants(i));
    return wanted;
}
attention::FusedResult results_of(const auto& c, bool measures) {
    return {c.out_value(0), c.out_value(1), c.out_value(2), measures ? c.out_value(3) : Tensor()};
}

void vjp_values(Vjp<Tensor>& c) {
    const Kept& kept = c.attrs<Kept>();
    const int relative = kept.spec.at[attention::relative_left];
    auto d = attention::smoother_backward(
        kept.spec, inputs_of(c), results_of(c, kept.measures),
        {c.g(0), kept.measures ? c.g(3) : Tensor()}, wanted_of(c),
        relative >= 0 && c.first_like(relative) == kept.spec.at[attention::queries]);
    for (int i = 0; i < c.inputs(); ++i)
        if (d[size_t(i)].defined()) c.give(i, std::move(d[size_t(i)]));
}
void vjp_vars(Vjp<Var>& c) {
    const Kept& kept = c.attrs<Kept>();
    auto d = attention::recorded_backward(c.tape(), kept.spec, inputs_of(c),
                                          results_of(c, kept.measures),
                                          {c.g(0), kept.measures ? c.g(3) : Var()}, wanted_of(c));
    for (int i = 0; i < c.inputs(); ++i)
        if (c.wants(i)) c.give(i, std::move(d[size_t(i)]));
}
constexpr Rule rule{"attend", vjp_values, vjp_vars};

// {out} or {out, measures}.
std::vector<Var> smooth(const Var& q, const Var& k, const Var& v, const SmootherOptions& options,
                        bool measures) {
    auto prepared = attention::prepare(q, k, v, options);
    if (!prepared || (measures && !prepared->spec.soft()))
        return attention::attend_placed(attention::placed(q, k, options), v, options, measures);
    std::vector<Tensor> values;
    std::vector<const Var*> inputs;
    for (const Var& x : prepared->inputs) values.push_back(x.value()), inputs.push_back(&x);
    Tape* const tape = Tape::of(rule.name, inputs);
    const attention::FusedResult r =
        attention::fused_forward(prepared->spec, values, {tape != nullptr, measures});
    instruments::settle();
    if (!tape) return {r.out, r.measures};
    const auto kept = std::make_shared<const Kept>(Kept{std::move(prepared->spec), measures});
    tape->own(kept);
    std::vector<Tensor> outputs{r.out, r.statistics, r.mean};
    unsigned saved = Tape::save_inputs;
    if (measures) outputs.push_back(r.measures);
    for (int i = 0; i < int(outputs.size()); ++i) saved |= output_bit_of(i);
    auto out = tape->append(rule, kept.get(), inputs, outputs, saved);
    if (!measures) return {out[0]};
    return {out[0], out[3]};
}

}  // namespace

Var attend(const Var& q, const Var& k, const Var& v, const SmootherOptions& options) {
    return smooth(q, k, v, options, false)[0];
}

Smoothed attend_measured(const Var& q, const Var& k, const Var& v, const SmootherOptions& options) {
    const std::vector<Var> out = smooth(q, k, v, options, true);
    const auto part = [&](int64_t i) { return squeeze(slice(out[1], 0, i, i + 1), 0); };
    return {out[0], part(0), part(1)};
}

}  // namespace mercer
