// Random fills. Word w of a tensor's sequence is word w mod 4 of Philox block ⌊w/4⌋ (counter:
// block, stream; key: seed).
//   f32: u = ⌊word/2^8⌋·2^−24           f64: u = ⌊(word pair)/2^11⌋·2^−53
//   normals come in pairs, half a random_block apart:
//        r = √(−2 log(1 − u)), z = r·cos(2πv) and r·sin(2πv)
#include "engine/cpu/random_table.h"
#include "engine/philox.h"
#include "engine/simd/math.h"

namespace mercer::MERCER_ISA {
namespace {

constexpr int block = int(cpu::random_block);

// Uniforms of one block of `block` elements in [0, 1).
template <class T>
void unit_block(T* u, int64_t index, uint64_t seed, uint64_t stream) {
    constexpr int words = sizeof(T) == 4 ? 1 : 2;
    for (int i = 0; i < block * words / 4; ++i) {
        const uint64_t counter = uint64_t(index) * uint64_t(block * words / 4) + uint64_t(i);
        const Philox p(uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream),
                       uint32_t(stream >> 32), uint32_t(seed), uint32_t(seed >> 32));
        if constexpr (words == 1)
            for (int k = 0; k < 4; ++k) u[4 * i + k] = T(p.c[k] >> 8) * T(0x1p-24);
        else
            for (int k = 0; k < 2; ++k)
                u[2 * i + k] =
                    T(((uint64_t(p.c[2 * k + 1]) << 32) | p.c[2 * k]) >> 11) * T(0x1p-53);
    }
}

template <class T, class Fill>
MERCER_INLINE void fill_blocks(void* out, int64_t begin, int64_t n, Fill fill) {
    T* to = static_cast<T*>(out);
    alignas(64) T values[block];
    for (int64_t i = 0; i < n; i += block) {
        fill(values, (begin + i) / block);
        const int count = int(n - i < block ? n - i : block);
        for (int k = 0; k < count; ++k) to[i + k] = values[k];
    }
}

template <class T>
void uniform(void* out, int64_t begin, int64_t n, uint64_t seed, uint64_t stream, double low,
             double high) {
    fill_blocks<T>(out, begin, n, [&](T* values, int64_t index) {
        unit_block(values, index, seed, stream);
        const T a = T(low), width = T(high - low);
        for (int k = 0; k < block; ++k) {
            const T x = a + values[k] * width;
            values[k] = x < T(high) ? x : a;  // rounding may reach the open end
        }
    });
}

template <class T>
void normal(void* out, int64_t begin, int64_t n, uint64_t seed, uint64_t stream) {
    fill_blocks<T>(out, begin, n, [&](T* values, int64_t index) {
        alignas(64) T u[block];
        unit_block(u, index, seed, stream);
        constexpr int half = block / 2;
        for (int k = 0; k < half; k += Vec<T>::lanes) {
            const Vec<T> one(T(1)), radius = sqrt(Vec<T>(T(-2)) * log(one - Vec<T>::load(u + k)));
            const Vec<T> angle = Vec<T>(T(6.283185307179586)) * Vec<T>::load(u + half + k);
            (radius * cos(angle)).store(values + k);
            (radius * sin(angle)).store(values + half + k);
        }
    });
}

}  // namespace

extern const cpu::RandomTable random_table;
const cpu::RandomTable random_table = {{uniform<float>, uniform<double>},
                                       {normal<float>, normal<double>}};

}  // namespace mercer::MERCER_ISA
