#include "tests/support/normal_oracle.h"

#include <cmath>

#include "tests/support/mpfr_number.h"

namespace oracle {
namespace {

/// z ≥ 0 with erf z = e, erfc z = c = 1 − e; whichever is smaller is the one that counts.
Number inverse(const Number& e, const Number& c) {
    const bool small = less(e, c);
    const double de = e.to_double(), log_c = log(c).to_double();
    const double w = small ? -std::log1p(-de * de) : -log_c - std::log1p(de);
    const double b = 2 / (3.14159265358979 * 0.147) - w / 2;  // Winitzki's start, to 1 in 500
    double z = std::sqrt(std::sqrt(b * b + w / 0.147) - b);
    if (small && de < 1e-3) z = de * 0.886226925452758;
    for (int i = 0; i < 6; ++i) {
        if (small) {
            z -= (std::erf(z) - de) * 0.886226925452758 * std::exp(z * z);
        } else if (z < 25) {
            const double t = std::erfc(z);
            z += (std::log(t) - log_c) * t * 0.886226925452758 * std::exp(z * z);
        } else {  // erfc underflows in double
            const double f = -z * z - std::log(z) - 0.5723649429247001 +
                             std::log1p(-0.5 / (z * z) + 0.75 / (z * z * z * z));
            z -= (f - log_c) / (-2 * z - 1 / z);
        }
    }
    const Number at(z), slope = exp(-(at * at)) * 2.0 / sqrt(pi());
    const Number step = (small ? erf(at) - e : c - erfc(at)) / slope;
    return at - step / (step * at + 1.0);  // f = erf z − e: f'' = −2z f'
}

}  // namespace

int normal_pdf(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    const Number a(x);
    return give(y, exp(a * a * -0.5) / sqrt(pi() * 2.0), r);
}
int normal_cdf(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    return give(y, erfc(-(Number(x) / sqrt(Number(2)))) * 0.5, r);
}
int log_normal_cdf(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    const Number a(x);
    if (mpfr_cmp_d(x, -1e4) < 0) {
        const Number u = 1.0 / (a * a);
        const Number series = log1p(u * (u * (u * -15.0 + 3.0) - 1.0));
        return give(y, a * a * -0.5 - log(-a) - log(pi() * 2.0) * 0.5 + series, r);
    }
    const Number tail = erfc(abs(a) / sqrt(Number(2))) * 0.5;
    return give(y, mpfr_sgn(x) < 0 ? log(tail) : log1p(-tail), r);
}
int erfinv(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    const Number e = abs(Number(x));
    if (mpfr_nan_p(x) || mpfr_cmp_d(e, 1) > 0) {
        mpfr_set_nan(y);
        return 0;
    }
    if (mpfr_cmp_d(e, 1) == 0)
        mpfr_set_inf(y, 1);
    else if (mpfr_zero_p(e.v))
        mpfr_set_zero(y, 1);
    else
        give(y, inverse(e, 1.0 - e), r);
    return mpfr_setsign(y, y, mpfr_signbit(x), r);
}
int normal_icdf(mpfr_t y, const mpfr_t p, mpfr_rnd_t r) {
    if (mpfr_nan_p(p) || mpfr_cmp_d(p, 0) < 0 || mpfr_cmp_d(p, 1) > 0) {
        mpfr_set_nan(y);
        return 0;
    }
    const bool left = mpfr_cmp_d(p, 0.5) < 0;
    const Number q = left ? Number(p) : 1.0 - Number(p);
    if (mpfr_zero_p(q.v)) {
        mpfr_set_inf(y, left ? -1 : 1);
        return 0;
    }
    Number z = inverse(1.0 - q * 2.0, q * 2.0);
    if (mpfr_cmp_d(q, 0.5) == 0) z = Number(0.0);
    z = z * sqrt(Number(2));
    return give(y, left ? -z : z, r);
}

}  // namespace oracle
