// The special functions of two and three arguments against MPFR: values relative to the bound that
// docs/accuracy.md states, first derivatives against quotients of differences in 300 bits.
// MERCER_SPECIAL_POINTS changes the number of points.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "tests/support/beta_oracle.h"
#include "tests/support/emulated.h"
#include "tests/support/every_isa.h"
#include "tests/support/gamma_oracle.h"
#include "tests/support/mpfr_number.h"

namespace {

using namespace mercer;
using oracle::Number;

using Point = std::vector<double>;
std::mt19937_64 engine(7);
double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
}
double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
}

Point gamma_point() {
    // half of them about the mean, where it is hard; the rest anywhere that leaves digits
    if (uniform(0, 1) < 0.5) {
        const double a = log_uniform(1e-3, 3e3), x = a + std::sqrt(a) * uniform(-6, 8);
        if (x > 0) return {a, x};
    }
    const double a = log_uniform(1e-3, 200);
    return {a, a * log_uniform(0.2, 4)};
}
Point gamma_quantile() {
    return {log_uniform(1e-2, 200),
            uniform(0, 1) < 0.5 ? uniform(0, 0.999) : log_uniform(1e-30, 1)};
}
Point beta_point() {
    const double a = log_uniform(1e-2, 1e3), b = log_uniform(1e-2, 1e3), mean = a / (a + b);
    const double spread = std::sqrt(mean * (1 - mean) / (a + b + 1)) * uniform(-6, 6);
    const double x = uniform(0, 1) < 0.5 ? mean + spread : uniform(0, 1);
    return {a, b, x > 0 && x < 1 ? x : uniform(0.01, 0.99)};
}
Point beta_quantile() {
    return {log_uniform(0.05, 1e3), log_uniform(0.05, 1e3), uniform(0.001, 0.999)};
}
Point bivariate_point() {
    const double rho = uniform(0, 1) < 0.5
                           ? uniform(-1, 1)
                           : (uniform(0, 1) < 0.5 ? -1 : 1) * (1 - log_uniform(1e-6, 0.1));
    const double h = uniform(-6, 6);
    return {h, uniform(0, 1) < 0.5 ? uniform(-6, 6) : h + uniform(-0.1, 0.1), rho};
}

struct Subject {
    std::string name;
    Var (*f)(const std::vector<Var>&);
    void (*exact)(Number&, const std::vector<Number>&);
    Point (*point)();
    double relative, absolute, float_relative;  // |error| ≤ relative·|exact| + absolute
    bool slopes;
    double slope_floor = 0;  // below it a slope is judged absolutely: the oracle is
};
#define EXACT_2(f) \
    [](Number& y, const std::vector<Number>& x) { oracle::f(y.v, x[0].v, x[1].v, MPFR_RNDN); }
#define EXACT_3(f)                                         \
    [](Number& y, const std::vector<Number>& x) {          \
        oracle::f(y.v, x[0].v, x[1].v, x[2].v, MPFR_RNDN); \
    }
#define CALL_2(f) [](const std::vector<Var>& x) { return f(x[0], x[1]); }
#define CALL_3(f) [](const std::vector<Var>& x) { return f(x[0], x[1], x[2]); }
const Subject subjects[] = {
    {"gammainc", CALL_2(gammainc), EXACT_2(gammainc), gamma_point, 1e-13, 1e-300, 1e-7, true},
    {"gammaincc", CALL_2(gammaincc), EXACT_2(gammaincc), gamma_point, 1e-13, 1e-300, 1e-7, true},
    {"gammaincinv", CALL_2(gammaincinv), EXACT_2(gammaincinv), gamma_quantile, 2e-13, 1e-300, 1e-7,
     false},
    {"betainc", CALL_3(betainc), EXACT_3(betainc), beta_point, 2e-13, 1e-15, 1e-7, true},
    {"betaincinv", CALL_3(betaincinv), EXACT_3(betaincinv), beta_quantile, 1e-13, 1e-16, 1e-7,
     false},
    {"bivariate_normal_cdf", CALL_3(bivariate_normal_cdf), EXACT_3(bivariate_normal_cdf),
     bivariate_point, 1e-15, 2e-15, 1e-7, true, 1e-5},
};

struct Sample {
    std::vector<std::vector<double>> columns;
    std::vector<Tensor> tensors;
};
Sample sample(const Subject& s, size_t n, DType dtype) {
    const size_t arity = s.point().size();
    Sample out{std::vector<std::vector<double>>(arity), {}};
    for (size_t i = 0; i < n; ++i) {
        const Point p = s.point();
        for (size_t k = 0; k < arity; ++k)
            out.columns[k].push_back(dtype == DType::f32 ? double(float(p[k])) : p[k]);
    }
    for (const auto& c : out.columns)
        out.tensors.push_back(cast(Tensor::from(c, {int64_t(n)}), dtype));
    return out;
}
std::vector<Number> row(const Sample& s, size_t i) {
    std::vector<Number> x;
    for (const auto& c : s.columns) x.emplace_back(c[i]);
    return x;
}
size_t points() {
    const char* text = std::getenv("MERCER_SPECIAL_POINTS");
    return text ? size_t(std::atof(text)) : emulated ? 16 : 100;
}

void check_values(const Subject& s, DType dtype) {
    const Sample in = sample(s, points(), dtype);
    std::vector<Var> x(in.tensors.begin(), in.tensors.end());
    const std::vector<double> got = s.f(x).value().to_vector<double>();
    const bool single = dtype == DType::f32;
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        Number y;
        s.exact(y, row(in, i));
        const double exact = y.to_double(), error = std::abs((Number(got[i]) - y).to_double());
        // Below the smallest normal float digits are lost by the format.
        const double bound = (single ? s.float_relative : s.relative) * std::abs(exact) +
                             std::max(s.absolute, single ? 1e-44 : 0.0);
        if (!(error / bound <= worst)) {
            worst = error / bound;
            where = i;
        }
    }
    std::string at;
    for (const auto& c : in.columns) at += " " + std::to_string(c[where]);
    CHECK_MESSAGE(worst <= 1, s.name, single ? " f32" : " f64", ": ", worst, " of the bound at",
                  at);
    MESSAGE(s.name << (single ? " f32: " : " f64: ") << worst << " of the bound at" << at);
}

void check_slopes(const Subject& s) {
    const Sample in = sample(s, points() / 8, DType::f64);
    Tape tape;
    std::vector<Var> x;
    for (const Tensor& t : in.tensors) x.push_back(tape.watch(t));
    const auto gradients = tape.gradient(sum(s.f(x)), x);
    for (size_t k = 0; k < x.size(); ++k) {
        const std::vector<double> got = gradients[k].to_vector<double>();
        double worst = 0;
        std::string at;
        for (size_t i = 0; i < got.size(); ++i) {
            std::vector<Number> up = row(in, i), down = up;
            const double h = std::ldexp(std::abs(in.columns[k][i]) + 1e-3, -40);
            up[k] = up[k] + h;
            down[k] = down[k] - h;
            Number high, low, middle;
            s.exact(high, up);
            s.exact(low, down);
            s.exact(middle, row(in, i));
            const double exact = ((high - low) / (2 * h)).to_double();
            // Relative to the slope, and to what a change of the argument by 1e-3 of itself does.
            const double scale = std::abs(exact) + 1e-3 * std::abs(middle.to_double()) /
                                                       (std::abs(in.columns[k][i]) + 1e-3);
            const double error = std::abs(got[i] - exact) / (scale + s.slope_floor + 1e-290);
            if (!(error <= worst)) {
                worst = error;
                at.clear();
                for (const auto& c : in.columns) at += " " + std::to_string(c[i]);
            }
        }
        CHECK_MESSAGE(worst <= 3e-13, s.name, ": derivative ", k, " off by ", worst, " at", at);
        MESSAGE(s.name << ": derivative " << k << ", largest relative error " << worst << " at"
                       << at);
    }
}

}  // namespace

TEST_CASE("special functions of several arguments: values") {
    reduced_under_emulation("16 of 100 points of each function");
    for (const Subject& s : subjects)
        for (const DType dtype : {DType::f64, DType::f32}) check_values(s, dtype);
}

TEST_CASE("special functions of several arguments: derivatives") {
    const oracle::With with(300);
    for (const Subject& s : subjects)
        if (s.slopes) check_slopes(s);
}

TEST_CASE("special functions of several arguments: limits") {
    const double inf = INFINITY, nan = NAN;
    const auto one = [](Tensor (*f)(const Tensor&, const Tensor&), double a, double b) {
        return f(Tensor::from(std::vector<double>{a}, {1}),
                 Tensor::from(std::vector<double>{b}, {1}))
            .to_vector<double>()[0];
    };
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    struct Two {
        Tensor (*f)(const Tensor&, const Tensor&);
        double a, b, want;
    };
    for (const Two& t : {Two{gammainc, 2, 0, 0},
                         {gammainc, 2, inf, 1},
                         {gammainc, 0, 1, 1},
                         {gammainc, inf, 1, 0},
                         {gammainc, 0, 0, nan},
                         {gammainc, inf, inf, nan},
                         {gammainc, -1, 1, nan},
                         {gammainc, 1, -1, nan},
                         {gammainc, nan, 1, nan},
                         {gammaincc, 2, 0, 1},
                         {gammaincc, 2, inf, 0},
                         {gammaincinv, 2, 0, 0},
                         {gammaincinv, 2, 1, inf},
                         {gammaincinv, 2, 1.5, nan},
                         {gammaincinv, -1, 0.5, nan}}) {
        CAPTURE(t.a);
        CAPTURE(t.b);
        CHECK(same(one(t.f, t.a, t.b), t.want));
    }
    const auto three = [](Tensor (*f)(const Tensor&, const Tensor&, const Tensor&), double a,
                          double b, double c) {
        const auto number = [](double x) { return Tensor::from(std::vector<double>{x}, {1}); };
        return f(number(a), number(b), number(c)).to_vector<double>()[0];
    };
    CHECK(three(betainc, 2, 3, 0) == 0);
    CHECK(three(betainc, 2, 3, 1) == 1);
    CHECK(three(betainc, 0, 3, 0.5) == 1);
    CHECK(three(betainc, 2, inf, 0.5) == 1);
    CHECK(std::isnan(three(betainc, 2, 3, 1.5)));
    CHECK(std::isnan(three(betainc, -2, 3, 0.5)));
    CHECK(three(betaincinv, 2, 3, 0) == 0);
    CHECK(three(betaincinv, 2, 3, 1) == 1);
    CHECK(three(bivariate_normal_cdf, inf, inf, 0.5) == 1);
    CHECK(three(bivariate_normal_cdf, -inf, 1, 0.5) == 0);
    CHECK(three(bivariate_normal_cdf, 0, inf, -0.3) == 0.5);
    CHECK(three(bivariate_normal_cdf, 0, 1, 1) == 0.5);
    CHECK(three(bivariate_normal_cdf, 0, 0, -1) == 0);
    CHECK(std::isnan(three(bivariate_normal_cdf, 0, 0, 1.5)));
    CHECK(std::isnan(three(bivariate_normal_cdf, nan, 0, 0.5)));
}

TEST_CASE("inverses where a tail or the root vanishes") {
    const auto row = [](const Point& x) { return Tensor::from(x, {int64_t(x.size())}); };
    // Roots below the smallest number are 0, subnormal ones keep what digits they have; mpmath.
    const Point small = gammaincinv(row({0.01, 0.0888, 231.07708469395325, 1e5}),
                                    row({1e-4, 3.63e-29, 1.9049948188139988e-262, 5e-324}))
                            .to_vector<double>();
    CHECK(small[0] == 0);
    CHECK(small[1] > 3.0e-321);
    CHECK(small[1] < 3.5e-321);
    CHECK(small[2] == doctest::Approx(6.5455084663113276).epsilon(1e-12));
    CHECK(gammainc(row({1e5}), row({small[3]})).to_vector<double>()[0] < 1e-300);
    for (double p : {1 - 0x1p-11, 1 - 0x1p-52})
        CHECK(betaincinv(row({2}), row({0.01}), row({p})).to_vector<double>()[0] == 1);
}

TEST_CASE("derivatives far out") {
    const double inf = HUGE_VAL;
    const auto gradient = [](auto f, const Point& at) {
        Tape tape;
        std::vector<Var> x;
        for (double v : at) x.push_back(tape.watch(Tensor::scalar(v, DType::f64)));
        Point out;
        for (const Tensor& g : tape.gradient(f(x), x)) out.push_back(g.item<double>());
        return out;
    };
    const auto angle = [](const std::vector<Var>& x) { return atan2(x[0], x[1]); };
    const auto both = [](const std::vector<Var>& x) {
        return bivariate_normal_cdf(x[0], x[1], x[2]);
    };
    for (const Point& at : {Point{1, inf}, {inf, 1}, {-inf, inf}})
        CHECK(gradient(angle, at) == Point{0, 0});
    CHECK(gradient(both, {inf, inf, 0.5}) == Point{0, 0, 0});
    CHECK(gradient(both, {inf, -inf, 0}) == Point{0, 0, 0});
    const auto sign = [](const std::vector<Var>& x) { return softsign(x[0]); };
    for (double x : {1e3, -1e8, 1e16})
        CHECK(gradient(sign, {x})[0] ==
              doctest::Approx(1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)))).epsilon(1e-15));
    for (double x : {6.0, -20.0, 26.0})  // x² has lost digits
        CHECK(gradient([](const std::vector<Var>& v) { return erf(v[0]); }, {x})[0] ==
              -gradient([](const std::vector<Var>& v) { return erfc(v[0]); }, {x})[0]);
    CHECK(gradient([](const std::vector<Var>& v) { return erf(v[0]); }, {-20})[0] ==
          doctest::Approx(2.1610374743867985e-174).epsilon(1e-15));
    const auto power = [](const std::vector<Var>& x) { return pow(x[0], x[1]); };
    CHECK(gradient(power, {0, -1}) == Point{-inf, -inf});
    CHECK(gradient(power, {0, 0}) == Point{0, 0});
    CHECK(gradient(power, {0, 2}) == Point{0, 0});
    CHECK(gradient(power, {inf, -1}) == Point{0, 0});
    CHECK(gradient(power, {.5, inf}) == Point{0, 0});
    CHECK(gradient(power, {2, -inf}) == Point{0, 0});
    // A power that is 0 may bend there.
    const auto bend = [](double x, double y) {
        Tape tape;
        const Var at = tape.watch(Tensor::scalar(x, DType::f64));
        const auto [first] =
            tape.gradient(pow(at, Var(Tensor::scalar(y, DType::f64))), {at}, create_graph);
        return tape.gradient(first, {at})[0].item<double>();
    };
    CHECK(bend(0, 2) == 2);
    CHECK(bend(0, 3) == 0);
    CHECK(bend(-2, 3) == -12);
    CHECK(bend(-2, 2) == 2);
    const auto arcosh = [](const std::vector<Var>& x) { return acosh(x[0]); };
    CHECK(std::isnan(gradient(arcosh, {-3})[0]));
    CHECK(gradient(arcosh, {3})[0] == doctest::Approx(1 / std::sqrt(8.)).epsilon(1e-15));
    // ∂P/∂a for a → 0 is −E₁(x), without a part of 1/a.
    const auto lower = [](const std::vector<Var>& x) { return gammainc(x[0], x[1]); };
    for (const auto& [x, e] : {std::pair{.5, .55977359477616081175},
                               {1., .21938393439552027368},
                               {.01, 4.0379295765381134}})
        for (const double a : {1e-9, 1e-13, 1e-16, 1e-18, 1e-100, 1e-300})
            CHECK(gradient(lower, {a, x})[0] == doctest::Approx(-e).epsilon(1e-7));
    CHECK(gammainc(Tensor::scalar(1e-18, DType::f64), Tensor::scalar(.5, DType::f64))
              .item<double>() == 1);
    CHECK_THROWS_AS(cholesky(Tensor::full({1, 1}, inf, DType::f64)), Error);
}

TEST_CASE("slopes of gammainc in a where P is 1 and x^a e^-x/Γ(a) nothing") {
    on_every_isa([] {
        for (const auto& [a, x, slope, bend] :
             {std::array{1e-300, 60., -1.4358675656812568e-28, -1.3461836854066780e-27},
              {1e-30, 600., -4.4099897945098380e-264, -6.1526470623998385e-263}}) {
            Tape tape;
            const Var at = tape.watch(Tensor::scalar(a, DType::f64));
            const Var y = gammainc(at, Var(Tensor::scalar(x, DType::f64)));
            const auto [first] = tape.gradient(y, {at}, create_graph);
            CHECK(std::abs(first.value().item<double>() / slope - 1) < 1e-12);
            CHECK(std::abs(tape.gradient(first, {at})[0].item<double>() / bend - 1) < 1e-12);
        }
    });
}

TEST_CASE("floats of gammainc and gammaincc are doubles rounded once, slopes in a as well") {
    std::vector<double> shapes, arguments;
    for (const double a : {0x1p-126, 1e-30, 1e-20, 1e-5, 1e-3, 0x1.fffp-7, 0x1.001p-6, .02, .1,
                           .2499, .2501, .5, .999, 1., 1.5, 3., 30., 90.})
        for (const double x : {1e-3, .1, .5, 1., 1.099, 1.101, 1.5, 2., 3., 5., 20., 31., 60., 91.})
            shapes.push_back(double(float(a))), arguments.push_back(double(float(x)));
    const auto results = [&](DType dtype) {
        Tape tape;
        const auto take = [&](const std::vector<double>& v) {
            return cast(Tensor::from(v, {int64_t(v.size())}), dtype);
        };
        const Var a = tape.watch(take(shapes)), x = take(arguments);
        const Var p = gammainc(a, x);
        const Tensor q = gammaincc(a.value(), x.value()), slope = tape.gradient(sum(p), {a})[0];
        return concat({cast(p.value(), DType::f64), cast(q, DType::f64), cast(slope, DType::f64)},
                      0)
            .to_vector<double>();
    };
    on_every_isa([&] {
        const std::vector<double> got = results(DType::f32), exact = results(DType::f64);
        for (size_t i = 0; i < got.size(); ++i) {
            CAPTURE(i / shapes.size());
            CAPTURE(shapes[i % shapes.size()]);
            CAPTURE(arguments[i % shapes.size()]);
            const double unit = std::ldexp(1., std::max(std::ilogb(exact[i]), -126) - 23);
            CHECK(std::abs(got[i] - exact[i]) <= .52 * unit);
        }
    });
}

TEST_CASE("second derivatives of gammainc in a, small ones too") {
    const oracle::With with(400);
    const auto exact = [](double a, double x) {
        const double h = 0x1p-70;
        Number y[3];
        for (const int i : {0, 1, 2})
            oracle::gammainc(y[i], Number(a) + (i - 1) * h, Number(x), MPFR_RNDN);
        const Number second = (y[0] - y[1]) + (y[2] - y[1]);
        return (second / h / h).to_double();
    };
    on_every_isa([&] {
        double worst = 0;
        for (const double a : {1e-12, 1e-6, 1e-3, .1, .2499, .25, .5, 3.0})
            for (const double x : {.01, 1.0, 1.099, 1.1, 1.5, 5.0, 50.0}) {
                Tape tape;
                const Var at = tape.watch(Tensor::scalar(a, DType::f64));
                const Var y = gammainc(at, Var(Tensor::scalar(x, DType::f64)));
                const auto [first] = tape.gradient(y, {at}, create_graph);
                const double got = tape.gradient(first, {at})[0].item<double>(), d = exact(a, x);
                worst = std::max(worst, std::abs(got / d - 1));
            }
        CHECK(worst < 1e-13);
        MESSAGE("second derivatives of gammainc in a: " << worst);
    });
}

TEST_CASE("clamp between ends out of order is min(max(x, low), high)") {
    const Tensor x = Tensor::from(std::vector<double>{-1, 0, 1.5, 3}),
                 low = Tensor::scalar(2, DType::f64), high = Tensor::scalar(1, DType::f64);
    const Tensor y = clamp(x, low, high);
    for (int64_t i = 0; i < 4; ++i) CHECK(y.data<double>()[i] == 1);
}

TEST_CASE(
    "slopes of inverses in f32 are those of the exact point, not of the number it rounds to") {
    on_every_isa([] {
        const auto slopes = [](DType dtype, auto f, const Point& at) {
            Tape tape;
            std::vector<Var> x;
            for (const double v : at) x.push_back(tape.watch(Tensor::scalar(float(v), dtype)));
            Point out;
            for (const Tensor& g : tape.gradient(f(x), x))
                out.push_back(cast(g, DType::f64).item<double>());
            return out;
        };
        const auto beta = [](const std::vector<Var>& x) { return betaincinv(x[0], x[1], x[2]); };
        const auto gamma = [](const std::vector<Var>& x) { return gammaincinv(x[0], x[1]); };
        const auto agree = [&](auto f, const Point& at) {
            const Point narrow = slopes(DType::f32, f, at), wide = slopes(DType::f64, f, at);
            for (size_t i = 0; i < at.size(); ++i)
                if (std::abs(wide[i]) > 1e-37)  // else it loses digits as it is rounded
                    CHECK(narrow[i] / wide[i] == doctest::Approx(1).epsilon(1e-6));
        };
        for (const Point& at : {Point{42.8487663, 0.0782647207, 0.734170496},
                                {3, .2, .9},
                                {1000, .05, .5},
                                {.5, .5, .999}})
            agree(beta, at);
        for (const Point& at : {Point{0.41317397, 1.12979e-19}, {818.83, 1e-30}, {2, .5}})
            agree(gamma, at);
    });
}

TEST_CASE("lerp is exact at its ends, also where their difference is beyond the numbers") {
    const auto number = [](double x) { return Tensor::scalar(x, DType::f64); };
    CHECK(lerp(number(2), number(2), number(1.5e308)).item<double>() == 2);
    CHECK(lerp(number(1), number(2), number(-1.5e308)).item<double>() == -1.5e308);
    for (const double t : {0., 1.})
        for (const double a : {1e308, -1e308}) {
            const Tensor at = Tensor::scalar(t, DType::f64);
            CHECK(lerp(Tensor::scalar(a, DType::f64), Tensor::scalar(-a, DType::f64), at)
                      .item<double>() == (t == 0 ? a : -a));
        }
}
