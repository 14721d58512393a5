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

Linear::Linear(int64_t in, int64_t out, Key key)
    : weight(initial(key.split(0), {in, out}, in)), bias(initial(key.split(1), {out}, in)) {}

Var Linear::forward(const Binding& at, const Var& x) const {
    return matmul(x, at(weight)) + at(bias);
}

void Linear::collect(Parameters& parameters, const std::string& prefix) {
    parameters.add(prefix + "weight", weight);
    parameters.add(prefix + "bias", bias);
}

}  // namespace mercer
