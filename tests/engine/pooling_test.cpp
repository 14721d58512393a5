// The gradient of max pooling against a plain search: the first of equals, the first NaN, windows without anything above
// −∞, in every way windows may lie.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/convolution.h"
#include "engine/parallel.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

struct Windows {
    Shape kernel, stride, pads;
};

/// Where in the plane the largest element of window (r, c) stands.
int64_t found(const double* plane, int64_t rows, int64_t cols, const Windows& w, int64_t r,
              int64_t c) {
    int64_t best = -1;
    for (int64_t y = 0; y < w.kernel[0]; ++y)
        for (int64_t z = 0; z < w.kernel[1]; ++z) {
            const int64_t i = r * w.stride[0] - w.pads[0] + y, j = c * w.stride[1] - w.pads[1] + z;
            if (i < 0 || i >= rows || j < 0 || j >= cols) continue;
            const int64_t at = i * cols + j;
            if (best < 0 ||
                (!std::isnan(plane[best]) && (plane[at] > plane[best] || std::isnan(plane[at]))))
                best = at;
        }
    return best;
}

}  // namespace

TEST_CASE("a plane without elements is refused, padded or not") {
    // Its windows would hold padding only: an extremum of nothing, and a gradient without a place.
    for (const Shape& shape : {Shape{1, 1, 0, 64}, {1, 1, 64, 0}, {2, 3, 0, 0}})
        for (const int64_t pad : {0, 1}) {
            const Tensor x = Tensor::zeros(shape, DType::f64);
            CHECK_THROWS_WITH_AS(
                max_pool2d(x, {2, 2}, {1}, {pad}),
                ("[max_pool2d] nothing to pool over in " + to_string(shape)).c_str(), ShapeError);
            CHECK_THROWS_AS(avg_pool2d(x, {2, 2}, {1}, {pad}), ShapeError);
        }
    CHECK_THROWS_AS(max_pool1d(Tensor::zeros({1, 1, 0}), 2, 1, {1}), ShapeError);
    CHECK(max_pool2d(Tensor::zeros({0, 3, 4, 4}), {2, 2}).shape() == Shape{0, 3, 2, 2});
    CHECK(max_pool2d(Tensor::zeros({0, 3, 4, 4}), {4, 4}).shape() == Shape{0, 3, 1, 1});
    // Of no planes, however large, nothing is allocated.
    const Tensor none = Tensor::zeros({0, 1, 60000, 60000});
    const auto windows = window_attrs("max_pool2d", 2, none.shape(), {3, 3}, {3, 3}, {0});
    CHECK(MaxPool2d::backward(windows, none, max_pool2d(none, {3, 3})).shape() == none.shape());
    CHECK(MaxPool2d::indices(windows, none).count() == 0);
}

TEST_CASE("each window's gradient goes to the first of its largest elements") {
    set_thread_count(2);
    // One by one, and as many as registers have lanes, and some more.
    for (const auto& [planes, dtype] : {std::pair<int64_t, DType>{3, DType::f32},
                                        {3, DType::f64},
                                        {35, DType::f32},
                                        {19, DType::f64}})
        for (const Windows& w :
             {Windows{{2, 2}, {2, 2}, {0, 0}}, Windows{{1, 2}, {1, 2}, {0, 0}},
              Windows{{3, 2}, {3, 2}, {0, 0}}, Windows{{3, 3}, {2, 2}, {1, 1}},
              Windows{{2, 2}, {1, 1}, {0, 1}}, Windows{{2, 3}, {3, 4}, {1, 0}},
              Windows{{5, 13}, {1, 1}, {2, 6}}, Windows{{3, 3}, {1, 1}, {1, 1}},
              Windows{{1, 64}, {1, 64}, {0, 0}}, Windows{{6, 4}, {1, 2}, {3, 0}},
              Windows{{3, 6}, {2, 3}, {2, 5}}, Windows{{1, 1}, {2, 3}, {0, 0}},
              Windows{{1, 13}, {1, 13}, {0, 0}}, Windows{{9, 300}, {9, 300}, {2, 40}},
              Windows{{12, 1}, {1, 1}, {5, 0}}, Windows{{10, 3}, {3, 1}, {4, 1}},
              Windows{{15, 5}, {1, 2}, {14, 4}}})
            for (const int64_t rows : {6, 7})
                for (const int64_t cols : {4, 9, 33, 130, 131, 260}) {
                    if (w.kernel[1] > cols + 2 * w.pads[1]) continue;
                    std::vector<double> x;
                    uint64_t state = uint64_t(rows * cols);
                    for (int64_t i = 0; i < planes * rows * cols; ++i) {
                        state = state * 6364136223846793005u + 1442695040888963407u;
                        const uint64_t kind = (state >> 33) % 17;
                        const double value = double(int64_t(state >> 40) % 4) - 2;
                        x.push_back(kind == 0   ? std::copysign(double(NAN), value)
                                    : kind <= 6 ? -std::numeric_limits<double>::infinity()
                                    : kind <= 9 ? -0.0
                                                : value);
                    }
                    const Tensor t = cast(Tensor::from(x, {1, planes, rows, cols}), dtype);
                    const auto attrs =
                        window_attrs("max_pool2d", 2, t.shape(), w.kernel, w.stride, w.pads);
                    Tensor y = MaxPool2d::forward(attrs, {&t});
                    const Tensor g = reshape(Tensor::arange(y.count(), dtype, 1), y.shape());
                    std::vector<double> expected(x.size()), largest;
                    std::vector<int64_t> places;
                    int64_t k = 0;
                    for (int64_t p = 0; p < planes; ++p)
                        for (int64_t r = 0; r < y.size(2); ++r)
                            for (int64_t c = 0; c < y.size(3); ++c) {
                                const double* const plane = x.data() + p * rows * cols;
                                places.push_back(found(plane, rows, cols, w, r, c));
                                largest.push_back(plane[places.back()]);
                                expected[size_t(p * rows * cols + places.back())] += double(++k);
                            }
                    on_every_isa([&] {
                        y = MaxPool2d::forward(attrs, {&t});
                        const Tensor dx = MaxPool2d::backward(attrs, t, g);
                        INFO(to_string(w.kernel), " every ", to_string(w.stride), " of ", rows,
                             " x ", cols);
                        CHECK(all(equal(cast(dx, DType::f64), Tensor::from(expected, t.shape())))
                                  .item<bool>());
                        const Tensor at = MaxPool2d::indices(attrs, t);
                        CHECK(all(equal(at, Tensor::from(places, at.shape()))).item<bool>());
                        const Tensor largest_y = cast(y, DType::f64);
                        const double* const got = static_cast<const double*>(largest_y.raw());
                        bool same = true;
                        for (size_t j = 0; j < places.size(); ++j)
                            same = same && (got[j] == largest[j] ||
                                            (std::isnan(got[j]) && std::isnan(largest[j])));
                        CHECK(same);
                    });
                }
}
