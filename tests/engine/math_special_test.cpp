// The special values of the elementary functions, on every instruction set.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "math_isas.h"

namespace {

using namespace mercer;
using namespace mercer::test;

struct Special {
    MathFunction id;
    double x, y, want;
};
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const Special specials[] = {
    {math_exp, 0, 0, 1},
    {math_exp, -0.0, 0, 1},
    {math_exp, inf, 0, inf},
    {math_exp, -inf, 0, 0},
    {math_exp, nan, 0, nan},
    {math_exp, 1e4, 0, inf},
    {math_exp, -1e4, 0, 0},
    {math_exp, 3e38, 0, inf},
    {math_exp, -3e38, 0, 0},
    {math_log, 1, 0, 0},
    {math_log, 0, 0, -inf},
    {math_log, -0.0, 0, -inf},
    {math_log, -1, 0, nan},
    {math_log, -inf, 0, nan},
    {math_log, inf, 0, inf},
    {math_log, nan, 0, nan},
    {math_log, -1e-40, 0, nan},
    {math_log1p, 0, 0, 0},
    {math_log1p, -0.0, 0, -0.0},
    {math_log1p, -1, 0, -inf},
    {math_log1p, -2, 0, nan},
    {math_log1p, inf, 0, inf},
    {math_log1p, -inf, 0, nan},
    {math_log1p, nan, 0, nan},
    {math_log1p, 1e-40, 0, 1e-40},
    {math_log1p, -1e-40, 0, -1e-40},
    {math_expm1, 0, 0, 0},
    {math_expm1, -0.0, 0, -0.0},
    {math_expm1, inf, 0, inf},
    {math_expm1, -inf, 0, -1},
    {math_expm1, nan, 0, nan},
    {math_expm1, -1e5, 0, -1},
    {math_expm1, 1e-40, 0, 1e-40},
    {math_expm1, 3e38, 0, inf},
    {math_expm1, -1e-40, 0, -1e-40},
    {math_sin, 0, 0, 0},
    {math_sin, -0.0, 0, -0.0},
    {math_sin, inf, 0, nan},
    {math_sin, -inf, 0, nan},
    {math_sin, nan, 0, nan},
    {math_sin, 1e-40, 0, 1e-40},
    {math_sin, -1e-40, 0, -1e-40},
    {math_cos, 0, 0, 1},
    {math_cos, -0.0, 0, 1},
    {math_cos, inf, 0, nan},
    {math_cos, -inf, 0, nan},
    {math_cos, nan, 0, nan},
    {math_cos, 1e-40, 0, 1},
    {math_tanh, 0, 0, 0},
    {math_tanh, -0.0, 0, -0.0},
    {math_tanh, inf, 0, 1},
    {math_tanh, -inf, 0, -1},
    {math_tanh, nan, 0, nan},
    {math_tanh, 40, 0, 1},
    {math_tanh, -3e38, 0, -1},
    {math_tanh, 1e-40, 0, 1e-40},
    {math_tanh, -1e-40, 0, -1e-40},
    {math_erf, 0, 0, 0},
    {math_erf, -0.0, 0, -0.0},
    {math_erf, inf, 0, 1},
    {math_erf, -inf, 0, -1},
    {math_erf, nan, 0, nan},
    {math_erf, 7, 0, 1},
    {math_erf, -3e38, 0, -1},
    // C99, Annex F, in its order.
    {math_pow, 0, -3, inf},
    {math_pow, -0.0, -3, -inf},
    {math_pow, 0, -2, inf},
    {math_pow, -0.0, -2, inf},
    {math_pow, 0, -2.5, inf},
    {math_pow, -0.0, -2.5, inf},
    {math_pow, 0, -inf, inf},
    {math_pow, -0.0, -inf, inf},
    {math_pow, 0, 3, 0},
    {math_pow, -0.0, 3, -0.0},
    {math_pow, 0, 2.5, 0},
    {math_pow, -0.0, 2.5, 0},
    {math_pow, -0.0, 2, 0},
    {math_pow, -0.0, inf, 0},
    {math_pow, -1, inf, 1},
    {math_pow, -1, -inf, 1},
    {math_pow, 1, nan, 1},
    {math_pow, 1, inf, 1},
    {math_pow, 1, -inf, 1},
    {math_pow, 1, 1e30, 1},
    {math_pow, nan, 0, 1},
    {math_pow, nan, -0.0, 1},
    {math_pow, 0, 0, 1},
    {math_pow, -0.0, -0.0, 1},
    {math_pow, inf, 0, 1},
    {math_pow, -inf, -0.0, 1},
    {math_pow, -2, 0.5, nan},
    {math_pow, -2, -1.5, nan},
    {math_pow, -1e-40, 0.5, nan},
    {math_pow, 0.5, -inf, inf},
    {math_pow, -0.5, -inf, inf},
    {math_pow, 2, -inf, 0},
    {math_pow, -2, -inf, 0},
    {math_pow, 0.5, inf, 0},
    {math_pow, -0.5, inf, 0},
    {math_pow, 2, inf, inf},
    {math_pow, -2, inf, inf},
    {math_pow, -inf, -3, -0.0},
    {math_pow, -inf, -2, 0},
    {math_pow, -inf, -2.5, 0},
    {math_pow, -inf, 3, -inf},
    {math_pow, -inf, 2, inf},
    {math_pow, -inf, 2.5, inf},
    {math_pow, inf, -1, 0},
    {math_pow, inf, 1, inf},
    {math_pow, inf, inf, inf},
    {math_pow, inf, -inf, 0},
    {math_pow, -inf, inf, inf},
    {math_pow, -inf, -inf, 0},
    {math_pow, nan, 1, nan},
    {math_pow, 2, nan, nan},
    {math_pow, nan, nan, nan},
    {math_pow, 0, nan, nan},
    {math_pow, -1, nan, nan},
    // Exact results, signs, and the ends of the range.
    {math_pow, -2, 3, -8},
    {math_pow, -2, 2, 4},
    {math_pow, -2, -3, -0.125},
    {math_pow, 3, 4, 81},
    {math_pow, 7, 1, 7},
    {math_pow, 9, 0.5, 3},
    {math_pow, 2, -149, 0x1p-149},
    {math_pow, 0x1p-149, 1, 0x1p-149},
    {math_pow, -0x1p-149, 1, -0x1p-149},
    {math_pow, 10, 400, inf},
    {math_pow, -10, 401, -inf},
    {math_pow, 10, -400, 0},
    {math_pow, -10, -401, -0.0},
    {math_pow, -1, 16777215, -1},
    {math_pow, -1, 16777216, 1},
    {math_pow, -1, 8388607.5, nan},
    {math_pow, -1, 0x1p100, 1},
    {math_pow, 2, 1e38, inf},
    {math_pow, 2, -1e38, 0},
    {math_pow, 0.5, 1e38, 0},
};

}  // namespace

TEST_CASE_TEMPLATE("elementary functions: special values", T, float, double) {
    for (const Isa& isa : isas())
        for (const Special& s : specials) {
            // Each value in a full vector and as the only lane of a partial one.
            std::vector<T> x(17, T(s.x)), y(17, T(s.y)), out(17);
            kernels<T>(*isa.table)[s.id](x.data(), y.data(), out.data(), 17);
            CAPTURE(isa.name);
            CAPTURE(int(s.id));
            CAPTURE(s.x);
            CAPTURE(s.y);
            CAPTURE(double(out[0]));
            CHECK(same(out[0], T(s.want)));
            CHECK(same(out[16], T(s.want)));
        }
}
