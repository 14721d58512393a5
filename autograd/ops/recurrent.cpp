// Recurrent layers on Vars.
#include "engine/ops/recurrent.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {
namespace {

std::array<Var, 4> lstm_sequence(const RecurrentAttrs& attrs, const Var& x, const Var& w_ih,
                                 const Var& w_hh, const Var& bias, const Var& h0, const Var& c0,
                                 const Tensor& lengths) {
    const Var ends(lengths);
    return record<Lstm>(attrs, {&x, &w_ih, &w_hh, &bias, &h0, &c0, &ends});
}
std::array<Var, 3> gru_sequence(const RecurrentAttrs& attrs, const Var& x, const Var& w_ih,
                                const Var& w_hh, const Var& b_ih, const Var& b_hh, const Var& h0,
                                const Tensor& lengths) {
    const Var ends(lengths);
    return record<Gru>(attrs, {&x, &w_ih, &w_hh, &b_ih, &b_hh, &h0, &ends});
}

}  // namespace

#define MERCER_VALUE Var
#include "engine/ops/recurrent.inc"

}  // namespace mercer
