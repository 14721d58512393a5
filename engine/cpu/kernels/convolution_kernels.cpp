// y = start + Σ_k w_k·x(·+offset_k) over planes, its adjoint in w, the maximum over a window, and the packing of patches
// for a matrix product. Traffic: a tile in cache is read once for each tap; outputs are written once.
#include "engine/cpu/convolution_table.h"

#include <bit>
#include <type_traits>

#include "engine/cpu/canonical.h"
#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::PlaneWalk;
using cpu::Run;
static_assert(cpu::weight_lanes == canonical_lanes);

// A step known to the compiler becomes shuffles.
template <class T>
void split(const T* __restrict from, int64_t step, int64_t n, int64_t part, T* to) {
    if (step == 2) {
        T* __restrict even = to, * __restrict odd = to + part;
        for (int64_t i = 0; i < n / 2; ++i) even[i] = from[2 * i], odd[i] = from[2 * i + 1];
        if (n % 2) even[n / 2] = from[n - 1];
        return;
    }
    for (int64_t q = 0; q < step && q < n; ++q, to += part) {
        T* __restrict x = to;
        for (int64_t j = q; j < n; j += step) *x++ = from[j];
    }
}
template <class T>
void interleave(const T* from, int64_t part, int64_t step, int64_t n, T* __restrict to) {
    if (step == 2) {
        const T* __restrict even = from, * __restrict odd = from + part;
        for (int64_t i = 0; i < n / 2; ++i) to[2 * i] = even[i], to[2 * i + 1] = odd[i];
        if (n % 2) to[n - 1] = even[n / 2];
        return;
    }
    for (int64_t q = 0; q < step && q < n; ++q, from += part) {
        const T* __restrict x = from;
        for (int64_t j = q; j < n; j += step) to[j] = *x++;
    }
}

// Whole registers; what a run writes too far, the next one (or the next row) overwrites.
template <class T>
void pack_columns(const T* tile, const int64_t* rows, int64_t k, const Run* runs, int64_t run_count,
                  int width, T* panel) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    for (int64_t i = 0; i < k; ++i, panel += width) {
        T* to = panel;
        for (int64_t r = 0; r < run_count; ++r) {
            const T* from = tile + rows[i] + runs[r].offset;
            const int64_t n = runs[r].length;
            for (int64_t j = 0; j < n; j += w) V::load(from + j).store(to + j);
            to += n;
        }
    }
}

// Squares of one register each way, in ascending samples and from the last group of columns to the first, so that what
// is written too far is overwritten.
template <class T>
void pack_rows(const T* tile, const int64_t* columns, int count, const Run* runs, int64_t run_count,
               int width, T* panel) {
    constexpr int n = wide_bytes / sizeof(T);
    for (int64_t r = 0; r < run_count; ++r) {
        const T* from = tile + runs[r].offset;
        for (int64_t j = 0; j < runs[r].length; j += n)
            for (int x = (width - 1) / n * n; x >= 0; x -= n) {
                if (x >= count) continue;
                const T* in[n];
                MERCER_UNROLL for (int i = 0; i < n; ++i) in[i] =
                    from + columns[x + i < count ? x + i : count - 1] + j;
                transpose(in, panel + j * width + x, width);
            }
        panel += runs[r].length * width;
    }
}

/// `n` registers of outputs side by side: start(j) each, then next(j, k, sample) for every tap.
template <class T, int n, class Sum, class Step>
MERCER_INLINE void over_taps(const PlaneWalk<T>& x, const T* from, Sum* sum, Step step) {
    for (int64_t k = 0; k < x.taps; ++k) {
        const T* at = from + x.offsets[k];
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            step(sum[j], k, Vec<T>::load(at + j * Vec<T>::lanes));
    }
}
/// body.template run<n>(column) over a row, n registers at a time, the last ones partly used.
template <class T, class Body>
MERCER_INLINE void across(int64_t columns, Body body) {
    constexpr int w = Vec<T>::lanes;
    for (int64_t c = 0; c < columns;) {
        const int64_t left = (columns - c + w - 1) / w;
        if (left >= 4) {
            body.template run<4>(c);
            c += 4 * w;
        } else if (left >= 2) {
            body.template run<2>(c);
            c += 2 * w;
        } else {
            body.template run<1>(c);
            c += w;
        }
    }
}
template <class T, class V>
MERCER_INLINE void store_within(V v, T* row, int64_t at, int64_t columns) {
    if (at + V::lanes <= columns)
        v.store(row + at);
    else if (at < columns)
        v.store(row + at, int(columns - at));
}

template <class T>
struct CorrelateRow {
    const PlaneWalk<T>& x;
    const T* from;
    const T* weights;
    T start;
    T* out;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Vec<T> sum[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j] = Vec<T>(start);
        over_taps<T, n>(
            x, from + c, sum, [&](Vec<T> & s, int64_t k, Vec<T> v) __attribute__((always_inline)) {
                s = fma(Vec<T>(weights[k]), v, s);
            });
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            store_within(sum[j], out, c + j * Vec<T>::lanes, x.columns);
    }
};
template <class T>
void correlate(const PlaneWalk<T>& x, const T* weights, T start, T* out, int64_t out_row) {
    for (int64_t r = 0; r < x.rows; ++r)
        across<T>(x.columns,
                  CorrelateRow<T>{x, x.tile + r * x.row_step, weights, start, out + r * out_row});
}

/// `n` taps at once, for each of which the partial sums stay in registers.
template <class T, int n>
void correlate_taps(const PlaneWalk<T>& x, int64_t k, const T* g, int64_t g_row, T* lanes) {
    using V = Vec<T>;
    constexpr int w = V::lanes, registers = canonical_lanes / w;
    V sum[n][registers];
    MERCER_UNROLL for (int u = 0; u < n; ++u) MERCER_UNROLL for (int i = 0; i < registers; ++i)
        sum[u][i] = V::load(lanes + (k + u) * canonical_lanes + i * w);
    const T* at[n];
    MERCER_UNROLL for (int u = 0; u < n; ++u) at[u] = x.tile + x.offsets[k + u];
    const int64_t rows = x.rows, columns = x.columns, row_step = x.row_step;
    for (int64_t r = 0; r < rows; ++r, g += g_row) {
        for (int64_t c = 0; c < columns; c += canonical_lanes)
            MERCER_UNROLL for (int i = 0; i < registers; ++i) {
                const int64_t from = c + i * w, left = columns - from;
                if (left <= 0) break;
                if (left >= w) {
                    const V gv = V::load(g + from);
                    MERCER_UNROLL for (int u = 0; u < n; ++u) sum[u][i] =
                        fma(gv, V::load(at[u] + from), sum[u][i]);
                } else {
                    const V gv = V::load(g + from, int(left), T(0));
                    MERCER_UNROLL for (int u = 0; u < n; ++u) sum[u][i] =
                        fma(gv, V::load(at[u] + from, int(left), T(0)), sum[u][i]);
                }
            }
        MERCER_UNROLL for (int u = 0; u < n; ++u) at[u] += row_step;
    }
    MERCER_UNROLL for (int u = 0; u < n; ++u) MERCER_UNROLL for (int i = 0; i < registers; ++i)
        sum[u][i]
            .store(lanes + (k + u) * canonical_lanes + i * w);
}

/// The taps from k on, at most `n` at once.
template <class T, int n>
MERCER_INLINE void correlate_from(const PlaneWalk<T>& x, int64_t k, const T* g, int64_t g_row,
                                  T* lanes) {
    for (; k + n <= x.taps; k += n) correlate_taps<T, n>(x, k, g, g_row, lanes);
    if constexpr (n > 1) correlate_from<T, n - 1>(x, k, g, g_row, lanes);
}
template <class T>
void correlate_weights(const PlaneWalk<T>& x, const T* g, int64_t g_row, T* lanes) {
    // As many as 32 registers of 64 bytes hold.
    constexpr bool many = Vec<T>::lanes * int(sizeof(T)) >= 64;
    correlate_from<T, !many ? 1 : sizeof(T) == 4 ? 5 : 3>(x, 0, g, g_row, lanes);
}

template <class T>
void join_lanes(const T* lanes, int64_t taps, T* out) {
    for (int64_t k = 0; k < taps; ++k) {
        Canonical<T, SumOp> sum;
        for (int i = 0; i < sum.registers; ++i)
            sum.part[i] = Vec<T>::load(lanes + k * canonical_lanes + i * Vec<T>::lanes);
        out[k] = sum.total();
    }
}

template <class T>
struct LargestRow {
    const PlaneWalk<T>& x;
    const T* from;
    T* out;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Vec<T> top[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j) top[j] = Vec<T>(MaxOp::identity<T>);
        over_taps<T, n>(
            x, from + c, top, [](Vec<T> & t, int64_t, Vec<T> v) __attribute__((always_inline)) {
                t = maximum(t, v);
            });
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            store_within(top[j], out, c + j * Vec<T>::lanes, x.columns);
    }
};
template <class T>
void largest(const PlaneWalk<T>& x, T* out, int64_t out_row) {
    for (int64_t r = 0; r < x.rows; ++r)
        across<T>(x.columns, LargestRow<T>{x, x.tile + r * x.row_step, out + r * out_row});
}

template <class T>
struct LargestTap {
    using V = Vec<T>;
    using I = typename V::Int;
    using Int = typename IntOf<T>::type;
    const PlaneWalk<T>& x;
    int32_t* taps;
    struct Best {
        V top;
        I tap;
    };
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Best best[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            best[j] = {V::load(x.tile + c + j * V::lanes + x.offsets[0]), I(Int(0))};
        over_taps<T, n>(
            x, x.tile + c, best, [](Best & b, int64_t k, V v) __attribute__((always_inline)) {
                const Mask<T> better =
                    !(v <= b.top) && b.top == b.top;  // v greater or NaN, top a number
                b.top = select(better, v, b.top);
                b.tap = select(better.template as<Int>(), I(Int(k)), b.tap);
            });
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            const int64_t at = c + j * V::lanes, left = x.columns - at;
            if (left > 0) store(best[j].tap, left < V::lanes ? int(left) : V::lanes, taps + at);
        }
    }
    static MERCER_INLINE void store(I tap, int count, int32_t* to) {
        if constexpr (sizeof(T) == 4) {
            tap.store(to, count);
        } else {
            Int found[V::lanes];
            tap.store(found);
            for (int j = 0; j < count; ++j) to[j] = int32_t(found[j]);
        }
    }
};
template <class T>
void largest_tap(const PlaneWalk<T>& x, int32_t* taps) {
    across<T>(x.columns, LargestTap<T>{x, taps});
}

// No branches: which it is cannot be foretold.
template <class T>
void spread_pairs(int64_t columns, const int32_t* __restrict taps, int32_t first,
                  const T* __restrict g, T* __restrict row) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    for (int64_t c = 0; c < columns; ++c) {
        const Bits bits = std::bit_cast<Bits>(g[c]);
        row[2 * c] = std::bit_cast<T>(bits & (Bits(0) - Bits(taps[c] == first)));
        row[2 * c + 1] = std::bit_cast<T>(bits & (Bits(0) - Bits(taps[c] == first + 1)));
    }
}

template <class T>
constexpr cpu::ConvolutionTable<T> table = {split<T>,       interleave<T>, pack_columns<T>,
                                            pack_rows<T>,   correlate<T>,  correlate_weights<T>,
                                            join_lanes<T>,  largest<T>,    largest_tap<T>,
                                            spread_pairs<T>};

}  // namespace

extern const cpu::ConvolutionTable<float> convolution_f32;
extern const cpu::ConvolutionTable<double> convolution_f64;
const cpu::ConvolutionTable<float> convolution_f32 = table<float>;
const cpu::ConvolutionTable<double> convolution_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
