// bf16: the upper half of an f32. Tensors hold, move and convert it; computing is for f32 and f64.
#pragma once

#include <bit>
#include <cstdint>

namespace mercer {

/// f32's range with 8 bits of precision. From wider numbers it rounds once, to nearest, ties to even; beyond its range to
/// ±∞; NaN stays NaN.
struct BFloat16 {  // all inlined: kernels of each instruction set are compiled with it
#define MERCER_HERE [[gnu::always_inline]] constexpr
    uint16_t bits;

    BFloat16() = default;
    MERCER_HERE explicit BFloat16(float x) : bits(rounded(std::bit_cast<uint32_t>(x))) {}
    MERCER_HERE explicit BFloat16(double x) : BFloat16(to_odd(x)) {}
    MERCER_HERE explicit BFloat16(bool x) : BFloat16(float(x)) {}
    MERCER_HERE explicit BFloat16(int32_t x) : BFloat16(double(x)) {}
    MERCER_HERE explicit BFloat16(int64_t x) : BFloat16(double(to_odd(x))) {}
    MERCER_HERE operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

private:
    MERCER_HERE static uint16_t rounded(uint32_t x) {
        const bool nan = (x & 0x7fffffff) > 0x7f800000;
        return uint16_t((nan ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
    // What is between two numbers of fewer bits becomes the one whose last bit is set: rounding that is rounding x.
    MERCER_HERE static float to_odd(double x) {
        const float near = float(x);
        const double size = x < 0 ? -x : x, near_size = near < 0 ? -near : near;
        const uint32_t bits = std::bit_cast<uint32_t>(near);
        return size == near_size || x != x
                   ? near
                   : std::bit_cast<float>((bits - (near_size > size)) | 1);
    }
    MERCER_HERE static int64_t to_odd(int64_t x) {
        constexpr int64_t exact = int64_t{1} << 53;
        return x > -exact && x < exact ? x : (x >> 11 | ((x & 2047) != 0)) << 11;
    }
#undef MERCER_HERE
};

}  // namespace mercer
