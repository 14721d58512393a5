#include "models/layers/linear.h"

#include <cmath>

#include "autograd/functions.h"

namespace mercer {
namespace {

Tensor initial(Key key, const Shape& shape, int64_t in) {
    const double bound = 1 / std::sqrt(double(in));
    return uniform(key, shape, DType::f32, -bound, bound);
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, Key key, bool has_bias)
    : weight(initial(key.split(0), {in, out}, in)),
      bias(has_bias ? initial(key.split(1), {out}, in) : Tensor()) {}

Var Linear::forward(const Binding& at, const Var& x) const {
    const Var product = matmul(x, at(weight));
    return bias.defined() ? product + at(bias) : product;
}

void Linear::collect(Parameters& parameters, const std::string& prefix) {
    parameters.add(prefix + "weight", weight);
    if (bias.defined()) parameters.add(prefix + "bias", bias);
}

}  // namespace mercer
