#include "tests/support/gamma_oracle.h"

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

}  // namespace

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
