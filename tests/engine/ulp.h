// The error of a float or double in units in the last place (ULP) of its format, against an MPFR
// value.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mercer::test {

/// |got − exact| over the spacing of T at `exact` (the spacing of the smallest numbers below the
/// normal range). Infinity stands for the power of two just above the largest number, as in
/// rounding; a NaN only matches a NaN. A result smaller than `floor` counts as one of that size.
template <class T>
double ulp_error(T got, mpfr_srcptr exact, double floor = 0) {
    using Limits = std::numeric_limits<T>;
    const double wrong = std::numeric_limits<double>::infinity();
    if (mpfr_nan_p(exact) || std::isnan(got))
        return mpfr_nan_p(exact) && std::isnan(got) ? 0 : wrong;
    if (mpfr_inf_p(exact)) return std::isinf(got) && (got > 0) == (mpfr_sgn(exact) > 0) ? 0 : wrong;
    long exponent =
        Limits::min_exponent;  // of `exact` as 0.1… · 2^exponent, within the format's range
    if (!mpfr_zero_p(exact)) exponent = std::max(exponent, long(mpfr_get_exp(exact)));
    if (floor > 0) exponent = std::max(exponent, long(std::ilogb(floor)) + 1);
    exponent = std::min(exponent, long(Limits::max_exponent));
    mpfr_t error;
    mpfr_init2(error, 200);
    if (std::isinf(got)) {
        if (mpfr_get_exp(exact) > Limits::max_exponent && (got > 0) == (mpfr_sgn(exact) > 0)) {
            mpfr_clear(error);
            return 0;
        }
        mpfr_set_si_2exp(error, got > 0 ? 1 : -1, Limits::max_exponent, MPFR_RNDN);
    } else {
        mpfr_set_d(error, double(got), MPFR_RNDN);
    }
    mpfr_sub(error, error, exact, MPFR_RNDN);
    mpfr_mul_2si(error, error, Limits::digits - exponent, MPFR_RNDN);
    const double result = std::fabs(mpfr_get_d(error, MPFR_RNDN));
    mpfr_clear(error);
    return result;
}

}  // namespace mercer::test
