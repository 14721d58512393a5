// Lines along inner axes and short rows, by tiles: the bits of rows along the last axis.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), none = NAN;

/// softmax(x), log_softmax(x) and logsumexp(x) along `axis`, and the gradients of their sums with weights g.
std::array<Tensor, 6> of_axis(const Tensor& x, const Tensor& g, int axis) {
    std::array<Tensor, 6> out;
    for (int i = 0; i < 3; ++i) {
        Tape tape;
        const Var v = tape.watch(x), y = i == 0   ? softmax(v, axis)
                                         : i == 1 ? log_softmax(v, axis)
                                                  : logsumexp(v, {axis}, true);
        const Tensor w = i < 2 ? g : slice(g, axis, 0, 1);
        out[size_t(2 * i)] = y.value();
        out[size_t(2 * i + 1)] = tape.gradient(sum(y * Var(w)), {v})[0];
    }
    return out;
}

/// Every line of the results against that of its row alone.
void check(const Tensor& x, int axis) {
    const Tensor g = randn({3, 4}, x.shape(), x.dtype());
    int order[Dims::max_rank];
    for (int a = 0, n = 0; a < x.rank(); ++a)
        if (a != axis) order[n++] = a;
    order[x.rank() - 1] = axis;
    const std::span<const int> to(order, size_t(x.rank()));
    const Tensor x_before = x.clone(), g_before = g.clone();
    const auto got = of_axis(x, g, axis);
    CHECK(difference(x, x_before) == "");  // tiles are worked on in place, not operands
    CHECK(difference(g, g_before) == "");
    const Tensor rows = permute(x, to).contiguous(), by = permute(g, to).contiguous();
    const int64_t count = rows.count() / rows.shape().back();
    const auto name = to_string(x.dtype(), x.shape()) + " axis " + std::to_string(axis);
    const auto row = [&](const Tensor& t, int64_t r) {
        return slice(reshape(t, {count, t.count() / count}), 0, r, r + 1).contiguous();
    };
    std::vector<std::array<Tensor, 6>> alone;  // a row alone is no tile
    for (int64_t r = 0; r < count; ++r) alone.push_back(of_axis(row(rows, r), row(by, r), 1));
    for (size_t i = 0; i < 6; ++i) {
        const Tensor lines = permute(got[i], to).contiguous();
        std::string wrong;
        for (int64_t r = 0; r < count && wrong.empty(); ++r)
            wrong = difference(alone[size_t(r)][i], row(lines, r));
        CHECK_MESSAGE(wrong.empty(), name << ", result " << i << ": " << wrong);
    }
}

}  // namespace

TEST_CASE("softmax and its kin along any axis have the bits of rows") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64}) {
            for (const int64_t n : {1, 2, 3, 7, 16, 21, 63, 64, 65, 130})
                for (const int64_t inner : {1, 2, 5, 16, 70}) {
                    check(randn({1, 2}, {3, n, inner}, dtype) * 4.0, 1);
                    check(randn({1, 3}, {n, 3 * inner}, dtype) * 4.0, 0);
                }
            check(randn({1, 2}, {400, 10}, dtype), 1);
            for (const int64_t inner : {512, 1024, 2048, 3072})  // whole tiles of the widest
                check(randn({1, 2}, {4, inner}, dtype), 0);
            check(randn({1, 2}, {2, 10, 300}, dtype), 1);
            check(randn({1, 2}, {2, 1000, 3}, dtype), 1);
        }
    });
}

TEST_CASE("columns with infinities and NaN are as rows with them") {
    Tensor x = randn({1, 2}, {8, 40});
    float* const p = x.mutable_data<float>();
    for (int i = 0; i < 8; ++i) p[i * 40 + 1] = -inf;
    p[2] = inf, p[43] = -inf, p[44] = none, p[5] = inf, p[45] = none, p[86] = inf, p[6] = inf;
    on_every_isa([&] { check(x, 0); });
    const auto y = of_axis(x, Tensor::ones(x.shape()), 0);
    CHECK(std::isnan(y[0].to_vector<float>()[4]));
    CHECK(y[0].to_vector<float>()[1] == 0);
    CHECK(y[2].to_vector<float>()[1] == -inf);
}

TEST_CASE("rows whose numbers lie far apart have the bits of columns, which look at each") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const double unit = dtype == DType::f32 ? 1 : 8;
        std::vector<double> lows{inf, none};
        for (const double low : {40.0, 64.9, 65.1, 66.0, 78.0, 87.0, 88.0, 92.0, 104.0, 150.0, 1e9})
            lows.push_back(-low * unit);
        lows.push_back(-inf);
        for (const int64_t n : {40, 64, 100, 2100}) {
            // A low number at one place of each row, and none in every third.
            const int64_t rows = 3 * int64_t(lows.size());
            Tensor x = cast(randn({1, 2}, {rows, n}), DType::f64);
            for (int64_t r = 0; r < rows; ++r)
                if (r % 3)
                    x.mutable_data<double>()[r * n + (r % 3 == 1 ? 7 : n - 1)] =
                        lows[size_t(r / 3)];
            x = cast(x, dtype);
            on_every_isa([&] {
                const Tensor y = softmax(x, 1),
                             columns = softmax(permute(x, {1, 0}).contiguous(), 0);
                CHECK(difference(y, permute(columns, {1, 0}).contiguous()) == "");
            });
        }
    }
}

TEST_CASE("scans down the planes of a batch are those of each plane") {
    // A plane alone goes by columns; 75 planes leave some that fill no register.
    const auto check_planes = [](DType dtype, int64_t n, int64_t inner, bool reverse) {
        Tensor x = floor(randn({1, 2}, {75, n, inner}) * 3.0);
        if (is_floating(dtype)) x = where(equal(x, 3.0), Tensor::scalar(NAN), x);
        x = cast(x, dtype);
        std::vector<std::function<Tensor(const Tensor&)>> scans;
        for (const bool exclusive : {false, true}) {
            scans.push_back([=](const Tensor& t) { return cumsum(t, 1, exclusive, reverse); });
            scans.push_back([=](const Tensor& t) { return cumprod(t, 1, exclusive, reverse); });
        }
        for (const bool largest : {false, true}) {
            const auto run = [=](const Tensor& t) {
                return largest ? cummax(t, 1, reverse) : cummin(t, 1, reverse);
            };
            scans.push_back([=](const Tensor& t) { return run(t).first; });
            scans.push_back([=](const Tensor& t) { return run(t).second; });
        }
        if (is_floating(dtype))
            scans.push_back(
                [=](const Tensor& t) { return linear_recurrence(t * 0.5, t, 1, reverse); });
        for (size_t s = 0; s < scans.size(); ++s) {
            const Tensor all = scans[s](x);
            std::string wrong;
            for (int64_t i = 0; i < 75 && wrong.empty(); ++i) {
                const auto plane = [&](const Tensor& t) {
                    return slice(t, 0, i, i + 1).contiguous();
                };
                wrong = difference(plane(all), scans[s](plane(x)));
            }
            CHECK_MESSAGE(wrong.empty(), to_string(dtype, x.shape())
                                             << " scan " << s << (reverse ? " back" : "") << ": "
                                             << wrong);
        }
    };
    on_every_isa([&] {
        for (const int64_t above : {int64_t{0}, int64_t{1} << 40}) {
            cpu::set_streams_above(above);  // all results go past the caches, or none
            for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
                for (const int64_t inner : {2, 3, 15, 16})
                    for (const int64_t n : {1, 2, 4, 8, 10, 64})
                        for (const bool reverse : {false, true})
                            check_planes(dtype, n, inner, reverse);
        }
    });
}
