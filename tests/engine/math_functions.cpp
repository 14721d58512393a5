#include "math_functions.h"

#include <cmath>

#include "tests/support/gamma_oracle.h"
#include "tests/support/normal_oracle.h"

namespace mercer::test {
namespace {

constexpr double sqrt_half = 0.70710678118654752440, half_sqrt_pi = 0.88622692545275801365;

double normal_cdf(double x) { return 0.5 * std::erfc(-x * sqrt_half); }
double normal_pdf(double x) { return 0.3989422804014326779 * std::exp(-0.5 * x * x); }
double log_normal_cdf(double x) {
    if (x > 0) return std::log1p(-0.5 * std::erfc(x * sqrt_half));
    if (x > -35) return std::log(0.5 * std::erfc(-x * sqrt_half));
    const double u = 1 / (x * x);
    return -0.5 * x * x - std::log(-x) - 0.91893853320467274178 +
           std::log1p(u * (-1 + u * (3 - u * 15)));
}
/// z ≥ 0 with erf z = e or erfc z = c, whichever is smaller, by Newton's method.
double inverse(double e, double c) {
    const double w = e < c ? -std::log1p(-e * e) : -std::log(c) - std::log1p(e);
    const double b = 2 / (3.14159265358979 * 0.147) - w / 2;  // Winitzki's start, to 1 in 500
    double z = e < 1e-3 ? e * half_sqrt_pi : std::sqrt(std::sqrt(b * b + w / 0.147) - b);
    for (int i = 0; i < 3; ++i) {
        const double slope = half_sqrt_pi * std::exp(z * z);
        if (e < c) {
            z -= (std::erf(z) - e) * slope;
        } else {
            const double t = std::erfc(z);
            z += std::log(t / c) * t * slope;
        }
    }
    return z;
}
double erfinv(double x) {
    const double e = std::fabs(x);
    if (!(e < 1)) return e == 1 ? x * INFINITY : NAN;
    return x == 0 ? x : std::copysign(inverse(e, 1 - e), x);
}
double normal_icdf(double p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    if (p == 0.5) return 0;
    const double q = p < 0.5 ? p : 1 - p, z = inverse(1 - 2 * q, 2 * q) / sqrt_half;
    return p < 0.5 ? -z : z;
}

double lgamma(double x) {
    int sign;
    return ::lgamma_r(x, &sign);
}
/// x's signed distance to an integer.
double distance(double x) { return x - std::nearbyint(x); }
double digamma(double x) {
    constexpr long double pi = 3.14159265358979323846L;
    if (std::isinf(x) || x == 0) return x > 0 ? x : x == 0 ? -1 / x : NAN;
    if (x < 0) {
        const long double r = distance(x);
        return r == 0 ? NAN : double(digamma(1 - x) - pi / std::tan(pi * r));
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
    return double(std::log(y) - 0.5L / y - series - sum);
}
double trigamma(double x) {
    constexpr double pi = 3.14159265358979323846;
    if (x == 0 || std::isinf(x)) return x == 0 ? INFINITY : x > 0 ? 0 : NAN;
    if (x < 0) {
        const double r = distance(x), s = std::sin(pi * r);
        return r == 0 ? NAN : pi * pi / (s * s) - trigamma(1 - x);
    }
    double y = x, sum = 0;
    for (; y < 16; ++y) sum += 1 / (y * y);
    const double u = 1 / (y * y);
    return sum + 1 / y + u / 2 +
           u / y *
               (1. / 6 -
                u * (1. / 30 - u * (1. / 42 - u * (1. / 30 - u * (5. / 66 - u * (691. / 2730 -
                                                                                 u * 7. / 6))))));
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
    {"erfc", math_erfc, mpfr_erfc, std::erfc, -6, 28, 1.5, 4.0},
    {"erfinv", math_erfinv, oracle::erfinv, erfinv, -1, 1, 3.0, 4.0},
    {"normal_pdf", math_normal_pdf, oracle::normal_pdf, normal_pdf, -40, 40, 1.0, 2.0},
    {"normal_cdf", math_normal_cdf, oracle::normal_cdf, normal_cdf, -40, 9, 1.5, 4.0},
    {"log_normal_cdf", math_log_normal_cdf, oracle::log_normal_cdf, log_normal_cdf, -50, 40, 1.0,
     4.0},
    {"lgamma", math_lgamma, oracle::lgamma, lgamma, -20, 40, 1.0, 4.0,
     [](double x) { return 1 + lgamma(1 - x); }},
    {"digamma", math_digamma, mpfr_digamma, digamma, -20, 40, 1.0, 4.0,
     [](double x) {
         return 1 + std::log1p(-x) + std::fabs(3.14 / std::tan(3.14159265358979 * distance(x)));
     }},
    {"trigamma", math_trigamma, oracle::trigamma, trigamma, -20, 40, 1.0, 4.0},
    {"normal_icdf", math_normal_icdf, oracle::normal_icdf, normal_icdf, 0, 1, 3.5, 4.0},
    {"exp2", math_exp2, mpfr_exp2, std::exp2, -1080, 1030, 1.0, 1.0},
    {"log2", math_log2, mpfr_log2, std::log2, 0, 20, 1.1, 1.0},
    {"log10", math_log10, mpfr_log10, std::log10, 0, 20, 1.0, 1.0},
    {"tan", math_tan, mpfr_tan, std::tan, -100, 100, 1.2, 1.2},
    {"asin", math_asin, mpfr_asin, std::asin, -1, 1, 1.2, 1.2},
    {"acos", math_acos, mpfr_acos, std::acos, -1, 1, 1.2, 1.2},
    {"atan", math_atan, mpfr_atan, std::atan, -5, 5, 1.4, 1.4},
    {"sinh", math_sinh, mpfr_sinh, std::sinh, -715, 715, 1.0, 1.0},
    {"cosh", math_cosh, mpfr_cosh, std::cosh, -715, 715, 1.0, 1.0},
    {"asinh", math_asinh, mpfr_asinh, std::asinh, -20, 20, 1.3, 1.3},
    {"acosh", math_acosh, mpfr_acosh, std::acosh, 1, 20, 1.2, 1.2},
    {"atanh", math_atanh, mpfr_atanh, std::atanh, -1, 1, 1.3, 1.3},
};

}  // namespace

std::span<const Function> functions() { return list; }

}  // namespace mercer::test
