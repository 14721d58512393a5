#include "models/layers/layer_norm.h"

#include "autograd/functions.h"

namespace mercer {

LayerNorm::LayerNorm(int64_t width) : gain(Tensor::ones({width})), bias(Tensor::zeros({width})) {}

Var LayerNorm::forward(const Binding& at, const Var& x) const {
    return layer_norm(x, at(gain), at(bias), epsilon);
}

void LayerNorm::collect(Parameters& parameters, const std::string& prefix) {
    parameters.add(prefix + "gain", gain);
    parameters.add(prefix + "bias", bias);
}

}  // namespace mercer
