// The entmax family on Vars.
#include "engine/ops/entmax.inl"

#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/loss_rows.h"

namespace mercer {

Var sparsemax(const Var& x, int axis) {
    return record<Entmax<EntmaxAlpha::two>>({normal_axis("sparsemax", axis, x.rank())}, {&x});
}
Var entmax15(const Var& x, int axis) {
    return record<Entmax<EntmaxAlpha::three_halves>>({normal_axis("entmax15", axis, x.rank())},
                                                     {&x});
}
Var entmax(const Var& x, const Var& alpha, int axis) {
    return record<Entmax<EntmaxAlpha::any>>({normal_axis("entmax", axis, x.rank())}, {&x, &alpha});
}

Var fenchel_young(const Var& x, const Tensor& target, double alpha, LossReduction reduction) {
    const Var y(target);
    const Var losses = record<FenchelYoung>({alpha}, {&x, &y})[0];
    return reduced_loss(losses, reduction, losses.count());
}

}  // namespace mercer
