// An MPFR number that frees itself; 200 bits, unless a With says otherwise.
#pragma once

#include <mpfr.h>

namespace oracle {

struct Number {
    static inline thread_local long bits = 200;
    mpfr_t v;
    explicit Number(double x = 0) {
        mpfr_init2(v, bits);
        mpfr_set_d(v, x, MPFR_RNDN);
    }
    explicit Number(mpfr_srcptr x) {
        mpfr_init2(v, bits);
        mpfr_set(v, x, MPFR_RNDN);
    }
    ~Number() { mpfr_clear(v); }
    Number(const Number& o) : Number(o.v) {}
    Number& operator=(const Number& o) {
        mpfr_set(v, o.v, MPFR_RNDN);
        return *this;
    }
    operator mpfr_srcptr() const { return v; }
    operator mpfr_ptr() { return v; }

#define ORACLE_OPERATOR(op, function)                             \
    friend Number operator op(const Number& a, const Number& b) { \
        Number r;                                                 \
        function(r.v, a.v, b.v, MPFR_RNDN);                       \
        return r;                                                 \
    }                                                             \
    friend Number operator op(const Number& a, double b) {        \
        Number r;                                                 \
        function##_d(r.v, a.v, b, MPFR_RNDN);                     \
        return r;                                                 \
    }
    ORACLE_OPERATOR(+, mpfr_add)
    ORACLE_OPERATOR(-, mpfr_sub)
    ORACLE_OPERATOR(*, mpfr_mul)
    ORACLE_OPERATOR(/, mpfr_div)
#undef ORACLE_OPERATOR
    friend Number operator-(double a, const Number& b) {
        Number r;
        mpfr_d_sub(r.v, a, b.v, MPFR_RNDN);
        return r;
    }
    friend Number operator/(double a, const Number& b) {
        Number r;
        mpfr_d_div(r.v, a, b.v, MPFR_RNDN);
        return r;
    }
    friend Number operator-(const Number& a) {
        Number r;
        mpfr_neg(r.v, a.v, MPFR_RNDN);
        return r;
    }
    double to_double() const { return mpfr_get_d(v, MPFR_RNDN); }
};

/// More bits for the numbers made while it lives.
struct With {
    long before = Number::bits;
    explicit With(long bits) { Number::bits = bits; }
    ~With() { Number::bits = before; }
};

#define ORACLE_FUNCTION(name, function)   \
    inline Number name(const Number& x) { \
        Number r;                         \
        function(r.v, x.v, MPFR_RNDN);    \
        return r;                         \
    }
ORACLE_FUNCTION(exp, mpfr_exp)
ORACLE_FUNCTION(log, mpfr_log)
ORACLE_FUNCTION(log1p, mpfr_log1p)
ORACLE_FUNCTION(expm1, mpfr_expm1)
ORACLE_FUNCTION(sqrt, mpfr_sqrt)
ORACLE_FUNCTION(erf, mpfr_erf)
ORACLE_FUNCTION(erfc, mpfr_erfc)
ORACLE_FUNCTION(abs, mpfr_abs)
ORACLE_FUNCTION(lngamma, mpfr_lngamma)
#undef ORACLE_FUNCTION

inline Number pi() {
    Number r;
    mpfr_const_pi(r.v, MPFR_RNDN);
    return r;
}
/// Rounds to what the caller gave (mpfr_set is a macro that would outlive a temporary).
inline int give(mpfr_ptr y, const Number& x, mpfr_rnd_t r) { return (mpfr_set)(y, x.v, r); }
inline bool less(const Number& a, const Number& b) { return mpfr_less_p(a.v, b.v) != 0; }

}  // namespace oracle
