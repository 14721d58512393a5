// Matrix products.
#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;

void matmuls(std::vector<Case>& list, const std::vector<std::pair<Input, Input>>& pairs) {
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

}  // namespace

void add_products(std::vector<Case>& list, bool big) {
    if (big)
        matmuls(list, {{{{129, 257}}, {{257, 131}}},
                       {{{300, 300}, Layout::transposed}, {{300, 300}}},
                       {{{6, 65, 33}}, {{6, 33, 70}}},
                       {{{1, 500}}, {{500, 333}}},
                       {{{8, 100, 8}}, {{8, 8, 100}}},
                       {{{45, 150}}, {{150, 3}}},
                       {{{1, 70}}, {{70, 40}, Layout::transposed}},
                       {{{3, 9, 131}}, {{131}}},
                       {{{70, 1500}}, {{1500, 20}}}});
    else
        matmuls(list, {{{{1, 1}}, {{1, 1}}},
                       {{{3, 4}}, {{4, 5}}},
                       {{{3, 4}, Layout::transposed}, {{4, 5}, Layout::transposed}},
                       {{{7}}, {{7}}},
                       {{{3, 7}}, {{7}}},
                       {{{7}}, {{7, 3}}},
                       {{{2, 3, 4}}, {{4, 5}}},
                       {{{2, 3, 4}}, {{2, 4, 2}}},
                       {{{3, 4}}, {{2, 4, 2}}},
                       {{{2, 1, 3, 4}}, {{3, 4, 2}}},
                       {{{3, 0}}, {{0, 2}}},
                       {{{2, 19}}, {{19}}},
                       {{{3, 4}, Layout::stepped}, {{4, 3}, Layout::reversed}},
                       {{{9, 8}}, {{8, 17}}},
                       {{{2, 3, 4}, Layout::expanded}, {{4, 2}}}});
}

}  // namespace cases
