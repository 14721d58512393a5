// Variances against two passes in long double, far from zero and in every layout.
#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>
#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

/// The variance of each row of x(m×n).
std::vector<double> two_passes(const Tensor& x) {
    const Tensor exact = cast(x, DType::f64);
    const int64_t m = x.size(0), n = x.size(1);
    const double* at = exact.data<double>();
    std::vector<double> out;
    for (int64_t i = 0; i < m; ++i, at += n) {
        long double mean = 0, sum = 0;
        for (int64_t j = 0; j < n; ++j) mean += at[j];
        mean /= (long double)n;
        for (int64_t j = 0; j < n; ++j) sum += (at[j] - mean) * (at[j] - mean);
        out.push_back(double(sum / (long double)n));
    }
    return out;
}

void check(const Tensor& x) {
    CAPTURE(to_string(x.shape()));
    const double eps = x.dtype() == DType::f64 ? 0x1p-53 : 0x1p-24;
    const int64_t m = x.size(0), n = x.size(1);
    const std::vector<double> expected = two_passes(x);
    const auto right = [&](const Tensor& y) {
        const Tensor exact = cast(y, DType::f64);
        double worst = 0;
        for (int64_t i = 0; i < m; ++i) {
            const double v = expected[size_t(i)];
            worst = std::max(worst, std::abs(exact.data<double>()[i] - v) / (v > 0 ? v : 1));
        }
        CHECK(worst <= 12 * eps);
    };
    const Tensor columns = transpose(x).contiguous();
    right(var(x, {1}, 0));
    right(var(columns, {0}, 0));
    // The same in the middle of longer and of wider rows.
    const auto beside = [dtype = x.dtype()](const Shape& shape) {
        return Tensor::full(shape, 7, dtype);
    };
    const Tensor longer = concat({beside({m, 1}), x, beside({m, 70})}, 1);
    right(var(slice(longer, 1, 1, 1 + n), {1}, 0));
    const Tensor wider = concat({beside({n, 3}), columns, beside({n, 5})}, 1);
    right(var(slice(wider, 1, 3, 3 + m), {0}, 0));
}

}  // namespace

TEST_CASE("variances keep their digits far from zero, in every layout") {
    for (DType dtype : {DType::f32, DType::f64})
        for (int64_t n :
             {2, 7, 16, 63, 64, 65, 100, 128, 191, 448, 511, 512, 513, 1000, 1024, 1500})
            for (int64_t m : {1, 3, 40})
                for (double centre : {0.0, -3e4}) {
                    const Tensor x =
                        cast(randn(Key{1, uint64_t(n)}, {m, n}, DType::f64) + centre, dtype);
                    check(x);
                }
    for (DType dtype : {DType::f32, DType::f64}) check(cast(randn(Key{2, 0}, {600, 700}), dtype));
}

TEST_CASE("one element far from all others does not spoil their variance") {
    for (int64_t n : {65, 512, 700})
        for (int64_t place : {int64_t{0}, n / 8, n - 1}) {
            std::vector<float> values(size_t(3 * n), 1.0f);
            for (size_t i = 0; i < values.size(); ++i) values[i] += float(i % 5) * 0.25f;
            for (int64_t row : {0, 1, 2}) values[size_t(row * n + place)] = 1e6f;
            check(Tensor::from(values, {3, n}));
        }
}

TEST_CASE("equal elements vary by nothing") {
    for (int64_t n : {64, 200, 512, 1000}) {
        const Tensor x = Tensor::from(std::vector<float>(size_t(9 * n), 0.1f), {9, n});
        CHECK(max(abs(var(x, {1}))).item<float>() == 0);
        CHECK(max(abs(var(reshape(x, {n, 9}), {0}))).item<float>() == 0);
    }
}

TEST_CASE("nothing has no variance") {
    for (const Shape& shape : {Shape{3, 0}, Shape{0, 3}})
        CHECK(all(isnan(var(Tensor::zeros(shape), {shape[0] == 0 ? 0 : 1}, 0))).item<bool>());
    CHECK(var(Tensor::zeros({0, 4}), {1}).shape() == Shape{0});
}

TEST_CASE("variances whose mean leaves the range are the same on any instruction set") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t n : {33, 44, 64, 100}) {
            CAPTURE(n);
            // The elements that the first guess of the mean is made of are none of the large ones.
            Tensor wide = Tensor::full({n}, dtype == DType::f32 ? 2e37 : 1e307, DType::f64);
            for (int64_t i = 0; i < n; i += n / 8) wide.mutable_data<double>()[i] = 0;
            const Tensor x = cast(broadcast_to(wide, {3, n}), dtype);
            Tensor first;
            on_every_isa([&] {
                const Tensor got = var(x, {1});
                if (first.defined()) CHECK(difference(got, first) == "");
                first = got;
            });
        }
}
