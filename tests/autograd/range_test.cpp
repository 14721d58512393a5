// Where partial results leave the range of numbers, or points lie at the ends of a domain: what comes is what a result that
// is in range should be.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/call.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/finite.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

template <class F>
Tensor slope(F f, const Tensor& x, double g = 1) {
    Tape tape;
    const Var v = tape.watch(x), y = f(v);
    return tape.gradient(y, {v}, {.cotangents = {Tensor::full(y.shape(), g, y.dtype())}})[0];
}

/// Equal, infinities too, to a few last places.
void check(const Tensor& actual, const std::vector<double>& expected, double places = 8) {
    const double eps = actual.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
    const std::vector<double> y = cast(actual, DType::f64).to_vector<double>();
    REQUIRE(y.size() == expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
        CAPTURE(i);
        CAPTURE(y[i]);
        CAPTURE(expected[i]);
        CHECK((y[i] == expected[i] ||
               std::abs(y[i] - expected[i]) <= places * eps * std::abs(expected[i])));
    }
}

Tensor row(const std::vector<float>& x) { return Tensor::from(x, Shape{int64_t(x.size())}); }
Tensor row(const std::vector<double>& x) { return Tensor::from(x, Shape{int64_t(x.size())}); }

}  // namespace

TEST_CASE("products are what they are, whatever their partial products are") {
    on_every_isa([] {
        const Tensor zero = row(std::vector<float>{0, 1e20f, 1e20f, 1e20f});
        check(prod(zero), {0});
        check(slope([](const Var& x) { return prod(x); }, zero), {inf, 0, 0, 0});
        check(cumprod(zero, 0), {0, 0, 0, 0});
        check(slope([](const Var& x) { return cumprod(x, 0); }, zero), {inf, 0, 0, 0});
        const Tensor apart = row(std::vector<float>{1e-30f, 1e-30f, 3, 1e30f, 1e30f});
        check(prod(apart), {3}, 40);
        check(slope([](const Var& x) { return prod(x); }, apart), {3e30, 3e30, 1, 3e-30, 3e-30},
              40);
        check(cumprod(row(std::vector<float>{1e-30f, 1e30f, 1e30f, 1e-30f}), 0),
              {1e-30, 1, 1e30, 1}, 40);
        // Far beyond the range and back, many times over: no NaN in any row, and no infinity where none should be.
        const Tensor x = cast(exp(randn(Key{3, 1}, {40, 5000}, DType::f64) * 15.0), DType::f32);
        const Tensor logs = sum(log(cast(x, DType::f64)), {1}), y = prod(x, {1});
        CHECK(all(logical_or(isfinite(y), greater(logs, 88.0))).item<bool>());
        const Tensor huge = row(std::vector<float>{1e20f, 1e20f, 1e-30f, 1e10f, 1e-10f, 1e-10f});
        check(prod(huge), {1}, 40);
        const Tensor twice = row(std::vector<double>{2, 0, 1e300, 1e300, -0.0, 3});
        check(slope([](const Var& v) { return prod(v); }, twice), {0, 0, 0, 0, 0, 0});
        check(slope([](const Var& v) { return cumprod(v, 0); }, twice),
              {1, 2 + 2e300 + inf, 0, 0, 0, 0});
    });
}

TEST_CASE("products of others are exact to a few places, in any layout") {
    // Magnitudes against Σ log, signs by count; partial products leave f32's and f64's range.
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64}) {
            const double wide = dtype == DType::f64 ? 200 : 25;
            const Tensor x = cast(randn(Key{5, 1}, {6, 9, 30}, DType::f64), dtype) *
                             exp(randn(Key{5, 2}, {6, 9, 30}, dtype) * wide);
            for (const bool last : {true, false}) {
                const int axis = last ? 2 : 0;
                const Tensor dx = cast(slope([=](const Var&v) { return prod(v, {axis}); }, x),
                                       DType::f64),
                             logs = log(abs(cast(x, DType::f64)));
                const Tensor expected = sum(logs, {axis}, true) - logs, actual = log(abs(dx));
                const double most = dtype == DType::f64 ? 690 : 80;
                const Tensor inside = less(abs(expected), most);
                const Tensor negative = cast(less(x, 0), DType::f64),
                             others = sum(negative, {axis}, true) - negative,
                             sign = 1.0 - 2.0 * (others - 2.0 * floor(others * 0.5));
                CHECK(all(logical_or(logical_not(inside),
                                     equal(sign, cast(greater(dx, 0), DType::f64) -
                                                     cast(less(dx, 0), DType::f64))))
                          .item<bool>());
                CHECK(count_nonzero(inside).item<int64_t>() > 20);
                const Tensor off =
                    where(inside, abs(actual - expected), Tensor::zeros({}, DType::f64));
                CHECK(max(off).item<double>() < (dtype == DType::f64 ? 1e-11 : 1e-4));
            }
        }
    });
}

TEST_CASE("a product whose derivative is finite passes the check of results") {
    const FiniteScope watched(FiniteCheck::nan);
    const Tensor x = row(std::vector<float>{0, 2, 3}),
                 overflow = row(std::vector<float>{1e20f, 0, 1e20f, 1e20f});
    check(slope([](const Var& v) { return prod(v); }, x), {6, 0, 0});
    check(prod(overflow), {0});
    check(slope([](const Var& v) { return cumprod(v, 0); }, overflow), {1, inf, 0, 0});
}

TEST_CASE("what comes before a zero depends on nothing beyond it") {
    for (const bool exclusive : {false, true})
        for (const bool reverse : {false, true}) {
            const auto first_two = [=](double beyond) {
                const Tensor x = row(std::vector<double>{3, 2, 0, 5, beyond, 11, 13});
                const Tensor dx =
                    slope([=](const Var& v) { return cumprod(v, 0, exclusive, reverse); },
                          reverse ? flip(x, 0) : x);
                return slice(reverse ? flip(dx, 0) : dx, 0, 0, 2);
            };
            check(first_two(7e307), first_two(7).to_vector<double>());
        }
}

TEST_CASE("what no number is beside a zero is none in the gradient of a running product") {
    // The sum of x_1, x_1 x_2, …: NaN in just those elements whose terms have a NaN, or 0·∞, among their factors.
    const std::vector<std::pair<std::vector<double>, std::vector<bool>>> rows{
        {{3, 0, NAN}, {true, true, false}},
        {{0, NAN}, {true, false}},
        {{NAN, 0, 2}, {false, true, true}},
        {{3, 0, inf}, {true, false, false}},
        {{0, 5, inf, 2}, {false, true, false, true}},
        {{inf, 0, 2, 5}, {false, false, true, true}},
        {{inf, 0, 1e200, 1e200}, {false, false, true, true}}};
    for (const auto& [x, none] : rows)
        for (const DType dtype : {DType::f32, DType::f64})
            for (const bool reverse : {false, true}) {
                if (dtype == DType::f32 && x.back() > 1e100) continue;  // an infinity there
                const Tensor in = cast(row(x), dtype),
                             dx = slope([=](const Var&v) { return cumprod(v, 0, false, reverse); },
                                        reverse ? flip(in, 0) : in);
                const std::vector<double> d =
                    cast(reverse ? flip(dx, 0) : dx, DType::f64).to_vector<double>();
                for (size_t i = 0; i < x.size(); ++i) {
                    CAPTURE(x[0]);
                    CAPTURE(i);
                    CHECK(std::isnan(d[i]) == none[i]);
                }
            }
}

TEST_CASE("equal extrema share one cotangent, few and many") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t n : {2, 7, 8, 9, 63, 64, 1000}) {
                CAPTURE(n);
                const Tensor odd = cast(Tensor::arange(n, DType::f64) -
                                            2.0 * floor(Tensor::arange(n, DType::f64) / 2.0),
                                        dtype),
                             x = broadcast_to(odd, {5, n}).contiguous(),
                             share = odd / double(n / 2);
                const Tensor along = slope([](const Var&v) { return max(v, {1}); }, x),
                             across = slope([](const Var&v) { return max(v, {0}); },
                                            transpose(x).contiguous()),
                             least = slope([](const Var&v) { return min(v, {1}); }, -x);
                CHECK(difference(along, broadcast_to(share, {5, n})) == "");
                CHECK(difference(transpose(across), broadcast_to(share, {5, n})) == "");
                CHECK(difference(least, along) == "");
            }
    });
}

TEST_CASE("more equal extrema than floats can count share one cotangent") {
    const int64_t n = (1 << 24) + (1 << 20);
    const Tensor x = Tensor::ones({n, 2}), offsets = Tensor::from(std::vector<int64_t>{0, n});
    const Tensor dx = slope([&](const Var& v) { return segment_max(v, offsets); }, x);
    CHECK(dx.data<float>()[0] == float(1.0 / double(n)));
    CHECK(dx.data<float>()[2 * n - 1] == float(1.0 / double(n)));
}

TEST_CASE("a norm of so small a p that f32 does not hold it is its limit") {
    on_every_isa([] {
        for (const double p : {1e-30, 1e-44, 1e-46, 1e-320}) {
            CAPTURE(p);
            for (const DType dtype : {DType::f32, DType::f64}) {
                const auto norm = [&](const std::vector<double>& x) {
                    return norm_p(cast(row(x), dtype), p);
                };
                check(norm({0, -3, 0}), {3});
                check(norm({0, 0, 0}), {0});
                check(norm({1, 3, 0}), {inf});
                CHECK(isnan(norm({5, std::nan(""), 0})).item<bool>());
                check(slope([&](const Var& x) { return norm_p(x, p); },
                            cast(row(std::vector<double>{0, -3, 0}), dtype)),
                      {0, -1, 0});
            }
        }
    });
}

TEST_CASE("a norm's gradient is in range where it should be") {
    on_every_isa([] {
        const auto two = [](const Var& x) { return norm_p(x, 2); };
        check(slope(two, row(std::vector<float>{3e-38f, 4e-38f}), 1000), {600, 800});
        check(slope(two, row(std::vector<float>{1e-30f, 1e-30f}), 1e10),
              {7.0710678e9, 7.0710678e9});
        check(slope(two, row(std::vector<float>{1e38f, 1e38f}), 1e-7),
              {7.0710678e-8, 7.0710678e-8});
        check(slope(two, row(std::vector<double>{3e-308, 4e-308}), 1000), {600, 800});
        check(slope(two, row(std::vector<double>{0, 0})), {0, 0});
        for (const double p : {1e6, 1e8}) {
            CAPTURE(p);
            const double third = std::pow(3, 1 / p - 1);
            check(slope([=](const Var& x) { return norm_p(x, p); },
                        row(std::vector<float>{1, 1, 1, .5f})),
                  {third, third, third, 0});
        }
        check(slope([](const Var& x) { return norm_p(x, 1e10); },
                    row(std::vector<float>{3.4e38f, 3.4e38f, -3.4e38f, 0})),
              {1 / 3., 1 / 3., -1 / 3., 0});
        check(
            slope([](const Var& x) { return norm_p(x, .01); }, row(std::vector<float>{1, 1, 1, 0})),
            {inf, inf, inf, 0});
        check(slope([](const Var& x) { return norm_p(x, 5); }, row(std::vector<float>{0, 1e-30f})),
              {0, 1});
    });
}

TEST_CASE("a variance's gradient is in range where its mean's sum is not") {
    on_every_isa([] {
        const Tensor equal = row(std::vector<float>{3e38f, 3e38f});
        check(slope([](const Var& x) { return var(x, {0}, 0); }, equal), {0, 0});
        check(slope([](const Var& x) { return stddev(x, {0}, 0); }, equal), {0, 0});
        for (const int64_t n : {33, 64, 1000}) {
            CAPTURE(n);
            const Tensor high = Tensor::full({n, 3}, 3e38, DType::f32),
                         far = Tensor::full({3, n}, 1e308, DType::f64);
            CHECK(max(abs(var(high, {0}))).item<double>() == 0);
            CHECK(max(abs(stddev(far, {1}))).item<double>() == 0);
            CHECK(
                max(abs(slope([](const Var& x) { return stddev(x, {1}); }, far))).item<double>() ==
                0);
        }
    });
}

TEST_CASE("a row with NaN hands its extremum's gradient to the NaNs") {
    const Tensor x = row(std::vector<double>{1, NAN, 3, NAN});
    check(slope([](const Var& v) { return max(v); }, x), {0, .5, 0, .5});
    check(slope([](const Var& v) { return min(v, {0}); }, x), {0, .5, 0, .5});
}

TEST_CASE("clamp hands on NaN, of a bound as well") {
    on_every_isa([] {
        const Tensor x = row(std::vector<float>{1, 1, NAN, 1}),
                     low = row(std::vector<float>{NAN, 0, 0, 2}),
                     high = row(std::vector<float>{2, NAN, 2, 3});
        const std::vector<float> y = clamp(x, low, high).to_vector<float>();
        CHECK((std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]) && y[3] == 2));
    });
}

TEST_CASE("special functions have derivatives at the ends of their domains") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64}) {
            const auto number = [=](double x) { return Tensor::full({1}, x, dtype); };
            const auto in_x = [&](double a, double b, double x) {
                return slope(
                    [&](const Var& v) { return betainc(Var(number(a)), Var(number(b)), v); },
                    number(x));
            };
            for (const double other : {0.5, 1.0, 3.0}) {
                check(in_x(1, other, 0), {other});
                check(in_x(other, 1, 1), {other});
                check(in_x(.5, other, 0), {inf});
                check(in_x(other, .5, 1), {inf});
                check(in_x(2, other, 0), {0});
                check(in_x(other, 2, 1), {0});
            }
            for (const double p : {0.0, 1.0}) {
                check(
                    slope(
                        [&](const Var& v) { return betaincinv(v, Var(number(2)), Var(number(p))); },
                        number(3)),
                    {0});
                check(
                    slope(
                        [&](const Var& v) { return betaincinv(Var(number(2)), v, Var(number(p))); },
                        number(3)),
                    {0});
                check(
                    slope([&](const Var& v) { return gammaincinv(v, Var(number(p))); }, number(3)),
                    {0});
            }
            check(slope([&](const Var& v) { return betaincinv(Var(number(2)), Var(number(3)), v); },
                        number(0)),
                  {inf});
            for (const double side : {-inf, inf}) {
                check(slope([](const Var& v) { return normal_pdf(v); }, number(side)), {0});
                check(slope([](const Var& v) { return silu(v); }, number(side)),
                      {side > 0 ? 1. : 0.});
            }
            check(slope([](const Var& v) { return log_normal_cdf(v); }, number(-inf)), {inf});
        }
        const auto far = [](double x) { return row(std::vector<double>{x}); };
        for (const double x : {-1e99, -1e100, -1.5e100, -1e120, -1e300})
            check(slope([](const Var& v) { return log_normal_cdf(v); }, far(x)), {-x});
        for (const double x : {1e-310, 3e-320, 2.25e-308, 1e-300}) {
            check(gammainc(far(1), far(x)), {x}, std::max(500., 1e-307 / x));
            check(gammainc(far(.5), far(x)), {2 / std::sqrt(M_PI) * std::sqrt(x)}, 500);
        }
    });
}

namespace {
// f's slope and curvature at x.
template <class F>
std::vector<double> slopes(F f, double x) {
    Tape tape;
    const Var v = tape.watch(row(std::vector<double>{x})), y = f(v);
    const auto [first] = tape.gradient(y, {v}, create_graph);
    return {first.value().to_vector<double>()[0],
            tape.gradient(first, {v})[0].to_vector<double>()[0]};
}
}  // namespace

TEST_CASE("betainc has its slopes in shapes as small as numbers are") {
    on_every_isa([] {
        const auto number = [](double x) { return Var(row(std::vector<double>{x})); };
        for (const double shape : {1e-3, 1e-5, 1e-10, 1e-20, 1e-100, 1e-155, 1e-200, 1e-300})
            for (const double x : {1e-3, .25, .5, .9}) {
                CAPTURE(shape);
                CAPTURE(x);
                const auto near = [&](const std::vector<double>& y, double first, double second) {
                    CHECK(y[0] == doctest::Approx(first).epsilon(1e-12));
                    CHECK(y[1] ==
                          doctest::Approx(second).epsilon(shape > 1e-16 ? 1e-13 / shape : 1e-9));
                };
                // I = x^a where b = 1, and 1 − (1 − x)^b where a = 1
                const double a = std::log(x), b = std::log1p(-x);
                near(slopes([&](const Var& v) { return betainc(v, number(1), number(x)); }, shape),
                     a * std::pow(x, shape), a * a * std::pow(x, shape));
                near(slopes([&](const Var& v) { return betainc(number(1), v, number(x)); }, shape),
                     -b * std::pow(1 - x, shape), -b * b * std::pow(1 - x, shape));
                if (shape > 1e-20 || shape < 1e-150) continue;
                // b/(a + b) of two small ones, and nothing in the other of one
                near(slopes([&](const Var& v) { return betainc(v, number(shape), number(x)); },
                            shape),
                     -.25 / shape, .25 / shape / shape);
                near(slopes([&](const Var& v) { return betainc(number(shape), v, number(x)); }, 7),
                     0, 0);
            }
    });
}

TEST_CASE("gammainc has no slope in its shape where nothing is left of it") {
    on_every_isa([] {
        const std::pair<double, double> none[] = {{2, 5e-324}, {1e5, 5e-324}, {1e300, 1e-300}};
        for (const auto& [shape, x] : none) {
            const double a = shape;
            CAPTURE(a);
            const Var at(row(std::vector<double>{x}));
            const auto lower = slopes([&](const Var&v) { return gammainc(v, at); }, a),
                       upper = slopes([&](const Var&v) { return gammaincc(v, at); }, a);
            CHECK((lower[0] == 0 && lower[1] == 0 && upper[0] == 0 && upper[1] == 0));
        }
    });
}

TEST_CASE("bivariate_normal_cdf has its slopes' limits where the two are one") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const double h : {-2., -.3, 0., .5, 1.})
                for (const double k : {-1., 0., .3, 2., double(inf)})
                    for (const double rho : {-1., 1.}) {
                        CAPTURE(h);
                        CAPTURE(k);
                        CAPTURE(rho);
                        Tape tape;
                        std::vector<Var> x;
                        for (const double at : {h, k, rho})
                            x.push_back(tape.watch(Tensor::full({1}, at, dtype)));
                        const auto d = tape.gradient(bivariate_normal_cdf(x[0], x[1], x[2]), x);
                        // The one that binds; half each where both do.
                        const auto step = [](double u) { return u > 0 ? 1 : u < 0 ? 0 : .5; };
                        const auto density = [](double u) {
                            return std::exp(-u * u / 2) / std::sqrt(2 * M_PI);
                        };
                        check(d[0], {density(h) * step(k - rho * h)});
                        check(d[1], {density(k) * step(h - rho * k)});
                        check(d[2], {h == rho * k ? inf : 0});
                        if (h == rho * k || dtype == DType::f32) continue;
                        const Var y(x[1].value()), r(x[2].value());
                        const auto in_h = [&](const Var& v) {
                            return bivariate_normal_cdf(v, y, r);
                        };
                        const std::vector<double> second = slopes(in_h, h);
                        CHECK(second[1] == doctest::Approx(-h * second[0]));
                    }
    });
}

TEST_CASE("where a slope is finite, its own slope is a number") {
    on_every_isa([] {
        int seen = 0;
        for (const Callable& f : callables()) {
            if (!f.info->pointwise || !f.differentiable || f.parameters.size() != 1) continue;
            CAPTURE(std::string(f.info->name));
            for (const DType dtype : {DType::f32, DType::f64})
                for (const double size :
                     {0.0, 1e-320, 1e-40, 1.5, 14.0, 40.0, 1e15, 1e25, 1e160, 1e200, 1e308, inf})
                    for (const double at : {-size, size}) {
                        CAPTURE(at);
                        Tape tape;
                        const Var x = tape.watch(Tensor::full({}, at, dtype)),
                                  y = call(f, {{f.parameters[0].name, {x}}}, {})[0];
                        const auto [first] = tape.gradient(y, {x}, create_graph);
                        if (first.is_constant()) continue;
                        const auto [second] = tape.gradient(first, {x});
                        const auto value = [](const Tensor& t) {
                            return cast(t, DType::f64).item<double>();
                        };
                        ++seen;
                        if (!std::isnan(value(y.value())) && std::isfinite(value(first.value())))
                            CHECK(!std::isnan(value(second)));
                    }
        }
        CHECK(seen > 1000);
        const auto curvature = [](auto f, double at) {
            Tape tape;
            const Var x = tape.watch(Tensor::full({1}, at, DType::f64));
            const auto [first] = tape.gradient(f(x), {x}, create_graph);
            return tape.gradient(first, {x})[0];
        };
        const auto log_cdf = [](const Var& v) { return log_normal_cdf(v); };
        check(curvature(log_cdf, -inf), {-1});
        check(curvature(log_cdf, inf), {0});
        check(curvature([](const Var& v) { return atan(v); }, 1e100), {-2e-300});
        check(curvature([](const Var& v) { return gelu(v); }, 1e200), {0});
    });
}
