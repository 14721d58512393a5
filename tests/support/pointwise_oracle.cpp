#include "tests/support/pointwise_oracle.h"

#include <mpfr.h>

#include <stdexcept>
#include <string>

#include "tests/support/beta_oracle.h"
#include "tests/support/gamma_oracle.h"
#include "tests/support/mpfr_number.h"
#include "tests/support/normal_oracle.h"

namespace oracle {
namespace {

using Unary = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);
using Binary = int (*)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
using Ternary = int (*)(mpfr_t, const mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
struct Row {
    std::string_view name;
    Unary unary;
    Binary binary;
    Ternary ternary = nullptr;
};

int sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_neg(y, x, r);
    mpfr_exp(y, y, r);
    mpfr_add_ui(y, y, 1, r);
    return mpfr_ui_div(y, 1, y, r);
}
int softplus(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_exp(y, x, r);
    return mpfr_log1p(y, y, r);
}
int relu(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_set(y, x, r);
    if (mpfr_sgn(x) <= 0) mpfr_set_zero(y, 1);
    return 0;
}
int gelu(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    Number root(2);
    mpfr_sqrt(root.v, root.v, r);
    mpfr_div(y, x, root.v, r);
    mpfr_neg(y, y, r);
    mpfr_erfc(y, y, r);  // 1 + erf(x/√2) = erfc(−x/√2)
    mpfr_mul(y, y, x, r);
    return mpfr_div_ui(y, y, 2, r);
}
int round_even(mpfr_t y, const mpfr_t x, mpfr_rnd_t) { return mpfr_roundeven(y, x); }
int sign(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return mpfr_set_si(y, mpfr_sgn(x), r); }
int reciprocal(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return mpfr_ui_div(y, 1, x, r); }
int softsign(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_abs(y, x, r);
    mpfr_add_ui(y, y, 1, r);
    return mpfr_div(y, x, y, r);
}
int silu(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    sigmoid(y, x, r);
    return mpfr_mul(y, y, x, r);
}
int log_sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    mpfr_neg(y, x, r);
    softplus(y, y, r);
    return mpfr_neg(y, y, r);
}
int leaky_relu(mpfr_t y, const mpfr_t x, const mpfr_t slope, mpfr_rnd_t r) {
    return mpfr_sgn(x) > 0 ? mpfr_set(y, x, r) : mpfr_mul(y, x, slope, r);
}
int elu(mpfr_t y, const mpfr_t x, const mpfr_t alpha, mpfr_rnd_t r) {
    if (mpfr_sgn(x) > 0) return mpfr_set(y, x, r);
    mpfr_expm1(y, x, r);
    return mpfr_mul(y, y, alpha, r);
}
int selu(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
    elu(y, x, Number(1.6732632423543772).v, r);
    return mpfr_mul_d(y, y, 1.0507009873554805, r);
}
int clamp(mpfr_t y, const mpfr_t x, const mpfr_t low, const mpfr_t high, mpfr_rnd_t r) {
    const auto& raised = mpfr_less_p(x, low) || mpfr_nan_p(low) ? low : x;
    return mpfr_set(y, mpfr_greater_p(raised, high) || mpfr_nan_p(high) ? high : raised, r);
}
int lerp(mpfr_t y, const mpfr_t a, const mpfr_t b, const mpfr_t t, mpfr_rnd_t r) {
    mpfr_sub(y, b, a, r);
    mpfr_mul(y, y, t, r);
    return mpfr_add(y, y, a, r);
}
int absolute(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return mpfr_abs(y, x, r); }
int negative(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return mpfr_neg(y, x, r); }

constexpr Row rows[] = {{"add", nullptr, mpfr_add},
                        {"sub", nullptr, mpfr_sub},
                        {"mul", nullptr, mpfr_mul},
                        {"div", nullptr, mpfr_div},
                        {"maximum", nullptr, mpfr_max},
                        {"minimum", nullptr, mpfr_min},
                        {"pow", nullptr, mpfr_pow},
                        {"neg", negative, nullptr},
                        {"square", mpfr_sqr, nullptr},
                        {"abs", absolute, nullptr},
                        {"sqrt", mpfr_sqrt, nullptr},
                        {"exp", mpfr_exp, nullptr},
                        {"expm1", mpfr_expm1, nullptr},
                        {"log", mpfr_log, nullptr},
                        {"log1p", mpfr_log1p, nullptr},
                        {"exp2", mpfr_exp2, nullptr},
                        {"log2", mpfr_log2, nullptr},
                        {"log10", mpfr_log10, nullptr},
                        {"tan", mpfr_tan, nullptr},
                        {"asin", mpfr_asin, nullptr},
                        {"acos", mpfr_acos, nullptr},
                        {"atan", mpfr_atan, nullptr},
                        {"sinh", mpfr_sinh, nullptr},
                        {"cosh", mpfr_cosh, nullptr},
                        {"asinh", mpfr_asinh, nullptr},
                        {"acosh", mpfr_acosh, nullptr},
                        {"atanh", mpfr_atanh, nullptr},
                        {"atan2", nullptr, mpfr_atan2},
                        {"sin", mpfr_sin, nullptr},
                        {"cos", mpfr_cos, nullptr},
                        {"erf", mpfr_erf, nullptr},
                        {"tanh", mpfr_tanh, nullptr},
                        {"sigmoid", sigmoid, nullptr},
                        {"softplus", softplus, nullptr},
                        {"relu", relu, nullptr},
                        {"gelu", gelu, nullptr},
                        {"floor", mpfr_rint_floor, nullptr},
                        {"ceil", mpfr_rint_ceil, nullptr},
                        {"round", round_even, nullptr},
                        {"trunc", mpfr_rint_trunc, nullptr},
                        {"sign", sign, nullptr},
                        {"reciprocal", reciprocal, nullptr},
                        {"rsqrt", mpfr_rec_sqrt, nullptr},
                        {"softsign", softsign, nullptr},
                        {"silu", silu, nullptr},
                        {"log_sigmoid", log_sigmoid, nullptr},
                        {"leaky_relu", nullptr, leaky_relu},
                        {"elu", nullptr, elu},
                        {"selu", selu, nullptr},
                        {"clamp", nullptr, nullptr, clamp},
                        {"lerp", nullptr, nullptr, lerp},
                        {"betainc", nullptr, nullptr, betainc},
                        {"betaincinv", nullptr, nullptr, betaincinv},
                        {"bivariate_normal_cdf", nullptr, nullptr, bivariate_normal_cdf},
                        {"gammainc", nullptr, gammainc},
                        {"gammaincc", nullptr, gammaincc},
                        {"gammaincinv", nullptr, gammaincinv},
                        {"lgamma", lgamma, nullptr},
                        {"digamma", mpfr_digamma, nullptr},
                        {"trigamma", trigamma, nullptr},
                        {"erfc", mpfr_erfc, nullptr},
                        {"erfinv", erfinv, nullptr},
                        {"normal_pdf", normal_pdf, nullptr},
                        {"normal_cdf", normal_cdf, nullptr},
                        {"log_normal_cdf", log_normal_cdf, nullptr},
                        {"normal_icdf", normal_icdf, nullptr}};

}  // namespace

double pointwise(std::string_view name, std::span<const double> x) {
    for (const Row& row : rows) {
        if (row.name != name) continue;
        Number a(x[0]), b(x.size() > 1 ? x[1] : 0.0), c(x.size() > 2 ? x[2] : 0.0), y;
        if (row.unary)
            row.unary(y.v, a.v, MPFR_RNDN);
        else if (row.binary)
            row.binary(y.v, a.v, b.v, MPFR_RNDN);
        else
            row.ternary(y.v, a.v, b.v, c.v, MPFR_RNDN);
        return mpfr_get_d(y.v, MPFR_RNDN);
    }
    throw std::logic_error("no oracle for the operation " + std::string(name) +
                           ": add it to tests/support/pointwise_oracle.cpp");
}

}  // namespace oracle
