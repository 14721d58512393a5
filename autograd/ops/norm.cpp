// Normalisation on Vars.
#include "engine/ops/norm.inl"
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/channel.inl"

namespace mercer {

Var layer_norm(const Var& x, const Var& gain, const Var& bias, double epsilon) {
    return record<RowNorm<true>>(RowNorm<true>::attrs(gain, bias, epsilon), {&x, &gain, &bias})[0];
}
Var group_rows(const Var& x, const Var& gain, const Var& bias, double epsilon) {
    return record<RowNorm<true>>({2, epsilon, true}, {&x, &gain, &bias})[0];
}
Var rms_norm(const Var& x, const Var& gain, double epsilon) {
    const Var none;
    return record<RowNorm<false>>(RowNorm<false>::attrs(gain, none, epsilon),
                                  {&x, &gain, &none})[0];
}

Var channel_affine(const Var& x, const Var& mean, const Var& scale, const Var& shift) {
    return record<ChannelAffine>({}, {&x, &mean, &scale, &shift});
}
std::array<Var, 3> batch_norm(const Var& x, const Var& gain, const Var& bias, double epsilon) {
    return record<BatchNorm>({epsilon}, {&x, &gain, &bias});
}

}  // namespace mercer
