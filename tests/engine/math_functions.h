// The functions of one argument whose errors are tested: their oracles and their bounds.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <span>

#include "math_table.h"

namespace mercer::test {

struct Function {
    const char* name;
    MathFunction id;
    int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
    double (*reference)(double);       // good to 1e-4 ULP of a float, for the exhaustive test
    double low, high;                  // where the function does its work
    double float_bound, double_bound;  // ULP
    /// Where two large terms cancel (left of 0), their size: the error is one of its last place.
    double (*size)(double) = nullptr;
    /// The function in long double, good to a hundredth of a double's ULP but at zeros: spares MPFR where it is dear.
    long double (*close)(long double) = nullptr;

    double floor_at(double x) const { return size && x < 0 ? x > -1e300 ? size(x) : 1e300 : 0.0; }
};

std::span<const Function> functions();

/// The functions of two arguments; the references tell what might be the worst.
struct PairFunction {
    const char* name;
    MathFunction id;
    int (*exact)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
    double (*reference)(double, double);             // for floats
    long double (*close)(long double, long double);  // for doubles
    double bound;                                    // ULP
};
inline constexpr PairFunction pow_function{"pow", math_pow, mpfr_pow, std::pow, std::pow, 1.0};
inline constexpr PairFunction atan2_function{"atan2",    math_atan2, mpfr_atan2,
                                             std::atan2, std::atan2, 1.5};

}  // namespace mercer::test
