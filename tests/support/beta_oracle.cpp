#include "tests/support/beta_oracle.h"

#include <vector>

#include "tests/support/mpfr_number.h"

namespace oracle {
namespace {

Number log_beta(const Number& a, const Number& b) {
    return lngamma(a) + lngamma(b) - lngamma(a + b);
}

/// I at x = 1 − y by its series of positive terms, x^a y^b/aB Σ (a + b)ₙ/(a + 1)ₙ xⁿ.
Number series(const Number& a, const Number& b, const Number& x, const Number& y) {
    Number sum(1.0), term(1.0), n(a), s = a + b;
    do {
        n = n + 1.0;
        term = term * (x * s / n);
        s = s + 1.0;
        sum = sum + term;
    } while (!less(x * s, n) || mpfr_get_exp(term.v) > mpfr_get_exp(sum.v) - Number::bits);
    return sum * exp(a * log(x) + b * log(y) - log_beta(a, b)) / a;
}
/// I and 1 − I, the smaller with all its digits.
void tails(const Number& a, const Number& b, const Number& x, const Number& y, Number& lower,
           Number& upper) {
    const With with(400);
    if (less(x * (a + b), a)) {
        lower = series(a, b, x, y);
        upper = 1.0 - lower;
    } else {
        upper = series(b, a, y, x);
        lower = 1.0 - upper;
    }
}

}  // namespace

int betainc(mpfr_t y, const mpfr_t a, const mpfr_t b, const mpfr_t x, mpfr_rnd_t r) {
    Number lower, upper;
    tails(Number(a), Number(b), Number(x), 1.0 - Number(x), lower, upper);
    return give(y, lower, r);
}
int betaincinv(mpfr_t out, const mpfr_t shape_a, const mpfr_t shape_b, const mpfr_t at,
               mpfr_rnd_t r) {
    // Newton's method for log I or log(1 − I) in t = log(x/(1 − x)), from the tail's power law.
    const Number a(shape_a), b(shape_b), p(at);
    const bool left = mpfr_cmp_d(at, 0.5) <= 0;
    const Number target = left ? p : 1.0 - p;
    Number t = (log(target * (left ? a : b)) + log_beta(a, b)) / (left ? a : -b), x;
    for (int i = 0; i < 300; ++i) {
        x = 1.0 / (exp(-t) + 1.0);
        const Number y = 1.0 / (exp(t) + 1.0);
        Number lower, upper;
        tails(a, b, x, y, lower, upper);
        const Number f = left ? lower : upper;
        const Number slope = exp(a * log(x) + b * log(y) - log_beta(a, b)) / f;
        const Number step = log(f / target) / (left ? -slope : slope);
        t = t + step;
        if (mpfr_zero_p(step.v) || mpfr_get_exp(step.v) < -100) break;
    }
    return give(out, 1.0 / (exp(-t) + 1.0), r);
}

int bivariate_normal_cdf(mpfr_t out, const mpfr_t first, const mpfr_t second, const mpfr_t third,
                         mpfr_rnd_t r) {
    // Φ(h)Φ(k) + 1/2π ∫₀^asin ρ e^(−(h² + k² − 2hk sin θ)/2cos² θ) dθ by the double exponential rule.
    const With with(160);
    const Number h(first), k(second), rho(third), hk = h * k, squares = h * h + k * k;
    Number angle, total(0.0), before(0.0);
    mpfr_asin(angle.v, rho.v, MPFR_RNDN);
    const Number half = angle * 0.5, quarter = pi() * 0.5;
    const auto add = [&](double at) {
        Number t(at), s, c, sine;
        mpfr_sinh_cosh(s.v, c.v, t.v, MPFR_RNDN);
        const Number u = exp(-(pi() * s));  // 1 ∓ tanh(π/2 sinh t) = 2u/(1 + u)
        const Number theta = angle / (u + 1.0);
        mpfr_sin(sine.v, theta.v, MPFR_RNDN);
        const Number f = exp((sine * hk * 2.0 - squares) / ((1.0 - sine) * (sine + 1.0) * 2.0));
        total = total + f * c * u / ((u + 1.0) * (u + 1.0));
    };
    Number area(0.0);
    double step = 1;
    add(0);
    for (int level = 0; level < 9; ++level, step /= 2) {
        for (double t = level == 0 ? 1 : step; t < 4.2; t += level == 0 ? 1 : 2 * step) {
            add(t);
            add(-t);
        }
        before = area;
        area = total * half * 4.0 * quarter * step;
        if (level > 2 && mpfr_get_exp((area - before).v) < -100) break;
    }
    const auto mass = [](const Number& x) { return erfc(-(x / sqrt(Number(2.0)))) * 0.5; };
    return give(out, mass(h) * mass(k) + area / (pi() * 2.0), r);
}

}  // namespace oracle
