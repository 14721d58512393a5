#include "tests/support/gamma_oracle.h"

#include <algorithm>
#include <vector>

#include "tests/support/mpfr_number.h"

namespace oracle {
namespace {

/// B₂, B₄, … from ζ: B₂ₖ = (−1)ᵏ⁺¹ 2 (2k)! ζ(2k)/(2π)²ᵏ.
const std::vector<Number>& bernoulli() {
    static const std::vector<Number> list = [] {
        std::vector<Number> b;
        Number scale(2.0);
        for (unsigned long k = 1; k <= 25; ++k) {
            scale = scale * double(2 * k) * double(2 * k - 1) / (pi() * pi() * 4.0);
            Number zeta;
            mpfr_zeta_ui(zeta.v, 2 * k, MPFR_RNDN);
            b.push_back(scale * zeta * (k % 2 ? 1.0 : -1.0));
        }
        return b;
    }();
    return list;
}

/// P by its series of positive terms, with as many bits more as 1 − P needs.
Number lower_gamma(const Number& a, const Number& x) {
    const double excess = std::max(0.0, (x - a).to_double());
    const With with(300 + long(1.5 * excess));
    Number sum(1.0), term(1.0), n(a);
    do {
        n = n + 1.0;
        term = term * (x / n);
        sum = sum + term;
    } while (mpfr_get_exp(term.v) > mpfr_get_exp(sum.v) - Number::bits);
    return sum * exp(a * log(x) - x - lngamma(a + 1.0));
}
/// 1 − P; below a = 1 it may itself be as small as a.
Number upper_gamma(const Number& a, const Number& x) {
    const double excess = std::max(0.0, (x - a).to_double());
    const With with(300 + long(1.5 * excess));
    return 1.0 - lower_gamma(a, x);
}

}  // namespace

int gammainc(mpfr_t y, const mpfr_t a, const mpfr_t x, mpfr_rnd_t r) {
    return give(y, lower_gamma(Number(a), Number(x)), r);
}
int gammaincc(mpfr_t y, const mpfr_t a, const mpfr_t x, mpfr_rnd_t r) {
    return give(y, upper_gamma(Number(a), Number(x)), r);
}
int gammaincinv(mpfr_t y, const mpfr_t shape, const mpfr_t at, mpfr_rnd_t r) {
    // Newton's method for log P or log Q in u = log x: concave, so that any start will do.
    const Number a(shape), p(at);
    const bool left = mpfr_cmp_d(at, 0.5) <= 0;
    const Number target = left ? p : 1.0 - p;
    Number u = (log(p) + lngamma(a + 1.0)) / a;
    if (!less(u, log(a)) || !left) u = log(a);
    for (int i = 0; i < 200; ++i) {
        const Number x = exp(u), f = left ? lower_gamma(a, x) : upper_gamma(a, x);
        const Number slope = exp(a * u - x - lngamma(a)) / f;  // of log f, but for the sign
        Number step = log(f / target) / (left ? -slope : slope);
        if (mpfr_cmp_d(step.v, 2) > 0) step = Number(2.0);
        u = u + step;
        if (mpfr_zero_p(step.v) || mpfr_get_exp(step.v) < -100) break;
    }
    return give(y, exp(u), r);
}

int lgamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    int sign;
    return mpfr_lgamma(y, &sign, x, r);
}

int trigamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    Number a(x);
    if (mpfr_inf_p(x) && mpfr_sgn(x) > 0) {
        mpfr_set_zero(y, 1);
        return 0;
    }
    if (mpfr_sgn(x) < 0) {
        if (mpfr_integer_p(x) || mpfr_inf_p(x)) {
            mpfr_set_nan(y);
            return 0;
        }
        Number right, nearest, s;
        trigamma(right.v, 1.0 - a, MPFR_RNDN);
        mpfr_rint(nearest.v, x, MPFR_RNDN);
        mpfr_sin(s.v, (a - nearest) * pi(), MPFR_RNDN);
        return give(y, pi() * pi() / (s * s) - right, r);
    }
    Number sum(0.0);
    for (; mpfr_cmp_d(a.v, 60) < 0; a = a + 1.0) sum = sum + 1.0 / (a * a);
    const Number u = 1.0 / (a * a);
    Number power = u / a;
    sum = sum + 1.0 / a + u * 0.5;
    for (const Number& b : bernoulli()) {
        sum = sum + b * power;
        power = power * u;
    }
    return give(y, sum, r);
}

}  // namespace oracle
