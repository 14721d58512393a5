// The gamma function's logarithm and its derivatives in MPFR, with MPFR's own signature.
#pragma once

#include <mpfr.h>

namespace oracle {

/// log |Γ(x)|
int lgamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);
int trigamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t r);

}  // namespace oracle
