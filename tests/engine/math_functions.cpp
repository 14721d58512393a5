#include "math_functions.h"

#include <cmath>
#include <limits>

#include "tests/support/gamma_oracle.h"
#include "tests/support/normal_oracle.h"

namespace mercer::test {
namespace {

// R is double, for floats, or long double, for doubles.
template <class R>
constexpr R sqrt_half = R(0.707106781186547524400844362104849039L);
template <class R>
constexpr R half_sqrt_pi = R(0.886226925452758013649083741670572591L);
template <class R>
constexpr R pi = R(3.14159265358979323846264338327950288L);
template <class R>
constexpr R half_log_two_pi = R(0.918938533204672741780329736405617640L);

template <class R>
R normal_cdf(R x) {
    const R z = -x * sqrt_half<R>, y = std::erfc(z) / 2;
    if (sizeof(R) == 8 || !(std::fabs(x) < 150)) return y;
    // What √½ and the product lost, which the tail would magnify.
    constexpr R rest = std::numeric_limits<R>::digits == 64 ? R(1.89503255889325708e-20L) : R(0);
    const R lost = std::fma(-x, sqrt_half<R>, -z) - x * rest;
    return y - std::exp(-z * z) / (2 * half_sqrt_pi<R>)*lost;
}
template <class R>
R normal_pdf(R x) {
    return R(0.398942280401432677939946059934381868L) * std::exp(-x * x / 2);
}
template <class R>
R log_normal_cdf(R x) {
    if (x > 0) return std::log1p(-normal_cdf(-x));
    if (x > (sizeof(R) == 8 ? -35 : -100)) return std::log(normal_cdf(x));
    const R u = 1 / (x * x);
    return -x * x / 2 - std::log(-x) - half_log_two_pi<R> +
           std::log1p(u * (-1 + u * (3 - u * (15 - u * (105 - u * 945)))));
}
/// z ≥ 0 with erf z = e or erfc z = c, whichever is smaller, by Newton's method.
template <class R>
R inverse(R e, R c) {
    const R w = e < c ? -std::log1p(-e * e) : -std::log(c) - std::log1p(e);
    const R b = 2 / (pi<R> * R(0.147)) - w / 2;  // Winitzki's start, to 1 in 500
    R z = e < R(1e-3) ? e * half_sqrt_pi<R> : std::sqrt(std::sqrt(b * b + w / R(0.147)) - b);
    for (int i = 0; i < (sizeof(R) == 8 ? 3 : 4); ++i) {
        const R slope = half_sqrt_pi<R> * std::exp(z * z);
        if (e < c) {
            z -= (std::erf(z) - e) * slope;
        } else {
            const R t = std::erfc(z);
            z += std::log(t / c) * t * slope;
        }
    }
    return z;
}
template <class R>
R erfinv(R x) {
    const R e = std::fabs(x);
    if (!(e < 1)) return e == 1 ? x * R(INFINITY) : R(NAN);
    return x == 0 ? x : std::copysign(inverse(e, 1 - e), x);
}
template <class R>
R normal_icdf(R p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -R(INFINITY) : p == 1 ? R(INFINITY) : R(NAN);
    if (p == R(0.5)) return 0;
    const R q = p < R(0.5) ? p : 1 - p, z = inverse(1 - 2 * q, 2 * q) / sqrt_half<R>;
    return p < R(0.5) ? -z : z;
}

double lgamma(double x) {
    int sign;
    return ::lgamma_r(x, &sign);
}
long double lgamma_long(long double x) {
    int sign;
    return ::lgammal_r(x, &sign);
}
/// x's signed distance to an integer.
template <class R>
R distance(R x) {
    return x - std::nearbyint(x);
}
long double digamma_long(long double x) {
    if (std::isinf(x) || x == 0) return x > 0 ? x : x == 0 ? -1 / x : NAN;
    if (x < 0) {
        const long double r = distance(x);
        return r == 0 ? NAN : digamma_long(1 - x) - pi<long double> / std::tan(pi<long double> * r);
    }
    long double y = x, sum = 0;
    for (; y < 16; ++y) sum += 1 / y;
    const long double u = 1 / (y * y);
    const long double series =
        u *
        (1.L / 12 -
         u * (1.L / 120 -
              u * (1.L / 252 -
                   u * (1.L / 240 - u * (1.L / 132 - u * (691.L / 32760 -
                                                          u * (1.L / 12 - u * 3617 / 8160)))))));
    return std::log(y) - 0.5L / y - series - sum;
}
double digamma(double x) { return double(digamma_long(x)); }
template <class R>
R trigamma(R x) {
    if (x == 0 || std::isinf(x)) return x == 0 ? R(INFINITY) : x > 0 ? R(0) : R(NAN);
    if (x < 0) {
        const R r = distance(x), s = std::sin(pi<R> * r);
        return r == 0 ? R(NAN) : pi<R> * pi<R> / (s * s) - trigamma(1 - x);
    }
    R y = x, sum = 0;
    for (; y < 16; ++y) sum += 1 / (y * y);
    const R u = 1 / (y * y);
    R series = 0;  // the Bernoulli numbers in size, from the eighteenth to the second
    for (const R b : {R(43867) / 798, R(3617) / 510, R(7) / 6, R(691) / 2730, R(5) / 66, R(1) / 30,
                      R(1) / 42, R(1) / 30, R(1) / 6})
        series = b - u * series;
    return sum + 1 / y + u / 2 + u / y * series;
}

/// x·Φ(x)
int gelu_exact(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    oracle::normal_cdf(y, x, r);
    if (!mpfr_zero_p(y)) return mpfr_mul(y, y, x, r);
    mpfr_set_zero(y, -1);
    return 0;
}
template <class R>
R gelu(R x) {
    return std::isinf(x) && x < 0 ? -R(0) : x * normal_cdf(x);
}

const Function list[] = {
    {"exp", math_exp, mpfr_exp, std::exp, -750, 715, 1.0, 1.0},
    {"log", math_log, mpfr_log, std::log, 0, 20, 1.0, 1.0},
    {"log1p", math_log1p, mpfr_log1p, std::log1p, -1, 20, 1.0, 1.0},
    {"expm1", math_expm1, mpfr_expm1, std::expm1, -45, 715, 1.0, 1.1},
    {"sin", math_sin, mpfr_sin, std::sin, -100, 100, 1.0, 1.0},
    {"cos", math_cos, mpfr_cos, std::cos, -100, 100, 1.0, 1.0},
    {"tanh", math_tanh, mpfr_tanh, std::tanh, -20, 20, 1.4, 1.4},
    {"erf", math_erf, mpfr_erf, std::erf, -6, 6, 1.0, 1.1},
    {"erfc", math_erfc, mpfr_erfc, std::erfc, -6, 28, 1.5, 4.0, nullptr, std::erfc},
    {"erfinv", math_erfinv, oracle::erfinv, erfinv<double>, -1, 1, 3.0, 4.0, nullptr, erfinv},
    {"normal_pdf", math_normal_pdf, oracle::normal_pdf, normal_pdf<double>, -40, 40, 1.0, 2.0},
    {"normal_cdf", math_normal_cdf, oracle::normal_cdf, normal_cdf<double>, -40, 9, 1.5, 4.0,
     nullptr, normal_cdf},
    {"log_normal_cdf", math_log_normal_cdf, oracle::log_normal_cdf, log_normal_cdf<double>, -50, 40,
     1.0, 4.0, nullptr, log_normal_cdf},
    {"lgamma", math_lgamma, oracle::lgamma, lgamma, -20, 40, 1.0, 4.0,
     [](double x) { return 1 + lgamma(1 - x); }, lgamma_long},
    {"digamma", math_digamma, mpfr_digamma, digamma, -20, 40, 1.0, 4.0,
     [](double x) {
         return 1 + std::log1p(-x) + std::fabs(3.14 / std::tan(3.14159265358979 * distance(x)));
     },
     [](long double x) {  // not by its zero
         return std::fabs(x - 1.46L) < 0.1L ? NAN : digamma_long(x);
     }},
    {"trigamma", math_trigamma, oracle::trigamma, trigamma<double>, -20, 40, 1.0, 4.0, nullptr,
     trigamma},
    {"normal_icdf", math_normal_icdf, oracle::normal_icdf, normal_icdf<double>, 0, 1, 3.5, 4.0,
     nullptr, normal_icdf},
    {"gelu", math_gelu, gelu_exact, gelu<double>, -10, 10, 1.7, 4.0,
     [](double x) { return std::fabs(x); }, gelu},
    {"exp2", math_exp2, mpfr_exp2, std::exp2, -1080, 1030, 1.0, 1.0},
    {"log2", math_log2, mpfr_log2, std::log2, 0, 20, 1.1, 1.0},
    {"log10", math_log10, mpfr_log10, std::log10, 0, 20, 1.0, 1.0},
    {"tan", math_tan, mpfr_tan, std::tan, -100, 100, 1.2, 1.2},
    {"asin", math_asin, mpfr_asin, std::asin, -1, 1, 1.2, 1.2},
    {"acos", math_acos, mpfr_acos, std::acos, -1, 1, 1.2, 1.2},
    {"atan", math_atan, mpfr_atan, std::atan, -5, 5, 1.4, 1.4},
    {"sinh", math_sinh, mpfr_sinh, std::sinh, -715, 715, 1.0, 1.0},
    {"cosh", math_cosh, mpfr_cosh, std::cosh, -715, 715, 1.0, 1.0},
    {"asinh", math_asinh, mpfr_asinh, std::asinh, -20, 20, 1.1, 1.1},
    {"acosh", math_acosh, mpfr_acosh, std::acosh, 1, 20, 1.0, 1.0},
    {"atanh", math_atanh, mpfr_atanh, std::atanh, -1, 1, 1.1, 1.1},
};

}  // namespace

std::span<const Function> functions() { return list; }

}  // namespace mercer::test
