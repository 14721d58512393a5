// Graph attention over rows of CSR (graph_attention.h has the equations):
//   p = softmax_row(c(u)·u), u = s_j + t_i;   out_i = Σ p x_j
//   dx_j = Σ p g_i + ds_j a_source + dt_j a_target,  du = c·p(⟨g_i, x_j⟩ − Σ_row p⟨g_i, x_j⟩),
//   ds_j = Σ_i du, dt_i = Σ_j du,  da_source = Σ_j ds_j x_j, da_target = Σ_i dt_i x_i
// Sums over edges are chains in ascending k for each column by itself, so that registers do not show; inner
// products take the canonical order. Memory: for each edge the numbers of its heads and one read of a
// neighbour's row, asked for early; results once.
#include "attention/graph/table.h"
#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

using attention::GraphRows;
using attention::GraphScores;

constexpr int64_t ahead = 12;  // edges between asking for a row and using it

template <int n>
struct Int {};

// The columns of H heads of F, n registers at a time: f(Int<n>, head, head step, column, column step, count).
// Heads that fit into a register go abreast.
template <class T, class F>
MERCER_INLINE void for_units(int64_t heads, int64_t width, F f) {
    constexpr int64_t lanes = Vec<T>::lanes;
    if (width <= lanes) {
        int64_t h = 0;
        for (; h + 8 <= heads; h += 8) f(Int<8>{}, h, 1, h * width, width, int(width));
        for (; h + 2 <= heads; h += 2) f(Int<2>{}, h, 1, h * width, width, int(width));
        if (h < heads) f(Int<1>{}, h, 1, h * width, width, int(width));
        return;
    }
    for (int64_t h = 0; h < heads; ++h) {
        int64_t c = 0;
        for (; c + 8 * lanes <= width; c += 8 * lanes)
            f(Int<8>{}, h, 0, h * width + c, lanes, int(lanes));
        for (; c + 2 * lanes <= width; c += 2 * lanes)
            f(Int<2>{}, h, 0, h * width + c, lanes, int(lanes));
        for (; c < width; c += lanes)
            f(Int<1>{}, h, 0, h * width + c, lanes, int(width - c < lanes ? width - c : lanes));
    }
}

template <class T>
MERCER_INLINE void ask(const GraphRows& r, int64_t k, const T* x, int64_t count) {
    if (k + ahead >= r.offsets[r.end]) return;
    const char* next = reinterpret_cast<const char*>(x + r.column[k + ahead] * r.heads * r.width);
    for (int64_t b = 0; b < count * int64_t(sizeof(T)); b += 64) __builtin_prefetch(next + b);
}

// Up to 16 elements are a lane each and need a quarter of the canonical tree.
template <class T>
MERCER_INLINE T inner(const T* a, const T* b, int64_t n) {
    constexpr int lanes = Vec<T>::lanes, few = 16;
    if (n <= few) {
        Vec<T> part[few / lanes];
        for (int k = 0; k < few / lanes; ++k) {
            const int64_t left = n - k * lanes;
            const int count = left < 0 ? 0 : left < lanes ? int(left) : lanes;
            part[k] = load(a + k * lanes, count, T(0)) * load(b + k * lanes, count, T(0));
        }
        for (int h = few / lanes / 2; h >= 1; h /= 2)
            for (int k = 0; k < h; ++k) part[k] = part[k] + part[k + h];
        return across<SumOp>(part[0]);
    }
    Canonical<T, SumOp> sum;
    canonical_for(sum, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        part = fma(load(a + i, count, T(0)), load(b + i, count, T(0)), part);
    });
    return sum.total();
}

template <class T>
void scores(int64_t begin, int64_t end, int64_t heads, int64_t width, const T* x, const T* left,
            const T* right, T* a, T* b) {
    for (int64_t i = begin; i < end; ++i)
        for (int64_t h = 0; h < heads; ++h) {
            const T* row = x + (i * heads + h) * width;
            a[i * heads + h] = inner(row, left + h * width, width);
            b[i * heads + h] = inner(row, right + h * width, width);
        }
}

template <class T>
MERCER_INLINE Vec<T> leaky(Vec<T> u, Vec<T> slope) {
    return select(u >= Vec<T>(T(0)), u, u * slope);
}

// A load that meets a part of a store that is still under way waits for it: numbers go from p to q and
// back, none in place.
template <class T>
void weights(const GraphRows& r, const T* source, const T* target, T slope, bool given, T* max,
             T* share, T* q, T* p) {
    const int64_t H = r.heads, first = r.offsets[r.begin], count = (r.offsets[r.end] - first) * H;
    const Vec<T> c(slope);
    const auto for_rows = [&](auto f) MERCER_STEP {
        for (int64_t i = r.begin; i < r.end; ++i)
            for_run<T>(H, [&](int64_t h, int some) MERCER_STEP {
                f(i * H + h, some, (r.offsets[i] - first) * H + h, (r.offsets[i + 1] - first) * H,
                  r.offsets[i], h);
            });
    };
    for_rows([&](int64_t at, int some, int64_t e, int64_t end, int64_t k, int64_t h) MERCER_STEP {
        const Vec<T> t = load(target + at, some, T(0));
        for (; e < end; e += H, ++k)
            store(leaky(load(source + r.column[k] * H + h, some, T(0)) + t, c), q + e, some);
    });
    for_rows([&](int64_t at, int some, int64_t from, int64_t end, int64_t, int64_t) MERCER_STEP {
        Vec<T> top(lower_end<T>);
        if (given) {
            top = load(max + at, some, T(0));
        } else {
            for (int64_t e = from; e < end; e += H)
                top = PlainMax::join(top, load(q + e, some, T(0)));
            // A row of −∞ only, or of nothing: exp gives zeros, and so do we.
            top = select(top == Vec<T>(lower_end<T>), Vec<T>(T(0)), top);
            store(top, max + at, some);
        }
        for (int64_t e = from; e < end; e += H) store(load(q + e, some, T(0)) - top, p + e, some);
    });
    for_run<T>(count, [&](int64_t e, int some) MERCER_STEP {
        store(exp_falling(load(p + e, some, T(0))), q + e, some);
    });
    for_rows([&](int64_t at, int some, int64_t from, int64_t end, int64_t, int64_t) MERCER_STEP {
        Vec<T> scale(T(0));
        if (given) {
            scale = load(share + at, some, T(0));
        } else {
            Vec<T> sum(T(0));
            for (int64_t e = from; e < end; e += H) sum = sum + load(q + e, some, T(0));
            scale = select(sum == Vec<T>(T(0)), Vec<T>(T(0)), Vec<T>(T(1)) / sum);
            store(scale, share + at, some);
        }
        for (int64_t e = from; e < end; e += H) store(load(q + e, some, T(0)) * scale, p + e, some);
    });
}

template <class T>
void weighted_sum(const GraphRows& r, const GraphScores<T>* back, const int64_t* order, const T* w,
                  const T* x, T* out) {
    const int64_t stride = r.heads * r.width, first = r.offsets[r.begin];
    for (int64_t i = r.begin; i < r.end; ++i)
        for_units<T>(
            r.heads, r.width,
            [&]<int n>(Int<n>, int64_t head, int64_t head_step, int64_t column, int64_t step,
                       int count) MERCER_STEP {
                Vec<T> sum[n];
                for (int u = 0; u < n; ++u) {
                    sum[u] = Vec<T>(T(0));
                    if (!back) continue;
                    const int64_t h = i * r.heads + head + u * head_step, c = column + u * step;
                    sum[u] = fma(Vec<T>(back->target[h]), load(back->a_target + c, count, T(0)),
                                 Vec<T>(back->source[h]) * load(back->a_source + c, count, T(0)));
                }
                for (int64_t k = r.offsets[i]; k < r.offsets[i + 1]; ++k) {
                    const T* row = x + r.column[k] * stride + column;
                    const T* weight = w + (order ? order[k] : k - first) * r.heads + head;
                    ask(r, k, x + column, n * step);
#pragma GCC unroll 8
                    for (int u = 0; u < n; ++u)
                        sum[u] = fma(Vec<T>(weight[u * head_step]),
                                     load(row + u * step, count, T(0)), sum[u]);
                }
                for (int u = 0; u < n; ++u)
                    store(sum[u], out + i * stride + column + u * step, count);
            });
}

template <class T>
void products(const GraphRows& r, const T* g, const T* x, T* d) {
    const int64_t stride = r.heads * r.width;
    for (int64_t i = r.begin; i < r.end; ++i)
        for (int64_t k = r.offsets[i]; k < r.offsets[i + 1]; ++k) {
            ask(r, k, x, stride);
            for (int64_t c = 0; c < stride; c += r.width)
                *d++ = inner(g + i * stride + c, x + r.column[k] * stride + c, r.width);
        }
}

template <class T>
void unweigh(const GraphRows& r, const T* source, const T* target, T slope, const T* p, const T* d,
             T* du, T* sums) {
    const int64_t H = r.heads, first = r.offsets[r.begin];
    const Vec<T> zero(T(0)), c(slope);
    for (int64_t i = r.begin; i < r.end; ++i)
        for_run<T>(H, [&](int64_t h, int count) MERCER_STEP {
            const Vec<T> t = load(target + i * H + h, count, T(0));
            Vec<T> mean(T(0)), sum(T(0));
            for (int64_t k = r.offsets[i]; k < r.offsets[i + 1]; ++k) {
                const int64_t e = (k - first) * H + h;
                mean = fma(load(p + e, count, T(0)), load(d + e, count, T(0)), mean);
            }
            for (int64_t k = r.offsets[i]; k < r.offsets[i + 1]; ++k) {
                const int64_t e = (k - first) * H + h;
                const Vec<T> u = load(source + r.column[k] * H + h, count, T(0)) + t,
                             dz = load(p + e, count, T(0)) * (load(d + e, count, T(0)) - mean),
                             ds = select(u >= zero, dz, dz * c);
                store(ds, du + e, count);
                sum = sum + ds;
            }
            store(sum, sums + i * H + h, count);
        });
}

template <class T>
void sum_edges(const GraphRows& r, const int64_t* order, const T* d, T* sums) {
    const int64_t H = r.heads;
    for (int64_t i = r.begin; i < r.end; ++i)
        for_run<T>(H, [&](int64_t h, int count) MERCER_STEP {
            Vec<T> sum(T(0));
            for (int64_t k = r.offsets[i]; k < r.offsets[i + 1]; ++k)
                sum = sum + load(d + order[k] * H + h, count, T(0));
            store(sum, sums + i * H + h, count);
        });
}

template <class T>
void sum_nodes(int64_t begin, int64_t end, int64_t heads, int64_t width, const T* d, const T* x,
               T* da) {
    const int64_t stride = heads * width;
    for_units<T>(heads, width,
                 [&]<int n>(Int<n>, int64_t head, int64_t head_step, int64_t column, int64_t step,
                            int count) MERCER_STEP {
                     Vec<T> sum[n];
                     for (int u = 0; u < n; ++u) sum[u] = Vec<T>(T(0));
                     for (int64_t i = begin; i < end; ++i) {
                         const T *row = x + i * stride + column, *weight = d + i * heads + head;
#pragma GCC unroll 8
                         for (int u = 0; u < n; ++u) {
                             // What has no weight may hold anything: 0·NaN is NaN.
                             const Vec<T> w(weight[u * head_step]),
                                 with = fma(w, load(row + u * step, count, T(0)), sum[u]);
                             sum[u] = select(w == Vec<T>(T(0)), sum[u], with);
                         }
                     }
                     for (int u = 0; u < n; ++u) store(sum[u], da + column + u * step, count);
                 });
}

template <class T>
constexpr attention::GraphTable<T> table = {scores<T>,  weights<T>,   weighted_sum<T>, products<T>,
                                            unweigh<T>, sum_edges<T>, sum_nodes<T>};

}  // namespace

extern const attention::GraphTable<float> graph_attention_f32;
extern const attention::GraphTable<double> graph_attention_f64;
const attention::GraphTable<float> graph_attention_f32 = table<float>;
const attention::GraphTable<double> graph_attention_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
