// Losses of elements and of rows of log probabilities.
#include "tests/cases/families.h"
#include "tests/support/naive_rows.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;
using oracle::Row;

Naive reduced(const Naive& losses, LossReduction reduction, size_t counted) {
    if (reduction == LossReduction::none) return losses;
    const Real all = oracle::sum(losses.at);
    return {{}, {reduction == LossReduction::sum ? all : all / Real(counted)}};
}

// Several chunks of a sum.
const std::vector<Input> chunked{{{301, 517}}, {{97, 301}, Layout::transposed}};

using Loss = std::function<Var(const Var&, const Var&, LossReduction)>;
void elementwise(std::vector<Case>& list, bool big, const std::string& name, Loss f,
                 Real (*expected)(Real, Real)) {
    for (const Input& in : big ? chunked
                               : std::vector<Input>{{{1}},
                                                    {{33}},
                                                    {{3, 5}},
                                                    {{5, 3}, Layout::transposed},
                                                    {{2, 3, 4}, Layout::stepped}})
        for (const LossReduction reduction :
             {LossReduction::mean, LossReduction::sum, LossReduction::none})
            list.push_back(
                {describe(name + " " + std::string(choice_names<LossReduction>[size_t(reduction)]),
                          {in, {in.shape}}),
                 {in, {in.shape}},
                 [=](Vars x) { return f(x[0], x[1], reduction); },
                 [=](Naives x) {
                     Naive losses = x[0];
                     for (size_t i = 0; i < losses.at.size(); ++i)
                         losses.at[i] = expected(x[0].at[i], x[1].at[i]);
                     return reduced(losses, reduction, losses.at.size());
                 },
                 16});
}

void row_losses(std::vector<Case>& list, bool big) {
    for (const Input& in :
         big ? chunked
             : std::vector<Input>{{{7}}, {{3, 5}}, {{5, 3}, Layout::transposed}, {{2, 3, 4}}})
        for (const LossReduction reduction : {LossReduction::mean, LossReduction::none}) {
            const std::string tag =
                " " + std::string(choice_names<LossReduction>[size_t(reduction)]);
            const int64_t n = in.shape.back();
            Shape rows = in.shape;
            rows.erase(rows.rank() - 1);
            std::vector<int64_t> ids;
            for (int64_t r = 0; r < oracle::total(rows); ++r)
                ids.push_back(r % 3 == 1 ? -100 : (r * 5 + 2) % n);
            const Tensor labels = Tensor::from(ids, rows);
            list.push_back({describe("nll_loss" + tag, {in}),
                            {in},
                            [=](Vars x) { return nll_loss(x[0], labels, -100, reduction); },
                            [=](Naives x) {
                                size_t counted = 0;
                                const Naive losses =
                                    oracle::row_values(x[0], [&](const Row& row, size_t r) -> Real {
                                        if (ids[r] < 0) return 0;
                                        ++counted;
                                        return -row[size_t(ids[r])];
                                    });
                                return reduced(losses, reduction, counted);
                            }});
            std::vector<double> p;
            for (int64_t i = 0; i < oracle::total(in.shape); ++i)
                p.push_back(double(i * 5 % 4) / 8);
            const Tensor target = Tensor::from(p, in.shape);
            list.push_back(
                {describe("kl_div" + tag, {in}),
                 {in},
                 [=](Vars x) { return kl_div(x[0], cast(target, x[0].dtype()), reduction); },
                 [=](Naives x) {
                     const Naive losses = oracle::row_values(x[0], [&](const Row& row, size_t r) {
                         Real total = 0;
                         for (size_t i = 0; i < row.size(); ++i)
                             if (const Real t = p[r * row.size() + i]; t > 0)
                                 total += t * (std::log(t) - row[i]);
                         return total;
                     });
                     return reduced(losses, reduction, losses.at.size());
                 },
                 16});
        }
}

}  // namespace

void add_losses(std::vector<Case>& list, bool big) {
    elementwise(
        list, big, "mse_loss", [](auto& x, auto& y, auto r) { return mse_loss(x, y, r); },
        [](Real x, Real y) { return (x - y) * (x - y); });
    elementwise(
        list, big, "l1_loss", [](auto& x, auto& y, auto r) { return l1_loss(x, y, r); },
        [](Real x, Real y) { return std::abs(x - y); });
    elementwise(
        list, big, "huber_loss", [](auto& x, auto& y, auto r) { return huber_loss(x, y, 0.7, r); },
        [](Real x, Real y) {
            const Real d = std::abs(x - y), delta = 0.7L;
            return d <= delta ? d * d / 2 : delta * (d - delta / 2);
        });
    elementwise(
        list, big, "bce_with_logits",
        [](auto& x, auto& y, auto r) { return bce_with_logits(x, y, 2.5, r); },
        [](Real x, Real y) {
            return 2.5L * y * std::log1p(std::exp(-x)) + (1 - y) * std::log1p(std::exp(x));
        });
    row_losses(list, big);
}

}  // namespace cases
