// Normalisation of rows. With x̂ = (x − μ)·s, s = 1/√(mean (x − μ)² + ε), μ = mean x, or 0 for the
// root-mean-square form:
//   y = x̂·gain + bias
//   dx = s·(h − mean h − x̂·mean(h·x̂)), h = g·gain (without mean h for the root-mean-square form)
//   dgain = Σ g·x̂, dbias = Σ g over rows, which the caller cuts into chunks; over a channel's elements too where it has
//   one gain.
// Two passes over a row in cache for its moments, a third writes: memory sees x once and y once;
// backward x, g and dx once each. There the first pass, which does not write to memory, asks for the next row; one that
// has no sums to keep leaves g to the second.
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/norm_table.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::NormArgs;
using cpu::NormKind;

template <class T>
const T* row_of(const void* rows, const NormArgs& a, int64_t r) {
    return static_cast<const T*>(rows) + r * a.n;
}

/// Calls part(offset, size, channel) for the parts of row r that share parameters: all of it, or channel by channel.
template <NormKind kind, class Part>
MERCER_INLINE void for_parts(const NormArgs& a, int64_t r, Part part) {
    if constexpr (kind != NormKind::group) return part(0, a.n, 0);
    int64_t channel = (a.first + r) * (a.n / a.inner) % a.channels;
    for (int64_t i = 0; i < a.n; i += a.inner) part(i, a.inner, channel++);
}

template <class T, NormKind kind>
void forward(const NormArgs& a) {
    const int64_t n = a.n;
    for (int64_t r = 0; r < a.rows; ++r) {
        const T* row = row_of<T>(a.x, a, r);
        T mean = T(0);
        if constexpr (kind != NormKind::root_mean_square) {
            const T sum = canonical_sum<T>(n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                part = part + load(row + i, count, T(0));
            });
            mean = sum / T(n);
        }
        // A mean far from zero has lost digits: what is left beside it corrects it.
        const T first = mean;
        const TwoSums<T> sums = canonical_sums<T>(
            n, [&](int64_t i, int count, Vec<T>& rest_part, Vec<T>& squares_part) MERCER_STEP {
                const Vec<T> d = load(row + i, count, first) - Vec<T>(first);
                if constexpr (kind != NormKind::root_mean_square) rest_part = rest_part + d;
                squares_part = fma(d, d, squares_part);
            });
        T variance = sums.second / T(n);
        if constexpr (kind != NormKind::root_mean_square) {
            const T away = sums.first / T(n);
            mean = first + away;
            variance = variance - away * away;
            if (variance < T(0)) variance = T(0);
        }
        const Vec<T> m(mean);
        const T scale = T(1) / first_lane(sqrt(Vec<T>(variance + T(a.epsilon))));
        static_cast<T*>(a.mean)[r] = mean;
        static_cast<T*>(a.scale)[r] = scale;
        const Vec<T> s(scale);
        for_parts<kind>(a, r, [&](int64_t from, int64_t size, int64_t channel) MERCER_STEP {
            const Parameter<T, kind == NormKind::group> gain(a.gain, channel),
                bias(a.bias, channel);
            const T* x = row + from;
            write_run(static_cast<T*>(a.out) + r * n + from, size, a.stream,
                      [&](int64_t i, int count) MERCER_STEP {
                          fetch_next_row(x + i, n);
                          return fma((load(x + i, count, T(0)) - m) * s, gain.at(i, count),
                                     bias.at(i, count));
                      });
        });
    }
    if (a.stream) stream_fence();
}

/// Σ h and Σ h·x̂ of one row. With `sums`, dgain and dbias grow by the row.
template <class T, NormKind kind, bool sums>
MERCER_INLINE TwoSums<T> row_sums(const NormArgs& a, int64_t r, Vec<T> m, Vec<T> s, T mean) {
    TwoSums<T> total{};
    T *const dgain = static_cast<T*>(a.dgain), *const dbias = static_cast<T*>(a.dbias);
    for_parts<kind>(a, r, [&](int64_t from, int64_t size, int64_t channel) MERCER_STEP {
        const T *x = row_of<T>(a.x, a, r) + from, *g = row_of<T>(a.g, a, r) + from,
                *gain = static_cast<const T*>(a.gain);
        TwoSums<T> part = canonical_sums<T>(
            size, [&](int64_t i, int count, Vec<T>& h_part, Vec<T>& hx_part) MERCER_STEP {
                fetch_next_row(x + i, a.n);
                if constexpr (sums) fetch_next_row(g + i, a.n);
                const Vec<T> xhat = (load(x + i, count, mean) - m) * s;
                const Vec<T> gi = load(g + i, count, T(0));
                const Vec<T> h = kind == NormKind::group ? gi : gi * load(gain + i, count, T(0));
                if constexpr (kind != NormKind::root_mean_square) h_part = h_part + h;
                hx_part = fma(h, xhat, hx_part);
                if constexpr (sums && kind != NormKind::group) {
                    store(fma(gi, xhat, load(dgain + i, count, T(0))), dgain + i, count);
                    store(load(dbias + i, count, T(0)) + gi, dbias + i, count);
                }
            });
        if (const T scale = first_lane(s); scale == first_lane(infinity<T>())) {
            part.second = T(0);  // lanes beyond a row's end made it NaN; infinities have no order
            for (int64_t i = 0; i < size; ++i)
                part.second += (kind == NormKind::group ? g[i] : g[i] * gain[from + i]) *
                               ((x[i] - mean) * scale);
        }
        if constexpr (kind == NormKind::group) {
            if (sums) dgain[channel] += part.second, dbias[channel] += part.first;
            part = {part.first * gain[channel], part.second * gain[channel]};
        }
        total = {total.first + part.first, total.second + part.second};
    });
    return total;
}

template <class T, NormKind kind>
void backward(const NormArgs& a) {
    const int64_t n = a.n;
    if (a.dgain)
        for (int64_t i = 0; i < (kind == NormKind::group ? a.channels : n); ++i)
            static_cast<T*>(a.dgain)[i] = static_cast<T*>(a.dbias)[i] = T(0);
    for (int64_t r = 0; r < a.rows; ++r) {
        const T mean = static_cast<const T*>(a.mean)[r];
        const Vec<T> m(mean), s(static_cast<const T*>(a.scale)[r]);
        const TwoSums<T> total = a.dgain ? row_sums<T, kind, true>(a, r, m, s, mean)
                                         : row_sums<T, kind, false>(a, r, m, s, mean);
        const Vec<T> mean_h(total.first / T(n)), mean_hx(total.second / T(n));
        for_parts<kind>(a, r, [&](int64_t from, int64_t size, int64_t channel) MERCER_STEP {
            const Parameter<T, kind == NormKind::group> gain(a.gain, channel);
            const T *x = row_of<T>(a.x, a, r) + from, *g = row_of<T>(a.g, a, r) + from;
            write_run(static_cast<T*>(a.out) + r * n + from, size, a.stream,
                      [&](int64_t i, int count) MERCER_STEP {
                          if (!a.dgain) fetch_next_row(g + i, n);
                          const Vec<T> xhat = (load(x + i, count, mean) - m) * s;
                          const Vec<T> h = load(g + i, count, T(0)) * gain.at(i, count);
                          return s * fma(-xhat, mean_hx, h - mean_h);
                      });
        });
    }
    if (a.stream) stream_fence();
}

}  // namespace

#define MERCER_KINDS(name)                                                                   \
    {                                                                                        \
        {name<float, NormKind::root_mean_square>, name<double, NormKind::root_mean_square>}, \
            {name<float, NormKind::layer>, name<double, NormKind::layer>},                   \
            {name<float, NormKind::group>, name<double, NormKind::group>},                   \
    }
extern const cpu::NormTable norm_table = {MERCER_KINDS(forward), MERCER_KINDS(backward)};

}  // namespace mercer::MERCER_ISA
