// log Σ exp, the logarithm of the softmax, and the cross entropy.
#include <limits>

#include "tests/cases/families.h"
#include "tests/support/naive_reduce.h"
#include "tests/support/naive_rows.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;
using oracle::Row;

constexpr Real inf = std::numeric_limits<Real>::infinity();

Real joined(Real a, Real b) {
    const Real top = std::max(a, b);
    return top == -inf ? top : top + std::log(std::exp(a - top) + std::exp(b - top));
}

void sums_of_exp(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (unsigned axes = 1; axes < (1u << in.shape.rank()); ++axes) {
            std::vector<int> named;
            if (oracle::total(in.shape) == 0 && (axes & 1)) continue;  // −∞: no stencil
            for (int a = 0; a < in.shape.rank(); ++a)
                if (axes & (1u << a)) named.push_back(a % 2 ? a - in.shape.rank() : a);
            const bool keep = axes % 2;
            list.push_back(
                {describe("logsumexp axes " + std::to_string(axes), {in}),
                 {in},
                 [=](Vars x) { return logsumexp(x[0], named, keep); },
                 [=](Naives x) { return oracle::reduced(x[0], axes, keep, -inf, joined); }});
        }
}

void logarithms(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (int axis = 0; axis < in.shape.rank(); ++axis)
            list.push_back({describe("log_softmax axis " + std::to_string(axis), {in}),
                            {in},
                            [axis](Vars x) { return log_softmax(x[0], axis); },
                            [axis](Naives x) {
                                return oracle::by_rows(x[0], axis, [](const Row& row) {
                                    Row y = row;
                                    const Real z = oracle::log_sum_exp(row);
                                    for (Real& v : y) v -= z;
                                    return y;
                                });
                            }});
}

struct Entropy {
    Input x;
    double smoothing;
    LossReduction reduction;
    bool ignores;
};

void cross_entropies(std::vector<Case>& list, const std::vector<Entropy>& shapes) {
    for (const Entropy& s : shapes) {
        Shape rows = s.x.shape;
        const int64_t classes = rows.back();
        rows.erase(rows.rank() - 1);
        std::vector<int64_t> ids;
        for (int64_t r = 0; r < oracle::total(rows); ++r)
            ids.push_back(s.ignores && r % 3 == 1 ? 2 : (r * 7 + 3) % classes);
        const int64_t ignore = s.ignores ? 2 : -100;
        const Tensor labels = Tensor::from(ids, rows);
        list.push_back(
            {describe("cross_entropy smoothing " + std::to_string(s.smoothing) + " " +
                          std::string(choice_names<LossReduction>[size_t(s.reduction)]),
                      {s.x}),
             {s.x},
             [=](Vars x) { return cross_entropy(x[0], labels, s.smoothing, ignore, s.reduction); },
             [=](Naives x) {
                 size_t counted = 0;
                 Naive loss = oracle::row_values(x[0], [&](const Row& row, size_t r) -> Real {
                     if (ids[r] == ignore) return 0;
                     ++counted;
                     return oracle::log_sum_exp(row) -
                            (1 - Real(s.smoothing)) * row[size_t(ids[r])] -
                            Real(s.smoothing) / Real(row.size()) * oracle::sum(row);
                 });
                 if (s.reduction == LossReduction::none) return loss;
                 const Real all = oracle::sum(loss.at);
                 return Naive{{}, {s.reduction == LossReduction::sum ? all : all / Real(counted)}};
             }});
    }
}

}  // namespace

void add_logits(std::vector<Case>& list, bool big) {
    using enum LossReduction;
    if (big) {
        sums_of_exp(list, {{{211, 2517}}, {{97, 1031}, Layout::transposed}, {{9, 33, 40}}});
        logarithms(list, {{{211, 4517}}, {{97, 1031}, Layout::transposed}});
        cross_entropies(list, {{{{211, 5170}}, 0, none, true},
                               {{{1100, 2048}}, 0.1, mean, false},
                               {{{4000, 3}}, 0.1, sum, true}});
        return;
    }
    const std::vector<Input> shapes{{{1}},
                                    {{7}},
                                    {{33}},
                                    {{3, 5}},
                                    {{5, 3}, Layout::transposed},
                                    {{2, 3, 4}},
                                    {{2, 3, 4}, Layout::stepped},
                                    {{3, 4}, Layout::expanded},
                                    {{0, 3}}};
    sums_of_exp(list, shapes);
    logarithms(list, shapes);
    cross_entropies(list, {{{{1, 1}}, 0, mean, false},
                           {{{7}}, 0, mean, false},
                           {{{3, 5}}, 0, mean, false},
                           {{{3, 5}}, 0.1, none, true},
                           {{{2, 3, 4}}, 0, sum, true},
                           {{{2, 3, 4}, Layout::transposed}, 0.2, mean, true},
                           {{{5, 9}, Layout::reversed}, 0.3, mean, true},
                           {{{4, 65}}, 0, none, true},
                           {{{3, 4}, Layout::expanded}, 0, mean, false},
                           {{{0, 3}}, 0, none, false}});
}

}  // namespace cases
