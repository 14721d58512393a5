// x·w + bias, with and without what follows it.
#include <cmath>
#include <numbers>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;

Real activated(Activation activation, Real x) {
    switch (activation) {
        case Activation::none: return x;
        case Activation::relu: return x > 0 ? x : 0;
        case Activation::gelu: return x * std::erfc(-x / std::numbers::sqrt2_v<Real>) / 2;
        case Activation::tanh: return std::tanh(x);
        case Activation::sigmoid: return 1 / (1 + std::exp(-x));
    }
    return x;
}

// A power of two near 1/√k: sums of about 1, where an activation is not flat and its largest value is
// also the scale of the sums' rounding.
double scale_of(const Shape& w, Activation activation) {
    if (activation == Activation::none || w[0] == 0) return 1;
    return std::exp2(-std::round(std::log2(double(w[0])) / 2));
}

struct Given {
    Input x, w;
    bool bias = true;
    Activation activation = Activation::none;
};

void linears(std::vector<Case>& list, const std::vector<Given>& all) {
    for (const auto& [x, w, bias, activation] : all) {
        std::vector<Input> in{x, w};
        if (bias) in.push_back({{w.shape[1]}});
        const double scale = scale_of(w.shape, activation);
        Case c{describe("linear", in) + " " +
                   std::string(choice_names<Activation>[size_t(activation)]),
               in,
               [scale, activation = activation](Vars v) {
                   return linear(v[0] * scale, v[1], v.size() > 2 ? v[2] : Var(), activation);
               },
               [scale, activation = activation](Naives v) {
                   const int64_t k = v[1].shape[0], n = v[1].shape[1];
                   Shape shape = v[0].shape;
                   shape[shape.rank() - 1] = n;
                   Naive y = oracle::make(shape);
                   for (size_t p = 0; p < y.at.size(); ++p) {
                       const size_t i = p / size_t(n), j = p % size_t(n);
                       Real sum = v.size() > 2 ? v[2].at[j] : 0;
                       for (size_t t = 0; t < size_t(k); ++t)
                           sum += scale * v[0].at[i * size_t(k) + t] * v[1].at[t * size_t(n) + j];
                       y.at[p] = activated(activation, sum);
                   }
                   return y;
               },
               32};
        c.special = activation == Activation::none;
        list.push_back(c);
    }
}

}  // namespace

void add_linear(std::vector<Case>& list, bool big) {
    using enum Activation;
    if (big)
        linears(list,
                {{{{130, 70}}, {{70, 200}}, true, gelu},
                 {{{4, 40, 300}}, {{300, 65}}, true, tanh},
                 {{{260, 40}, Layout::transposed}, {{40, 33}, Layout::transposed}, true, relu},
                 {{{1, 700}}, {{700, 900}}, true, sigmoid}});
    else
        linears(list, {{{{3, 4}}, {{4, 5}}},
                       {{{3, 4}}, {{4, 5}}, false},
                       {{{4}}, {{4, 5}}, true, tanh},
                       {{{2, 3, 4}}, {{4, 17}}, true, relu},
                       {{{2, 3, 4}, Layout::transposed}, {{4, 2}}, true, gelu},
                       {{{5, 3}, Layout::stepped}, {{3, 4}, Layout::transposed}, true, sigmoid},
                       {{{5, 3}}, {{3, 1}}, true, gelu},
                       {{{2, 0}}, {{0, 3}}, true, relu},
                       {{{0, 2}}, {{2, 3}}, true, none},
                       {{{3, 4}, Layout::expanded}, {{4, 3}}, false, sigmoid}});
}

}  // namespace cases
