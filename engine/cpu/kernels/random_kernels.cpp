// Random fills. Word w of a tensor's sequence is word w mod 4 of Philox block ⌊w/4⌋ (counter:
// block, stream; key: seed).
//   f32: u = ⌊word/2^8⌋·2^−24           f64: u = ⌊(word pair)/2^11⌋·2^−53
//   normals come in pairs, half a random_block apart:
//        r = √(−2 log(1 − u)), z = r·cos(2πv) and r·sin(2πv)
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/kernels/turn.h"
#include "engine/cpu/random_table.h"
#include "engine/philox.h"

namespace mercer::MERCER_ISA {
namespace {

constexpr int block = int(cpu::random_block);

// Philox blocks of consecutive counters, one in each 64-bit lane: the numbers of engine/philox.h.
// The low half of a lane is a word; the high half may hold anything.

/// Blocks that philox_run makes at once.
constexpr int philox_lanes = Vec<int64_t>::lanes;

#if MERCER_SIMD == MERCER_SIMD_SCALAR

MERCER_INLINE void philox_run(uint32_t* words, uint64_t counter, uint64_t stream, uint64_t seed) {
    const Philox p(uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream),
                   uint32_t(stream >> 32), uint32_t(seed), uint32_t(seed >> 32));
    for (int k = 0; k < 4; ++k) words[k] = p.c[k];
}

#else

/// The product of the low halves.
MERCER_INLINE Vec<int64_t> product_of_words(Vec<int64_t> a, uint32_t b) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    return reinterpret_cast<native::Register<int64_t>>(
        _mm512_mul_epu32(reinterpret_cast<__m512i>(a.v), _mm512_set1_epi64(int64_t(b))));
#elif MERCER_SIMD == MERCER_SIMD_AVX2
    return reinterpret_cast<native::Register<int64_t>>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a.v), _mm256_set1_epi64x(int64_t(b))));
#else
    return reinterpret_cast<native::Register<int64_t>>(
        vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a.v)), vdup_n_u32(b)));
#endif
}

/// The words of blocks counter, counter + 1, …, in order.
MERCER_INLINE void philox_run(uint32_t* words, uint64_t counter, uint64_t stream, uint64_t seed) {
    using Lanes = Vec<int64_t>;
    static constexpr int64_t steps[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    Lanes c0 = Lanes(int64_t(counter)) + Lanes::load(steps), c1 = shift_right_logical<32>(c0),
          c2 = Lanes(int64_t(stream)), c3 = Lanes(int64_t(stream >> 32));
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
        const Lanes p = product_of_words(c0, Philox::factor0),
                    q = product_of_words(c2, Philox::factor1);
        c0 = shift_right_logical<32>(q) ^ c1 ^ Lanes(int64_t(k0));
        c2 = shift_right_logical<32>(p) ^ c3 ^ Lanes(int64_t(k1));
        c1 = q;
        c3 = p;
        k0 += Philox::weyl0;
        k1 += Philox::weyl1;
    }
    const Lanes word = int64_t(0xffffffff), low = (c0 & word) | shift_left<32>(c1),
                high = (c2 & word) | shift_left<32>(c3);
    constexpr std::make_integer_sequence<int, philox_lanes> places;
    const Lanes first = interleaved<0>(low, high, places),
                second = interleaved<philox_lanes / 2>(low, high, places);
    __builtin_memcpy(words, &first.v, sizeof first.v);
    __builtin_memcpy(words + 2 * philox_lanes, &second.v, sizeof second.v);
}

#endif

// The words of one block of `count` words.
template <int count>
MERCER_INLINE void words_of(uint32_t* words, int64_t index, uint64_t seed, uint64_t stream) {
    constexpr int run = 4 * philox_lanes;
    static_assert(count % run == 0);
    for (int i = 0; i < count; i += run)
        philox_run(words + i, (uint64_t(index) * uint64_t(count) + uint64_t(i)) / 4, stream, seed);
}

// A register of the sequence's numbers in [0, 1), exactly: two parts that a float holds.
template <class T>
MERCER_INLINE Vec<T> unit(const uint32_t* words) {
    using Word = typename IntOf<T>::type;
    constexpr bool wide = sizeof(T) == 8;
    Vec<Word> w;
    __builtin_memcpy(&w, words, sizeof w);
    constexpr int above = wide ? 38 : 20, below = wide ? 11 : 8;
    const Word kept = wide ? Word(0x7ffffff) : Word(0xfff);
    const Vec<T> high = to_float(shift_right_logical<above>(w)),
                 low = to_float(shift_right_logical<below>(w) & Vec<Word>(kept));
    return fma(high, Vec<T>(wide ? 0x1p-26 : 0x1p-12), low * Vec<T>(wide ? 0x1p-53 : 0x1p-24));
}

// Uniforms of one block of `block` elements in [0, 1).
template <class T>
void unit_block(T* u, int64_t index, uint64_t seed, uint64_t stream) {
    constexpr int words = int(sizeof(T)) / 4;
    alignas(64) uint32_t word[block * words];
    words_of<block * words>(word, index, seed, stream);
    for (int i = 0; i < block; i += Vec<T>::lanes) unit<T>(word + i * words).store(u + i);
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

// Where a register's words stand in the mask, one for each element.
MERCER_INLINE Mask<float> at_least(const uint32_t* words, int32_t threshold, float) {
    Vec<int32_t> w;
    __builtin_memcpy(&w, words, sizeof w);
    return (shift_right_logical<8>(w) >= Vec<int32_t>(threshold)).as<float>();
}
MERCER_INLINE Mask<double> at_least(const uint32_t* words, int32_t threshold, double) {
    constexpr int lanes = Vec<double>::lanes;
    int64_t wide[lanes];
    for (int k = 0; k < lanes; ++k) wide[k] = words[k] >> 8;
    return (Vec<int64_t>::load(wide) >= Vec<int64_t>(threshold)).as<double>();
}

template <class T>
void dropout(const void* from, void* to, int64_t begin, int64_t n, uint64_t seed, uint64_t stream,
             double p, bool past_caches) {
    // u ≥ p for u = ⌊word/2^8⌋·2^−24, f32 for both dtypes: the mask does not depend on it.
    const double level = double(float(p)) * 0x1p24;
    const int32_t floor = int32_t(level), threshold = floor + (double(floor) < level);
    const Vec<T> scale(T(1 / (1 - p))), zero(T(0));
    alignas(64) uint32_t word[block + Vec<T>::lanes];  // a run out of step reads beyond, in vain
    for (int64_t i = 0; i < n; i += block) {
        words_of<block>(word, (begin + i) / block, seed, stream);
        const T* x = static_cast<const T*>(from) + i;
        T* y = static_cast<T*>(to) + i;
        const auto value = [&](int64_t k, int count) MERCER_STEP {
            return select(at_least(word + k, threshold, T(0)), load(x + k, count, T(0)) * scale,
                          zero);
        };
        write_run(y, n - i < block ? n - i : int64_t(block), past_caches, value);
    }
    if (past_caches) stream_fence();
}

}  // namespace

extern const cpu::RandomTable random_table = {{uniform<float>, uniform<double>},
                                              {normal<float>, normal<double>},
                                              {dropout<float>, dropout<double>}};

}  // namespace mercer::MERCER_ISA
