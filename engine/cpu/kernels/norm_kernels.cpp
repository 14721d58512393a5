// Normalisation of rows. With x̂ = (x − μ)·s, s = 1/√(mean (x − μ)² + ε), μ = mean x, or 0 for the
// root-mean-square form:
//   y = x̂·gain + bias
//   dx = s·(h − mean h − x̂·mean(h·x̂)), h = g·gain (without mean h for the root-mean-square form)
//   dgain = Σ g·x̂, dbias = Σ g over rows, which the caller cuts into chunks.
// Two passes over a row in cache for its moments, a third writes: memory sees x once and y once;
// backward x, g and dx once each.
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/norm_table.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T, bool centred>
void forward(const void* from, const void* gains, const void* biases, void* to, void* means,
             void* scales, int64_t rows, int64_t n, double epsilon, bool stream) {
    const T *gain = static_cast<const T*>(gains), *bias = static_cast<const T*>(biases);
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        T mean = T(0);
        if constexpr (centred) {
            Canonical<T, SumOp> sum;
            canonical_run<T>(
                n,
                [&](int64_t i, int count, Vec<T>& part)
                    MERCER_STEP { part = part + load(x + i, count, T(0)); },
                sum);
            mean = sum.total() / T(n);
        }
        const Vec<T> m(mean);
        Canonical<T, SumOp> squares;
        canonical_run<T>(
            n,
            [&](int64_t i, int count, Vec<T>& part) MERCER_STEP {
                const Vec<T> d = load(x + i, count, mean) - m;
                part = fma(d, d, part);
            },
            squares);
        const T scale = T(1) / number(sqrt(Vec<T>(squares.total() / T(n) + T(epsilon))));
        static_cast<T*>(means)[r] = mean;
        static_cast<T*>(scales)[r] = scale;
        const Vec<T> s(scale);
        write_run(static_cast<T*>(to) + r * n, n, stream, [&](int64_t i, int count) MERCER_STEP {
            __builtin_prefetch(x + n + i);
            return fma((load(x + i, count, T(0)) - m) * s, load(gain + i, count, T(0)),
                       load(bias + i, count, T(0)));
        });
    }
    if (stream) stream_fence();
}

// The sums of one row: Σ h and Σ h·x̂; with `sums`, dgain and dbias grow by the row.
template <class T, bool centred, bool sums>
MERCER_INLINE void row_sums(const T* x, const T* g, const T* gain, T mean, T scale, T* dgain,
                            T* dbias, int64_t n, Canonical<T, SumOp>& sum_h,
                            Canonical<T, SumOp>& sum_hx) {
    const Vec<T> m(mean), s(scale);
    canonical_run<T>(
        n,
        [&](int64_t i, int count, Vec<T>& h_part, Vec<T>& hx_part) MERCER_STEP {
            const Vec<T> xhat = (load(x + i, count, mean) - m) * s;
            const Vec<T> gi = load(g + i, count, T(0)), h = gi * load(gain + i, count, T(0));
            if constexpr (centred) h_part = h_part + h;
            hx_part = fma(h, xhat, hx_part);
            if constexpr (sums) {
                store(fma(gi, xhat, load(dgain + i, count, T(0))), dgain + i, count);
                store(load(dbias + i, count, T(0)) + gi, dbias + i, count);
            }
        },
        sum_h, sum_hx);
}

template <class T, bool centred>
void backward(const void* from, const void* gains, const void* means, const void* scales,
              const void* g_rows, void* to, void* dgains, void* dbiases, int64_t rows, int64_t n,
              bool stream) {
    const T* gain = static_cast<const T*>(gains);
    T *dgain = static_cast<T*>(dgains), *dbias = static_cast<T*>(dbiases);
    if (dgain)
        for (int64_t i = 0; i < n; ++i) dgain[i] = dbias[i] = T(0);
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        const T* g = static_cast<const T*>(g_rows) + r * n;
        const T mean = static_cast<const T*>(means)[r], scale = static_cast<const T*>(scales)[r];
        Canonical<T, SumOp> sum_h, sum_hx;
        if (dgain)
            row_sums<T, centred, true>(x, g, gain, mean, scale, dgain, dbias, n, sum_h, sum_hx);
        else
            row_sums<T, centred, false>(x, g, gain, mean, scale, dgain, dbias, n, sum_h, sum_hx);
        const Vec<T> m(mean), s(scale), mean_h(sum_h.total() / T(n)),
            mean_hx(sum_hx.total() / T(n));
        write_run(static_cast<T*>(to) + r * n, n, stream, [&](int64_t i, int count) MERCER_STEP {
            __builtin_prefetch(x + n + i);
            __builtin_prefetch(g + n + i);
            const Vec<T> xhat = (load(x + i, count, mean) - m) * s;
            const Vec<T> h = load(g + i, count, T(0)) * load(gain + i, count, T(0));
            return s * fma(-xhat, mean_hx, h - mean_h);
        });
    }
    if (stream) stream_fence();
}

}  // namespace

extern const cpu::NormTable norm_table;
const cpu::NormTable norm_table = {{{forward<float, false>, forward<double, false>},
                                    {forward<float, true>, forward<double, true>}},
                                   {{backward<float, false>, backward<double, false>},
                                    {backward<float, true>, backward<double, true>}}};

}  // namespace mercer::MERCER_ISA
