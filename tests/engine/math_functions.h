// The functions of one argument whose errors are tested: their oracles and their bounds.
#pragma once

#include <mpfr.h>

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
    bool crosses_zero = false;  // left of 0 without end: errors there are in units of 1 or more

    /// Below this size of the result its last place no longer shrinks.
    double floor_at(double x) const { return crosses_zero && x < 0 ? 1.0 : 0.0; }
};

std::span<const Function> functions();

inline constexpr double pow_bound = 1.0;

}  // namespace mercer::test
