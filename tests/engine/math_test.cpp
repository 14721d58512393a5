// The elementary functions of engine/simd/math: error against MPFR, and the same bits on every
// instruction set. math_exhaustive.cpp takes every float; this is the sample that runs each time.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "math_isas.h"
#include "ulp.h"

namespace {

using namespace mercer;
using namespace mercer::test;

struct Function {
    const char* name;
    MathFunction id;
    int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
    double low, high;                  // where the function does its work
    double float_bound, double_bound;  // ULP
};
const Function functions[] = {
    {"exp", math_exp, mpfr_exp, -750, 715, 1.0, 1.0},
    {"log", math_log, mpfr_log, 0, 20, 1.0, 1.0},
    {"log1p", math_log1p, mpfr_log1p, -1, 20, 1.0, 1.0},
    {"expm1", math_expm1, mpfr_expm1, -45, 715, 1.0, 1.1},
    {"sin", math_sin, mpfr_sin, -100, 100, 1.0, 1.0},
    {"cos", math_cos, mpfr_cos, -100, 100, 1.0, 1.0},
    {"tanh", math_tanh, mpfr_tanh, -20, 20, 1.4, 1.4},
    {"erf", math_erf, mpfr_erf, -6, 6, 1.0, 1.1},
};
constexpr double pow_bound = 1.0;

struct Random {
    uint64_t state = 1;
    uint64_t bits() {  // splitmix64
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    double uniform(double low, double high) {
        return low + (high - low) * std::ldexp(double(bits() >> 11), -53);
    }
    int integer(int low, int high) { return low + int(bits() % uint64_t(high - low + 1)); }
};

template <class T>
T from_bits(uint64_t bits) {
    if constexpr (sizeof(T) == 4)
        return std::bit_cast<float>(uint32_t(bits));
    else
        return std::bit_cast<double>(bits);
}
/// The number a few steps away from x.
template <class T>
T near(double x, Random& random) {
    T y = T(x);
    for (int steps = random.integer(-3, 3); steps != 0; steps += steps < 0 ? 1 : -1)
        y = std::nextafter(y, steps < 0 ? -std::numeric_limits<T>::infinity()
                                        : std::numeric_limits<T>::infinity());
    return y;
}

/// Where reductions change pieces, cancel, overflow or underflow.
template <class T>
T hard_point(MathFunction f, Random& random) {
    const bool single = sizeof(T) == 4;
    const double half_pi = 1.5707963267948966, ln2 = 0.6931471805599453;
    const double sign = random.bits() & 1 ? -1 : 1;
    switch (f) {
        case math_sin:
        case math_cos: {
            const int size = random.integer(0, 50);
            const double k = std::floor(std::ldexp(random.uniform(0.5, 1), size));
            if (random.integer(0, 9) == 0)
                return near<T>(sign * (single ? 0x1p16 : 0x1p30), random);
            // The numbers nearest to a multiple of π/2 in each format.
            if (random.integer(0, 9) == 0)
                return T(sign) * T(single ? 16367173.0 * 0x1p72 : 6381956970095103.0 * 0x1p797);
            return near<T>(sign * k * half_pi * (random.bits() & 1 ? 1 : 0.5), random);
        }
        case math_exp:
        case math_expm1: {
            const double ends[] = {single ? 88.72283 : 709.782712893384,
                                   single ? -103.97208 : -745.1332191019411,
                                   single ? -87.33655 : -708.3964185322641,
                                   single ? -17.328 : -37.42,
                                   89,
                                   710,
                                   -104,
                                   -746};
            if (random.bits() & 1) return near<T>(ends[random.integer(0, 7)], random);
            return near<T>(ln2 * 0.5 * random.integer(-300, 300), random);
        }
        case math_log:
            if (random.bits() & 1)
                return near<T>(
                    1 + sign * std::ldexp(random.uniform(0.5, 1), -random.integer(1, 50)), random);
            return near<T>(std::ldexp(0.7071067811865476, random.integer(-140, 120)), random);
        case math_log1p:
            if (random.bits() & 1)
                return near<T>(-1 + std::ldexp(random.uniform(0.5, 1), -random.integer(1, 50)),
                               random);
            return near<T>(std::ldexp(0.7071067811865476, random.integer(-20, 60)) - 1, random);
        case math_tanh: return near<T>(sign * random.uniform(0.4, 0.7), random);
        case math_erf: return near<T>(sign * random.uniform(0.8, 1.3), random);
        default: return T(random.uniform(-2, 2));
    }
}

template <class T>
std::vector<T> points(const Function& f, size_t count, uint64_t seed) {
    Random random{seed};
    std::vector<T> x(count);
    for (T& value : x) {
        switch (random.bits() % 4) {
            case 0: value = from_bits<T>(random.bits()); break;
            case 1: value = T(random.uniform(f.low, f.high)); break;
            case 2: {
                const double magnitude = std::exp2(random.uniform(-70, 12));
                value = T(random.bits() & 1 ? -magnitude : magnitude);
                break;
            }
            default: value = hard_point<T>(f.id, random);
        }
    }
    return x;
}

template <class T>
void pow_points(size_t count, uint64_t seed, std::vector<T>& x, std::vector<T>& y) {
    Random random{seed};
    x.resize(count);
    y.resize(count);
    const double largest = sizeof(T) == 4 ? 128 : 1024;
    for (size_t i = 0; i < count; ++i) {
        switch (random.bits() % 6) {
            case 0:
                x[i] = from_bits<T>(random.bits());
                y[i] = from_bits<T>(random.bits());
                break;
            case 1:
                x[i] = T(random.uniform(-10, 10));
                y[i] = T(random.integer(-40, 40)) * T(0.5);
                break;
            case 2:  // results all over the range and a little beyond
                x[i] = T(std::abs(from_bits<T>(random.bits())));
                y[i] = T(random.uniform(-1.1, 1.1) * largest / (std::log2(double(x[i])) + 1e-30));
                break;
            case 3:  // near one
                x[i] =
                    near<T>(1 + std::ldexp(random.uniform(-1, 1), -random.integer(1, 52)), random);
                y[i] = T(random.uniform(-1.1, 1.1) * largest / (std::log2(double(x[i])) + 1e-30));
                break;
            default: x[i] = T(random.uniform(0, 4)); y[i] = T(random.uniform(-20, 20));
        }
    }
}

template <class T>
void report(const std::string& name, double error) {
    const std::string line = name + (sizeof(T) == 4 ? " float: " : " double: ");
    MESSAGE(line << error << " ULP");
}

template <class T>
struct Worst {
    double error = 0;
    T x{}, y{}, got{};
    void take(double e, T x_, T y_, T got_) {
        if (!(e <= error)) *this = {e, x_, y_, got_};
    }
};

constexpr size_t sample = 200'001;  // odd: the last vector is a partial one

template <class T>
void check_bits(const std::vector<T>& x, const T* y, MathFunction id, const std::vector<T>& want) {
    std::vector<T> out(x.size());
    for (const Isa& isa : isas()) {
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
    mpfr_t exact, argument;
    mpfr_init2(exact, sizeof(T) == 4 ? 48 : 80);
    mpfr_init2(argument, 53);
    for (const Function& f : functions) {
        CAPTURE(f.name);
        const std::vector<T> x = points<T>(f, sample, 17);
        const std::vector<T> got = best<T>(x, nullptr, f.id);
        Worst<T> worst;
        for (size_t i = 0; i < x.size(); ++i) {
            mpfr_set_d(argument, double(x[i]), MPFR_RNDN);
            f.exact(exact, argument, MPFR_RNDN);
            worst.take(ulp_error(got[i], exact), x[i], T(0), got[i]);
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

TEST_CASE_TEMPLATE("pow: error and equal bits", T, float, double) {
    std::vector<T> x, y;
    pow_points<T>(sample, 23, x, y);
    const std::vector<T> got = best<T>(x, y.data(), math_pow);
    mpfr_t exact, base, exponent;
    mpfr_init2(exact, sizeof(T) == 4 ? 48 : 80);
    mpfr_init2(base, 53);
    mpfr_init2(exponent, 53);
    Worst<T> worst;
    for (size_t i = 0; i < x.size(); ++i) {
        mpfr_set_d(base, double(x[i]), MPFR_RNDN);
        mpfr_set_d(exponent, double(y[i]), MPFR_RNDN);
        mpfr_pow(exact, base, exponent, MPFR_RNDN);
        worst.take(ulp_error(got[i], exact), x[i], y[i], got[i]);
    }
    mpfr_clear(exact);
    mpfr_clear(base);
    mpfr_clear(exponent);
    INFO("x = ", double(worst.x), ", y = ", double(worst.y), ", got ", double(worst.got));
    CHECK(worst.error <= pow_bound);
    report<T>("pow", worst.error);
    check_bits<T>(x, y.data(), math_pow, got);
}
