// Every reduction over every set of axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cases/families.h"
#include "tests/support/naive_reduce.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;
using oracle::reduced;

void reductions(std::vector<Case>& list, const std::vector<Input>& shapes) {
    constexpr Real inf = std::numeric_limits<Real>::infinity();
    for (const Input& in : shapes) {
        const int rank = in.shape.rank();
        for (unsigned axes = 1; axes < (1u << rank); ++axes) {
            std::vector<int> named;
            int64_t n = 1;
            for (int a = 0; a < rank; ++a)
                if (axes & (1u << a)) {
                    named.push_back(a % 2 ? a - rank : a);
                    n *= in.shape[a];
                }
            const bool keep = axes % 2;
            const std::string tag = " axes " + std::to_string(axes);
            const double slack = 4 + 2 * std::sqrt(double(n));
            list.push_back({describe("sum" + tag, {in}),
                            {in},
                            [=](Vars x) { return sum(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, 0,
                                               [](Real a, Real b) { return a + b; });
                            },
                            slack});
            if (n == 0) continue;
            list.push_back({describe("mean" + tag, {in}),
                            {in},
                            [=](Vars x) { return mean(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, 0,
                                               [n](Real a, Real b) { return a + b / Real(n); });
                            },
                            slack});
            list.push_back({describe("max" + tag, {in}),
                            {in},
                            [=](Vars x) { return max(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, -inf,
                                               [](Real a, Real b) { return std::max(a, b); });
                            }});
            list.push_back({describe("min" + tag, {in}),
                            {in},
                            [=](Vars x) { return min(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, inf,
                                               [](Real a, Real b) { return std::min(a, b); });
                            }});
        }
    }
}

}  // namespace

void add_reductions(std::vector<Case>& list, bool big) {
    if (big)
        reductions(list, {{{50001}},
                          {{301, 257}},
                          {{301, 257}, Layout::transposed},
                          {{17, 129, 33}},
                          {{20000, 3}}});
    else
        reductions(list, {{{0}},
                          {{1}},
                          {{7}},
                          {{8}},
                          {{9}},
                          {{65}},
                          {{3, 5}},
                          {{5, 3}, Layout::transposed},
                          {{2, 3, 4}},
                          {{2, 3, 4}, Layout::stepped},
                          {{3, 0}}});
}

}  // namespace cases
