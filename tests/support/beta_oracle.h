// The incomplete beta function, its inverse, and the bivariate normal distribution, in MPFR.
#pragma once

#include <mpfr.h>

namespace oracle {

/// I_x(a, b), and the x with I_x(a, b) = p, for a, b > 0 and 0 < x, p < 1.
int betainc(mpfr_t y, const mpfr_t a, const mpfr_t b, const mpfr_t x, mpfr_rnd_t r);
int betaincinv(mpfr_t y, const mpfr_t a, const mpfr_t b, const mpfr_t p, mpfr_rnd_t r);

/// Φ₂(h, k; ρ), |ρ| < 1, to 1e-30.
int bivariate_normal_cdf(mpfr_t y, const mpfr_t h, const mpfr_t k, const mpfr_t rho, mpfr_rnd_t r);

}  // namespace oracle
