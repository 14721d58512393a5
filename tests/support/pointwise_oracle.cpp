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
                        {"sin", mpfr_sin, nullptr},
                        {"cos", mpfr_cos, nullptr},
                        {"erf", mpfr_erf, nullptr},
                        {"tanh", mpfr_tanh, nullptr},
                        {"sigmoid", sigmoid, nullptr},
                        {"softplus", softplus, nullptr},
                        {"relu", relu, nullptr},
                        {"gelu", gelu, nullptr},
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
