// What works on rows: softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/random.h"
#include "tests/cases/families.h"
#include "tests/support/naive_reduce.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;
using oracle::reduced;

void softmaxes(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (int axis = 0; axis < in.shape.rank(); ++axis)
            list.push_back({describe("softmax axis " + std::to_string(axis), {in}),
                            {in},
                            [axis](Vars x) { return softmax(x[0], axis); },
                            [axis](Naives x) {
                                Naive y = x[0];
                                const Naive top = reduced(
                                    y, 1u << axis, true, -std::numeric_limits<Real>::infinity(),
                                    [](Real a, Real b) { return std::max(a, b); });
                                each(y.shape, [&](const Shape& i, size_t p) {
                                    y.at[p] = std::exp(y.at[p] - oracle::broadcast(top, i));
                                });
                                const Naive z = reduced(y, 1u << axis, true, 0,
                                                        [](Real a, Real b) { return a + b; });
                                each(y.shape, [&](const Shape& i, size_t p) {
                                    y.at[p] /= oracle::broadcast(z, i);
                                });
                                return y;
                            }});
}

void dropouts(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (const double p : {0.0, 0.3})
            list.push_back(
                {describe("dropout " + std::to_string(p), {in}),
                 {in},
                 [p](Vars x) {
                     return dropout(x[0], p, Key{5, 6});
                 },
                 [p](Naives x) {
                     Naive y = x[0];
                     const std::vector<float> u = uniform(Key{5, 6}, y.shape).to_vector<float>();
                     for (size_t i = 0; i < u.size(); ++i)
                         y.at[i] = u[i] < float(p) ? 0 : y.at[i] / (1 - Real(p));
                     return y;
                 }});
}

void embeddings(std::vector<Case>& list, const std::vector<std::pair<Shape, Shape>>& shapes) {
    for (const auto& [table, places] : shapes) {
        std::vector<int64_t> ids;
        for (int64_t i = 0; i < oracle::total(places); ++i) ids.push_back(i * i * 7 % table[0]);
        const Tensor index = Tensor::from(ids, places);
        list.push_back({describe("embedding", {{table}, {places}}),
                        {{table}},
                        [index](Vars x) { return embedding(x[0], index); },
                        [=](Naives x) {
                            Shape shape = places;
                            shape.push_back(table[1]);
                            Naive y{shape, {}};
                            for (int64_t id : ids)
                                for (int64_t j = 0; j < table[1]; ++j)
                                    y.at.push_back(x[0].at[size_t(id * table[1] + j)]);
                            return y;
                        }});
    }
}

}  // namespace

void add_rows(std::vector<Case>& list, bool big) {
    if (big)
        dropouts(list, {{{211, 517}}}),
            embeddings(list, {{{517, 33}, {40, 50}}, {{3, 257}, {999}}});
    if (big)
        softmaxes(list, {{{211, 517}}, {{97, 1031}, Layout::transposed}});
    else
        softmaxes(list, {{{1}},
                         {{7}},
                         {{17}},
                         {{33}},
                         {{3, 5}},
                         {{5, 3}, Layout::transposed},
                         {{2, 3, 4}},
                         {{3, 4}, Layout::expanded},
                         {{0, 3}}});
    if (big) return;
    dropouts(list, {{{33}}, {{3, 5}}, {{5, 3}, Layout::transposed}, {{0, 3}}});
    embeddings(
        list, {{{5, 3}, {7}}, {{3, 1}, {2, 4}}, {{4, 9}, {0}}, {{2, 0}, {3}}, {{9, 8}, {2, 2, 2}}});
}

}  // namespace cases
