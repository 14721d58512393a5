// Every kernel there is, for tests of what holds of all of them.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "engine/random.h"

namespace mercer::test {

struct EveryKernel {
    std::string name;
    Kernel kernel;
    bool has_sign = false;  // k may be negative: no convex hull
};

/// For queries and keys of this width, of entries around 1.
inline std::vector<EveryKernel> every_kernel(int64_t width) {
    std::vector<EveryKernel> out{
        {"dot product", dot_product()},
        {"Luong's dot", dot_product(1)},
        {"linear", linear(), true},
        {"polynomial 1", polynomial(1, 0.5), true},
        {"polynomial 2", polynomial(2)},
        {"polynomial 3", polynomial(3, 4.0, 0.5), true},
        {"polynomial 4", polynomial(4, 1.0, 0.5)},
        {"rbf", rbf()},
        {"rbf similarity", rbf_similarity()},
        {"expsin", expsin(1.5)},
        {"cosine", cosine(2.5)},
        {"additive", additive(Var(randn(Key{61, 1}, {width}, DType::f64)))},
        {"one's own, of logs", log_kernel([](auto s) { return tanh(s) * 2.0; })},
        {"one's own, affine", log_kernel([](auto s) { return s * 0.3 - 0.2; })},
        {"one's own, learned",
         log_kernel<Kernel::Norms::both>(
             [](auto s, auto a, auto b, auto w) { return s * w - sqrt(a + b + 1.0) * 0.1; },
             Var(Tensor::scalar(0.4, DType::f64)))},
        {"one's own, of norms", direct_kernel<Kernel::Norms::both>([](auto s, auto a, auto b) {
             return (1.0 + s * s) / (1.0 + a * b);
         })}};
    const std::pair<const char*, Profile> profiles[] = {
        {"gaussian", Profile::gaussian},     {"boxcar", Profile::boxcar},
        {"triangular", Profile::triangular}, {"epanechnikov", Profile::epanechnikov},
        {"biweight", Profile::biweight},     {"triweight", Profile::triweight},
        {"laplace", Profile::laplace},       {"constant", Profile::constant}};
    for (const auto& [name, profile] : profiles)
        out.push_back({name, nadaraya_watson(profile, 1.2 * std::sqrt(double(width)))});
    return out;
}

/// k(q, k) itself for all pairs, without filter or normaliser: of a log kernel without terms that
/// depend on the query only (rbf() leaves them out).
inline Var kernel_values(const Kernel& kernel, const Var& q, const Var& k) {
    const auto along = [](const Var& x, int axis) { return unsqueeze(x, axis); };
    const auto pairs = [&] { return along(q, -2) - along(k, -3); };
    std::vector<Var> x;
    switch (kernel.score) {
        case Kernel::Score::product: x = {matmul(q, transpose(k))}; break;
        case Kernel::Score::difference: x = {sum(square(pairs()), {-1})}; break;
        case Kernel::Score::additive:
            x = {sum(tanh(along(q, -2) + along(k, -3)) * kernel.parameters.front(), {-1})};
    }
    if (kernel.norms == Kernel::Norms::both) x.push_back(sum(square(q), {-1}, true));
    if (kernel.norms != Kernel::Norms::none) x.push_back(transpose(sum(square(k), {-1}, true)));
    for (size_t i = kernel.score == Kernel::Score::additive; i < kernel.parameters.size(); ++i)
        x.push_back(reshape(kernel.parameters[i], {}));
    const Var value = kernel.formula(q.size(-1))(std::move(x));
    return kernel.direct ? value : exp(value);
}

}  // namespace mercer::test
