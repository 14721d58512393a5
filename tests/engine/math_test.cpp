// The elementary and special functions of engine/simd/math: error against MPFR, and the same bits on
// every instruction set. math_exhaustive.cpp takes every float and ten million doubles; this is the
// sample that runs each time.
#include <doctest/doctest.h>

#include <string>

#include "math_isas.h"
#include "math_points.h"
#include "tests/support/emulated.h"
#include "ulp.h"

namespace {

using namespace mercer;
using namespace mercer::test;

template <class T>
void report(const std::string& name, double error) {
    const std::string line = name + (sizeof(T) == 4 ? " float: " : " double: ");
    MESSAGE(line << error << " ULP");
}

// Odd: the last vector is a partial one.
constexpr size_t sample = emulated ? 10'001 : 100'001, small_sample = emulated ? 2'001 : 20'001;

template <class T>
void check_bits(const std::vector<T>& x, const T* y, MathFunction id, const std::vector<T>& want) {
    std::vector<T> out(x.size());
    for (const MathIsa& isa : isas()) {
        kernels<T>(*isa.table)[id](x.data(), y, out.data(), int64_t(x.size()));
        size_t differing = 0, where = 0;
        for (size_t i = 0; i < x.size(); ++i)
            if (!same(out[i], want[i])) {
                ++differing;
                where = i;
            }
        CAPTURE(isa.name);
        CAPTURE(double(x[where]));
        CHECK(differing == 0);
    }
}

template <class T>
std::vector<T> best(const std::vector<T>& x, const T* y, MathFunction id) {
    std::vector<T> out(x.size());
    kernels<T>(*isas().back().table)[id](x.data(), y, out.data(), int64_t(x.size()));
    return out;
}

}  // namespace

TEST_CASE_TEMPLATE("elementary functions: error and equal bits", T, float, double) {
    reduced_under_emulation("a tenth of the points of each function");
    mpfr_t exact, argument;
    mpfr_init2(exact, sizeof(T) == 4 ? 64 : 96);
    mpfr_init2(argument, 53);
    for (const Function& f : functions()) {
        CAPTURE(f.name);
        const std::vector<T> x = points<T>(f, f.id < math_pow ? sample : small_sample, 17);
        const std::vector<T> got = best<T>(x, nullptr, f.id);
        Worst<T> worst;
        for (size_t i = 0; i < x.size(); ++i) {
            mpfr_set_d(argument, double(x[i]), MPFR_RNDN);
            f.exact(exact, argument, MPFR_RNDN);
            worst.take(ulp_error(got[i], exact, f.floor_at(double(x[i]))), x[i], T(0), got[i]);
        }
        INFO("x = ", double(worst.x), ", got ", double(worst.got));
        CHECK(worst.error <= (sizeof(T) == 4 ? f.float_bound : f.double_bound));
        report<T>(f.name, worst.error);
        check_bits<T>(x, nullptr, f.id, got);
        if (f.id == math_sin) check_bits<T>(x, nullptr, math_sincos_sin, got);
        if (f.id == math_cos) check_bits<T>(x, nullptr, math_sincos_cos, got);
    }
    mpfr_clear(exact);
    mpfr_clear(argument);
}

namespace {

template <class T>
std::vector<T> check_pairs(const PairFunction& f, const std::vector<T>& x,
                           const std::vector<T>& y) {
    const std::vector<T> got = best<T>(x, y.data(), f.id);
    mpfr_t exact, first, second;
    mpfr_init2(exact, sizeof(T) == 4 ? 64 : 96);
    mpfr_init2(first, 53);
    mpfr_init2(second, 53);
    Worst<T> worst;
    for (size_t i = 0; i < x.size(); ++i) {
        mpfr_set_d(first, double(x[i]), MPFR_RNDN);
        mpfr_set_d(second, double(y[i]), MPFR_RNDN);
        f.exact(exact, first, second, MPFR_RNDN);
        worst.take(ulp_error(got[i], exact), x[i], y[i], got[i]);
    }
    mpfr_clear(exact);
    mpfr_clear(first);
    mpfr_clear(second);
    INFO("x = ", double(worst.x), ", y = ", double(worst.y), ", got ", double(worst.got));
    CHECK(worst.error <= f.bound);
    report<T>(f.name, worst.error);
    check_bits<T>(x, y.data(), f.id, got);
    return got;
}
template <class T>
void check_pairs(const PairFunction& f) {
    std::vector<T> x, y;
    pair_points<T>(f, sample, 23, x, y);
    check_pairs(f, x, y);
}

}  // namespace

TEST_CASE_TEMPLATE("pow and atan2: error and equal bits", T, float, double) {
    check_pairs<T>(pow_function);
    check_pairs<T>(atan2_function);
}

TEST_CASE_TEMPLATE("pow: exponents 1, 2 and 3 alone and beside others", T, float, double) {
    Random random{29};
    const double reach = sizeof(T) == 4 ? 46 : 360;  // beyond what cubes can
    for (const size_t alike : {1, 16}) {
        std::vector<T> x(small_sample), y(small_sample);
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = random.bits() % 2 ? from_bits<T>(random.bits())
                                     : T(std::exp2(random.uniform(-reach, reach)));
            y[i] = i % alike ? y[i - 1] : T(random.integer(2, 6)) * T(0.5);
        }
        const std::vector<T> got = check_pairs(pow_function, x, y);
        for (size_t i = 0; i < x.size(); ++i)
            if ((y[i] == 1 || y[i] == 2) && x[i] == x[i])
                CHECK(got[i] == (y[i] == 1 ? x[i] : x[i] * x[i]));
    }
}
