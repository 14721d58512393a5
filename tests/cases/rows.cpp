// Reductions, softmax and products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

Naive reduced(const Naive& x, unsigned axes, bool keep, Real start,
              const std::function<Real(Real, Real)>& join) {
    Shape kept = x.shape, shape = x.shape;
    for (int a = x.shape.rank() - 1; a >= 0; --a)
        if (axes & (1u << a)) {
            kept[a] = 1;
            if (keep)
                shape[a] = 1;
            else
                shape.erase(a);
        }
    Naive y{shape, std::vector<Real>(size_t(oracle::total(kept)), start)};
    each(x.shape, [&](const Shape& i, size_t p) {
        Shape j = i;
        for (int a = 0; a < j.rank(); ++a)
            if (axes & (1u << a)) j[a] = 0;
        Real& to = y.at[oracle::place(kept, j)];
        to = join(to, x.at[p]);
    });
    return y;
}

}  // namespace

void add_reductions(std::vector<Case>& list, const std::vector<Input>& shapes) {
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

void add_softmax(std::vector<Case>& list, const std::vector<Input>& shapes) {
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

void add_matmul(std::vector<Case>& list, const std::vector<std::pair<Input, Input>>& pairs) {
    for (const auto& [a, b] : pairs)
        list.push_back({describe("matmul", {a, b}),
                        {a, b},
                        [](Vars x) { return matmul(x[0], x[1]); },
                        [](Naives x) {
                            Shape sa = x[0].shape, sb = x[1].shape;
                            const bool row = sa.rank() == 1, column = sb.rank() == 1;
                            if (row) sa = {1, sa[0]};
                            if (column) sb = {sb[0], 1};
                            const Naive l{sa, x[0].at}, r{sb, x[1].at};
                            const int64_t m = sa[sa.rank() - 2], k = sa.back(), n = sb.back();
                            Shape batch_a = sa, batch_b = sb;
                            for (int t = 0; t < 2; ++t)
                                batch_a.erase(batch_a.rank() - 1),
                                    batch_b.erase(batch_b.rank() - 1);
                            Shape shape = oracle::joint(batch_a, batch_b);
                            shape.push_back(m);
                            shape.push_back(n);
                            Naive y = oracle::make(shape);
                            each(shape, [&](const Shape& i, size_t p) {
                                Shape left = i, right = i;
                                for (int64_t t = 0; t < k; ++t) {
                                    left[i.rank() - 1] = t;
                                    right[i.rank() - 2] = t;
                                    y.at[p] +=
                                        oracle::broadcast(l, left) * oracle::broadcast(r, right);
                                }
                            });
                            if (column) y.shape.erase(y.shape.rank() - 1);
                            if (row) y.shape.erase(y.shape.rank() - (column ? 1 : 2));
                            return y;
                        },
                        32});
}

}  // namespace cases
