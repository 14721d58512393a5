// Sparsemax, entmax and their Fenchel–Young losses.
#include "tests/cases/families.h"
#include "tests/support/naive_entmax.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;
using oracle::Row;

void fixed(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (int axis = 0; axis < in.shape.rank(); ++axis)
            for (const bool two : {true, false}) {
                const std::string name = two ? "sparsemax" : "entmax15";
                list.push_back(
                    {describe(name + " axis " + std::to_string(axis), {in}),
                     {in},
                     [=](Vars x) { return two ? sparsemax(x[0], axis) : entmax15(x[0], axis); },
                     [=](Naives x) {
                         return oracle::by_rows(x[0], axis, [two](const Row& row) {
                             return oracle::entmax(row, two ? 2 : 1.5L);
                         });
                     },
                     16});
            }
}

// alpha = least + a number in [0.25, …); one, or one for each row.
void any(std::vector<Case>& list, const std::vector<Input>& shapes, double least, bool by_row) {
    for (const Input& in : shapes) {
        Shape shape;
        if (by_row) {
            shape = in.shape;
            shape[in.shape.rank() - 1] = 1;
        }
        const Input alpha{shape, Layout::dense, Domain::positive};
        list.push_back({describe("entmax alpha above " + std::to_string(least), {in, alpha}),
                        {in, alpha},
                        [=](Vars x) { return entmax(x[0], x[1] + least); },
                        [=](Naives x) {
                            size_t row = 0;
                            return oracle::by_rows(x[0], x[0].shape.rank() - 1, [&](const Row& r) {
                                return oracle::entmax(r, x[1].at[by_row ? row++ : 0] + least);
                            });
                        },
                        64});
        list.back().special = false;  // alpha would be odd, too
    }
}

// For α > 2 the derivative is without bound at the edge of the support, where a stencil sees nothing
// of it: there x is also taken so small that all of a row is well inside.
void given(std::vector<Case>& list, const std::vector<Input>& shapes) {
    struct Given {
        double alpha, factor;
        bool smooth;
    };
    for (const Input& in : shapes)
        for (const auto [alpha, factor, smooth] :
             {Given{1, 1, true}, {1.3, 1, true}, {2.5, 1, false}, {2.5, 0.0625, true}}) {
            const double a = alpha, scale = factor;
            list.push_back(
                {describe("entmax alpha " + std::to_string(a), {in}),
                 {in},
                 [=](Vars x) { return entmax(x[0] * scale, Tensor::scalar(a, x[0].dtype()), 0); },
                 [=](Naives x) {
                     return oracle::by_rows(x[0], 0, [=](const Row& row) {
                         Row scaled = row;
                         for (Real& v : scaled) v *= scale;
                         return oracle::entmax(scaled, a);
                     });
                 },
                 64});
            list.back().differentiable = smooth;
        }
}

void losses(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (const double alpha : {1.0, 1.3, 1.5, 2.0}) {
            Naive target = oracle::make(in.shape);
            const int last = in.shape.rank() - 1;
            for (size_t i = 0; i < target.at.size(); ++i) target.at[i] = Real((i * 5 + 1) % 7);
            target = oracle::by_rows(target, last, [](const Row& row) {
                Row y = row;
                const Real all = oracle::sum(row);
                for (Real& v : y) v = all > 0 ? Real(double(v / all)) : 1 / Real(row.size());
                return y;
            });
            const std::vector<double> values(target.at.begin(), target.at.end());
            const Tensor y = Tensor::from(values, in.shape);
            for (const bool mean : {true, false})
                list.push_back(
                    {describe("fenchel_young alpha " + std::to_string(alpha), {in}),
                     {in},
                     [=](Vars x) {
                         return fenchel_young(x[0], cast(y, x[0].dtype()), alpha,
                                              mean ? LossReduction::mean : LossReduction::none);
                     },
                     [=](Naives x) {
                         const size_t n = size_t(in.shape.back());
                         const Naive rows = oracle::row_values(x[0], [&](const Row& r, size_t k) {
                             const Row p = oracle::entmax(r, alpha),
                                       t(values.begin() + long(k * n),
                                         values.begin() + long(k * n + n));
                             Real total =
                                 oracle::negentropy(t, alpha) - oracle::negentropy(p, alpha);
                             for (size_t i = 0; i < n; ++i) total += r[i] * (p[i] - t[i]);
                             return total;
                         });
                         if (!mean) return rows;
                         return Naive{{}, {oracle::sum(rows.at) / Real(rows.at.size())}};
                     },
                     64});
        }
}

}  // namespace

void add_entmax(std::vector<Case>& list, bool big) {
    if (big) {
        fixed(list, {{{211, 517}}, {{97, 1031}, Layout::transposed}});
        any(list, {{{211, 517}}}, 1, true);
        fixed(list, {{{3, 5000}}});
        given(list, {{{5000, 2}}});  // most of a row has weight
        losses(list, {{{53, 517}}, {{3, 5000}}});
        return;
    }
    const std::vector<Input> shapes{{{1}},
                                    {{7}},
                                    {{33}},
                                    {{3, 5}},
                                    {{5, 3}, Layout::transposed},
                                    {{2, 3, 4}},
                                    {{3, 4}, Layout::expanded},
                                    {{0, 3}}};
    fixed(list, shapes);
    any(list, {{{7}}, {{17}}, {{3, 5}}, {{2, 3, 4}, Layout::stepped}}, 0.9, false);
    any(list, {{{3, 5}}, {{5, 9}, Layout::reversed}}, 0.9, true);
    given(list, {{{7}}, {{33}}, {{3, 5}}, {{5, 3}, Layout::transposed}});
    losses(list, {{{7}}, {{3, 5}}, {{2, 3, 4}, Layout::transposed}});
}

}  // namespace cases
