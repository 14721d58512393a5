// The gamma function's logarithm and its derivatives in MPFR, with MPFR's own signature.
#pragma once

#include <mpfr.h>

namespace oracle {

/// log |Γ(x)|
int lgamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);
int trigamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);

/// P(a, x), Q(a, x) and the x with P(a, x) = p, for 0 < a and finite x > 0, 0 < p < 1.
int gammainc(mpfr_t y, const mpfr_t a, const mpfr_t x, mpfr_rnd_t r);
int gammaincc(mpfr_t y, const mpfr_t a, const mpfr_t x, mpfr_rnd_t r);
int gammaincinv(mpfr_t y, const mpfr_t a, const mpfr_t p, mpfr_rnd_t r);

}  // namespace oracle
