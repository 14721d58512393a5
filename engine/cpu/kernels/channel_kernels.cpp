// Normalisation by channel and its gradient (norm_table.h). Memory traffic: each pass reads its
// operands once and writes its result once; sums stay in the first-level cache.
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/norm_table.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T, class Body>
MERCER_INLINE void for_lines(const cpu::ChannelArgs& a, Body body) {
    int64_t channel = a.first % a.channels;
    for (int64_t l = 0; l < a.lines; ++l) {
        body(l, channel);
        if (++channel == a.channels) channel = 0;
    }
}

template <class T, bool whole, bool both>
void affine_of(const cpu::ChannelArgs& a) {
    for_lines<T>(a, [&](int64_t l, int64_t channel) MERCER_STEP {
        const T* x = static_cast<const T*>(a.x) + l * a.n;
        const T* g = both ? static_cast<const T*>(a.g) + l * a.n : nullptr;
        const Parameter<T, whole> mean(a.mean, channel), slope(a.slope, channel),
            shift(a.shift, channel), scale(a.scale, channel);
        write_run(static_cast<T*>(a.out) + l * a.n, a.n, a.stream,
                  [&](int64_t i, int count) MERCER_STEP {
                      const Vec<T> away = load(x + i, count, T(0)) - mean.at(i, count);
                      const Vec<T> y = fma(away, slope.at(i, count), shift.at(i, count));
                      if constexpr (!both) return y;
                      return fma(load(g + i, count, T(0)), scale.at(i, count), y);
                  });
    });
    if (a.stream) stream_fence();
}
template <class T, bool whole>
void affine(const cpu::ChannelArgs& a) {
    a.g ? affine_of<T, whole, true>(a) : affine_of<T, whole, false>(a);
}

template <class T, bool scaled>
void line_sums(const cpu::ChannelArgs& a) {
    for_lines<T>(a, [&](int64_t l, int64_t channel) MERCER_STEP {
        const T* x = static_cast<const T*>(a.x) + l * a.n;
        const T* g = static_cast<const T*>(a.g) + l * a.n;
        T* out = static_cast<T*>(a.out) + l * a.n;
        const T m = static_cast<const T*>(a.mean)[channel];
        const Vec<T> mean(m), scale(scaled ? static_cast<const T*>(a.scale)[channel] : T(0));
        const TwoSums<T> sums = canonical_sums<T>(
            a.n, [&](int64_t i, int count, Vec<T>& g_part, Vec<T>& gx_part) MERCER_STEP {
                const Vec<T> gi = load(g + i, count, T(0));
                g_part = g_part + gi;
                gx_part = fma(gi, load(x + i, count, m) - mean, gx_part);
                if constexpr (scaled) store(gi * scale, out + i, count);
            });
        static_cast<T*>(a.sum_g)[l] = sums.first;
        static_cast<T*>(a.sum_gx)[l] = sums.second;
    });
}

// `rows` lines into the sums, one element of each after the other.
template <class T, bool scaled, int rows>
MERCER_INLINE void add_rows(const cpu::ChannelArgs& a, int64_t l) {
    const T* x = static_cast<const T*>(a.x) + l * a.n;
    const T* g = static_cast<const T*>(a.g) + l * a.n;
    const T *mean = static_cast<const T*>(a.mean), *scale = static_cast<const T*>(a.scale);
    T *sum_g = static_cast<T*>(a.sum_g), *sum_gx = static_cast<T*>(a.sum_gx);
    T* out = static_cast<T*>(a.out) + l * a.n;
    for_run<T>(a.n, [&](int64_t i, int count) MERCER_STEP {
        const Vec<T> m = load(mean + i, count, T(0));
        Vec<T> total = load(sum_g + i, count, T(0)), weighted = load(sum_gx + i, count, T(0));
#pragma GCC unroll 4
        for (int k = 0; k < rows; ++k) {
            const Vec<T> gi = load(g + k * a.n + i, count, T(0));
            total = total + gi;
            weighted = fma(gi, load(x + k * a.n + i, count, T(0)) - m, weighted);
            if constexpr (scaled)
                store(gi * load(scale + i, count, T(0)), out + k * a.n + i, count);
        }
        store(total, sum_g + i, count);
        store(weighted, sum_gx + i, count);
    });
}

template <class T, bool scaled>
void column_sums(const cpu::ChannelArgs& a) {
    for (int64_t i = 0; i < a.n; ++i)
        static_cast<T*>(a.sum_g)[i] = static_cast<T*>(a.sum_gx)[i] = T(0);
    int64_t l = 0;
    for (; l + 4 <= a.lines; l += 4) add_rows<T, scaled, 4>(a, l);
    for (; l < a.lines; ++l) add_rows<T, scaled, 1>(a, l);
}

template <class T, bool whole>
void sums(const cpu::ChannelArgs& a) {
    if constexpr (whole)
        return a.out ? line_sums<T, true>(a) : line_sums<T, false>(a);
    else
        return a.out ? column_sums<T, true>(a) : column_sums<T, false>(a);
}

}  // namespace

#define MERCER_KERNELS(name)                                                                 \
    {                                                                                        \
        {name<float, false>, name<double, false>}, { name<float, true>, name<double, true> } \
    }
extern const cpu::ChannelTable channel_table = {MERCER_KERNELS(affine), MERCER_KERNELS(sums)};

}  // namespace mercer::MERCER_ISA
