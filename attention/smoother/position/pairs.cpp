#include "attention/smoother/position/pairs.h"

#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/shown.h"

namespace mercer {

Var pair_angles(const char* operation, const Var& positions, int64_t pairs, double steps,
                double base) {
    if (!(base > 0)) throw ValueError(operation, "base ", shown(base), " must be positive");
    const Tensor exponents = Tensor::arange(pairs, DType::f64) / steps;
    return unsqueeze(cast(positions, DType::f64), -1) /
           pow(Tensor::scalar(base, DType::f64), exponents);
}

std::pair<Var, Var> split_pairs(const char* operation, const Var& x, PairLayout layout) {
    if (x.rank() < 1 || x.shape().back() % 2)
        throw ShapeError(operation, "rows of ", x.shape(),
                         " do not split into pairs; "
                         "their width must be even");
    const int64_t width = x.shape().back();
    if (layout == PairLayout::interleaved)
        return {slice(x, -1, 0, width, 2), slice(x, -1, 1, width, 2)};
    return {slice(x, -1, 0, width / 2), slice(x, -1, width / 2, width)};
}

Var join_pairs(const Var& first, const Var& second, PairLayout layout) {
    if (layout == PairLayout::halves) return concat({first, second}, -1);
    Shape shape = first.shape();
    shape[shape.rank() - 1] *= 2;
    return reshape(stack({{first, second}}, first.rank()), shape);
}

}  // namespace mercer
