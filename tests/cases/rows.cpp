// What works on rows: softmax.
#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace

void add_rows(std::vector<Case>& list, bool big) {
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
}

}  // namespace cases
