// Places in sorted lists beside a count of every element: duplicates, NaN, zeros of both signs, lists of any length.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/error.h"
#include "engine/functions.h"
#include "tests/support/mixed.h"

using namespace mercer;

namespace {

/// boundaries (lists, n) or (n), x (lists, m): every place against a count.
template <class T>
bool counted(const Tensor& boundaries, const Tensor& x, bool right) {
    const auto before = [&](T b, T v) {
        if (v != v) return b == b || right;
        return right ? b <= v : b < v;
    };
    const int64_t n = boundaries.size(boundaries.rank() - 1), m = x.size(1);
    const Tensor places = searchsorted(boundaries, x, right);
    for (int64_t i = 0; i < x.count(); ++i) {
        const T* const list = boundaries.data<T>() + (boundaries.rank() > 1 ? i / m * n : 0);
        const auto passed =
            std::count_if(list, list + n, [&](T b) { return before(b, x.data<T>()[i]); });
        if (places.data<int64_t>()[i] != passed) return false;
    }
    return true;
}

template <class T>
void searches() {
    for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 1000})
        for (int64_t m : {1, 15, 16, 17, 40})
            for (bool right : {false, true}) {
                CAPTURE(n);
                CAPTURE(m);
                CAPTURE(right);
                const Tensor x = mixed<T>({3, m}, unsigned(n + m), 41),
                             lists = sort(mixed<T>({3, n}, 5, 41), 1).first;
                CHECK(counted<T>(lists, x, right));
                CHECK(counted<T>(reshape(slice(lists, 0, 0, 1), {n}), x, right));
                CHECK(counted<T>(Tensor::full({n}, 3, dtype_of<T>), x, right));
            }
}

}  // namespace

TEST_CASE("places in sorted lists are what counting gives") {
    searches<float>();
    searches<double>();
    searches<int64_t>();
    searches<int32_t>();
}

TEST_CASE("places in a list of NaN only, and many values on several threads") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor all = Tensor::full({5}, nan), x = Tensor::from({nan, 0});
    CHECK(searchsorted(all, x).to_vector<int64_t>() == std::vector<int64_t>{0, 0});
    CHECK(searchsorted(all, x, true).to_vector<int64_t>() == std::vector<int64_t>{5, 0});
    const Tensor many = mixed<float>({2, 20000}, 3), list = sort(mixed<float>({300}, 4)).first;
    CHECK(counted<float>(list, many, false));
    CHECK(counted<float>(list, many, true));
    CHECK_THROWS_AS(
        searchsorted(Tensor::zeros({2}, DType::boolean), Tensor::zeros({2}, DType::boolean)),
        DTypeError);
}
