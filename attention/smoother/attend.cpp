// attend(): the fused smoother where it can be had, else the reference form; and how the fused one
// stands on a tape.
#include "attention/smoother/fused/fused.h"
#include "attention/smoother/reference.h"
#include "autograd/recompute.h"
#include "engine/error.h"

namespace mercer {
namespace {

// The derivative by values is fused; that on the tape is the reference form's.
void fused_vjp(Vjp<Tensor>& c) {
    const SmootherOptions& options = c.attrs<SmootherOptions>();
    unsigned wanted = 0;
    for (int i = 0; i < 3; ++i) wanted |= unsigned(c.wants(i)) << i;
    auto g = attention::fused_backward(
        c.in(0), c.in(1), c.in(2), {c.out(0), c.out(1), c.out(2), true}, c.g(0), options, wanted);
    for (int i = 0; i < 3; ++i)
        if (c.wants(i)) c.give(i, std::move(g[size_t(i)]));
}
void reference_vjp(Vjp<Var>& c) {
    const SmootherOptions& options = c.attrs<SmootherOptions>();
    recompute(c, [&](std::span<const Var> x) {
        return std::vector<Var>{attend_reference(x[0], x[1], x[2], options)};
    });
}
constexpr Rule rule{"attend", fused_vjp, reference_vjp};

}  // namespace

Var attend(const Var& q, const Var& k, const Var& v, const SmootherOptions& options) {
    if (!attention::can_fuse(q, k, v, options) || q.size(-1) != k.size(-1) ||
        k.size(-2) != v.size(-2))
        return attend_reference(q, k, v, options);
    const attention::FusedResult r =
        attention::fused_forward(q.value(), k.value(), v.value(), options);
    if (!r.finite) return attend_reference(q, k, v, options);
    instruments::settle();
    const Var* const inputs[] = {&q, &k, &v};
    Tape* tape = Tape::of(rule.name, inputs);
    if (!tape) return Var(r.out);
    const auto kept = std::make_shared<const SmootherOptions>(options);
    tape->own(kept);
    const Tensor outputs[] = {r.out, r.max, r.share};
    return tape->append(rule, kept.get(), inputs, outputs,
                        input_bit(0) | input_bit(1) | input_bit(2) | output_bit_of(0) |
                            output_bit_of(1) | output_bit_of(2))[0];
}

}  // namespace mercer
