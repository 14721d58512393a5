// The normal distribution's functions in MPFR, with MPFR's own signature.
#pragma once

#include <mpfr.h>

namespace oracle {

int normal_pdf(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);
int normal_cdf(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);
int log_normal_cdf(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);
/// Good to about 130 bits: a step of Halley's method from double.
int erfinv(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);
int normal_icdf(mpfr_t y, const mpfr_t p, mpfr_rnd_t r);

}  // namespace oracle
