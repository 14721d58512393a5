// Many short lines in order, by tiles: the stable order, NaN last, and the bits of the elements themselves.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/functions.h"
#include "engine/parallel.h"
#include "tests/support/every_isa.h"
#include "tests/support/mixed.h"

using namespace mercer;

namespace {

/// Lines along axis 1 of three: indices and elements of results of k against a stable sort.
template <class T>
bool in_order(const Tensor& x, const Tensor& values, const Tensor& indices, int64_t k, bool down) {
    const int64_t n = x.size(1), inner = x.size(2);
    const T *from = x.data<T>(), *v = values.data<T>();
    const int64_t* at = indices.data<int64_t>();
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t o = 0; o < x.size(0); ++o)
        for (int64_t c = 0; c < inner; ++c) {
            const auto element = [&](int64_t i) { return from[(o * n + i) * inner + c]; };
            std::iota(order.begin(), order.end(), int64_t{0});
            std::ranges::stable_sort(order, [&](int64_t i, int64_t j) {
                const T a = element(i), b = element(j);
                if (a != a || b != b) return a == a && b != b;
                return down ? a > b : a < b;
            });
            for (int64_t i = 0; i < k; ++i) {
                const int64_t place = (o * k + i) * inner + c;
                const T want = element(order[size_t(i)]);
                if (at[place] != order[size_t(i)] || std::memcmp(v + place, &want, sizeof want))
                    return false;
            }
        }
    return true;
}

}  // namespace

TEST_CASE_TEMPLATE("many short lines are in stable order along any axis", T, float, double, int32_t,
                   int64_t) {
    on_every_isa([] {
        set_thread_count(3);
        for (const int64_t n : {1, 2, 3, 4, 5, 8, 10, 16, 31, 64, 100, 255, 256, 511})
            for (const Shape& shape : {Shape{37, n, 1}, Shape{3, n, 5}, Shape{2, n, 70}})
                for (const bool down : {false, true}) {
                    const Tensor x = mixed<T>(shape, unsigned(n));
                    const auto [values, indices] = sort(x, 1, down);
                    CAPTURE(to_string(x.dtype(), shape));
                    CHECK(in_order<T>(x, values, indices, n, down));
                    CHECK(all(equal(argsort(x, 1, down), indices)).template item<bool>());
                    for (const int64_t k : {1, 2, 3, 8, 20})
                        if (k <= n) {
                            const auto [first, places] = topk(x, k, 1, down);
                            CAPTURE(k);
                            CHECK(in_order<T>(x, first, places, k, down));
                        }
                }
    });
}
