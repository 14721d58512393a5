// Arguments for the tests of the elementary and special functions: a quarter of them where it is
// hard, a quarter any bit pattern, a quarter uniform where the function does its work, a quarter
// log-uniform.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "math_functions.h"

namespace mercer::test {

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
        case math_cos:
        case math_tan: {
            const int size = random.integer(0, 50);
            const double k = std::floor(std::ldexp(random.uniform(0.5, 1), size));
            if (random.integer(0, 9) == 0)
                return near<T>(sign * (single ? 0x1p16 : 0x1p30), random);
            // The numbers nearest to a multiple of π/2 in each format, and the float below 2^16.
            if (random.integer(0, 9) == 0)
                return T(sign) * T(single ? 16367173.0 * 0x1p72 : 6381956970095103.0 * 0x1p797);
            if (single && random.integer(0, 9) == 0) return T(sign * 0x1.9a48dep+15);
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
        case math_log2:
        case math_log10:
            if (random.bits() & 1)
                return near<T>(
                    1 + sign * std::ldexp(random.uniform(0.5, 1), -random.integer(1, 50)), random);
            return near<T>(std::ldexp(0.7071067811865476, random.integer(-140, 120)), random);
        case math_log1p:
            if (random.bits() & 1)
                return near<T>(-1 + std::ldexp(random.uniform(0.5, 1), -random.integer(1, 50)),
                               random);
            return near<T>(std::ldexp(0.7071067811865476, random.integer(-20, 60)) - 1, random);
        case math_erfinv: {  // where pieces meet, and the ends
            const double ends[] = {0, 1, 0.99662541164, 0.9999999623};
            const double x = ends[random.integer(0, 3)];
            const double step = std::ldexp(random.uniform(0.5, 1), -random.integer(1, 55));
            return near<T>(sign * (random.bits() & 1 ? x : x == 0 ? step : x - step), random);
        }
        case math_normal_icdf: {
            if (random.bits() & 1) return T(std::exp2(random.uniform(single ? -149 : -1074, 0)));
            const double step = std::ldexp(random.uniform(0.5, 1), -random.integer(1, 55));
            return near<T>(random.bits() & 1 ? 1 - step : 0.5 + sign * step, random);
        }
        case math_erfc:
        case math_normal_cdf:
        case math_normal_pdf:
        case math_log_normal_cdf: {
            if (random.bits() & 1)
                return T(std::ldexp(random.uniform(-1, 1), -random.integer(1, 60)));
            const double end = (f == math_erfc) != single ? 27 : single ? 14.2 : 38.5;
            return near<T>(sign * (end + random.uniform(-2, 2)), random);
        }
        case math_lgamma:
        case math_digamma:
        case math_trigamma: {  // zeros, poles, and where pieces meet
            const double ends[] = {0, 1, 2, -0.3, 0.4, 0.7, 1.4, 1.4616321449683623, 2.6, 12};
            const double end =
                random.bits() & 1 ? ends[random.integer(0, 9)] : -double(random.integer(0, 30));
            const int smallest = end != 0 ? 60 : single ? 148 : 1073;
            const double step = std::ldexp(random.uniform(0.5, 1), -random.integer(1, smallest));
            return near<T>(end + sign * step, random);
        }
        case math_exp2: {
            if (random.bits() & 1) return near<T>(random.integer(-1080, 1030) + 0.5, random);
            const double ends[] = {single ? 128.0 : 1024, single ? -126.0 : -1022,
                                   single ? -149.0 : -1074, 0};
            return near<T>(ends[random.integer(0, 3)], random);
        }
        case math_asin:
        case math_acos:
        case math_atanh:
        case math_atan: {  // ±1, where pieces meet, and 0
            const double ends[] = {1, 0.5, 0}, end = ends[random.integer(0, 2)];
            const double step = std::ldexp(random.uniform(0.5, 1), -random.integer(1, 60));
            return near<T>(sign * (end == 0 ? step : end - step), random);
        }
        case math_acosh:
            return near<T>(1 + std::ldexp(random.uniform(0.5, 1), -random.integer(0, 52)), random);
        case math_sinh:
        case math_cosh:
        case math_asinh: {
            const double ends[] = {1, single ? 89.416 : 710.4758600739439, 0.35, 0x1p14, 0x1p28};
            const double end = ends[random.integer(0, f == math_asinh ? 4 : 2)];
            if (random.bits() & 1) return near<T>(sign * end, random);
            return near<T>(sign * std::ldexp(random.uniform(0.5, 1), -random.integer(0, 30)),
                           random);
        }
        case math_tanh: {  // half of them just below artanh ½, where the far form would lose a bit
            const bool edge = random.bits() & 1;
            const double x = edge ? random.uniform(0.5493, 0.549307) : random.uniform(0.4, 0.7);
            return near<T>(sign * x, random);
        }
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

/// y and x of angles: where |y/x| is 1, ½ or about, or far from 1, and where angles meet π/2 and π; any bit patterns.
template <class T>
void atan2_points(size_t count, uint64_t seed, std::vector<T>& y, std::vector<T>& x) {
    Random random{seed};
    y.resize(count);
    x.resize(count);
    for (size_t i = 0; i < count; ++i) {
        const auto sign = [&] { return random.bits() & 1 ? 1.0 : -1.0; };
        const double b = sign() * random.uniform(1, 2);
        double a = sign();
        switch (random.bits() % 6) {
            case 0:
                y[i] = from_bits<T>(random.bits());
                x[i] = from_bits<T>(random.bits());
                continue;
            case 1: a *= std::exp2(random.uniform(-60, 60)); break;
            case 2: a *= 1 + random.uniform(-1, 1) * std::ldexp(1, -random.integer(1, 52)); break;
            case 3: a *= random.uniform(0.5, 0.57); break;  // a half, of which the angle is less
            case 4: a *= random.uniform(0.4, 1.1); break;
            default: a = random.uniform(-4, 4);
        }
        const bool swap = random.bits() & 1;
        const int shift = random.integer(-40, 40);
        y[i] = T(std::ldexp(swap ? b : a * b, shift));
        x[i] = T(std::ldexp(swap ? a * b : b, shift));
    }
}
template <class T>
void pair_points(const PairFunction& f, size_t count, uint64_t seed, std::vector<T>& x,
                 std::vector<T>& y) {
    f.id == math_pow ? pow_points<T>(count, seed, x, y) : atan2_points<T>(count, seed, x, y);
}

template <class T>
struct Worst {
    double error = 0;
    T x{}, y{}, got{};
    void take(double e, T x_, T y_, T got_) {
        if (!(e <= error)) *this = {e, x_, y_, got_};
    }
};

}  // namespace mercer::test
