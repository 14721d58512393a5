#include "models/layers/layer_norm.h"

#include "autograd/functions.h"

namespace mercer {

LayerNorm::LayerNorm(int64_t width) : gain(Tensor::ones({width})), bias(Tensor::zeros({width})) {}

Var LayerNorm::forward(const Binding& at, const Var& x) const {
    const Var centred = x - mean(x, {-1}, true);
    const Var deviation = sqrt(mean(square(centred), {-1}, true) + epsilon);
    return centred / deviation * at(gain) + at(bias);
}

void LayerNorm::collect(Parameters& parameters, const std::string& prefix) {
    parameters.add(prefix + "gain", gain);
    parameters.add(prefix + "bias", bias);
}

}  // namespace mercer
