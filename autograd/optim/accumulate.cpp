#include "autograd/optim/accumulate.h"

#include "autograd/optim/check.h"
#include "autograd/optim/rewrite.h"

namespace mercer {

void GradientAccumulator::add(std::span<const Tensor> gradients, double weight) {
    constexpr const char* name = "accumulate";
    check_positive(name, "weight", weight);
    check_positive(name, "1/(sum of weights)", 1 / (weight_ + weight));  // what take() scales by
    if (!sums_.empty() && sums_.size() != gradients.size())
        throw ShapeError(name, gradients.size(), " gradients, before there were ", sums_.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
        const Tensor& g = gradients[i];
        if (!g.defined()) continue;
        check_floating(name, g);
        if (i < sums_.size() && sums_[i].defined() && !alike(g, sums_[i]))
            throw ShapeError(name, "gradient ", i, " is ", g, ", before it was ", sums_[i]);
    }
    // The first of each is written, the others are added to it: p − (−w)·g.
    std::vector<Tensor> sums = sums_.empty() ? std::vector<Tensor>(gradients.size()) : sums_;
    std::vector<Tensor> first(gradients.size()), more(gradients.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
        if (!gradients[i].defined()) continue;
        (sums[i].defined() ? more : first)[i] = gradients[i];
        if (!sums[i].defined())
            sums[i] = Tensor::empty(gradients[i].shape(), gradients[i].dtype());
        else if (instruments::on())
            sums[i] = sums[i].clone();  // the check for NaN throws afterwards
    }
    combine(name, sums, first, cpu::UpdateRule::scale, weight);
    combine(name, sums, more, cpu::UpdateRule::sgd, -weight);
    sums_ = std::move(sums);
    weight_ += weight;
}

std::vector<Tensor> GradientAccumulator::take() {
    if (weight_ == 0) throw ValueError("accumulate", "no gradient was added; nothing to take");
    rewrite("accumulate", sums_, cpu::UpdateRule::scale, 1 / weight_);
    weight_ = 0;
    return std::exchange(sums_, {});
}

}  // namespace mercer
