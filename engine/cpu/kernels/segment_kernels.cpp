// Sums, extrema, weighted sums, products and softmax over segments of rows:
//   out[s] = ⊕_{k in s} w[k]·x[row[k]],   out[k] = ⟨a[s], b[row[k]]⟩,   y[k] = exp(x[k] − m_s) / Σ_s exp(x[k] − m_s).
// Columns in registers, rows one after the other in ascending k, so that the order does not depend on the width of a
// register. Memory: each row once, each result once. A sum of single elements in place has no columns to fill registers
// with; it takes the canonical order. Rows that are picked are asked for early.
#include "engine/cpu/kernels/fetch.h"
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/segment_table.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::Segments;

template <int n>
struct Int {};

/// Calls f(column, registers as a constant, count) over the columns: eight registers at a time, four, one, a part of one.
template <class T, class F>
MERCER_INLINE void for_columns(int64_t width, F f) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t c = 0;
    for (; c + 8 * lanes <= width; c += 8 * lanes) f(c, Int<8>{}, lanes);
    for (; c + 4 * lanes <= width; c += 4 * lanes) f(c, Int<4>{}, lanes);
    for (; c + lanes <= width; c += lanes) f(c, Int<1>{}, lanes);
    if (c < width) f(c, Int<1>{}, int(width - c));
}

constexpr int64_t ahead = 12;  // rows between asking and using

template <class Op, class T, bool weighted>
MERCER_INLINE void accumulate(const Segments& g, const T* w, const T* x, T empty, T* out) {
    constexpr int lanes = Vec<T>::lanes;
    const int64_t last = g.offsets[g.end];
    for (int64_t s = g.begin; s < g.end; ++s) {
        const int64_t from = g.offsets[s], to = g.offsets[s + 1];
        for_columns<T>(g.width, [&]<int n>(int64_t c, Int<n>, int count) MERCER_STEP {
            Vec<T> part[n];
            for (int r = 0; r < n; ++r) part[r] = Vec<T>(Op::template identity<T>);
            for (int64_t k = from; k < to; ++k) {
                const T* p = x + (g.row ? g.row[k] : k) * g.stride + c;
                if (g.row && k + ahead < last) {
                    const char* next =
                        reinterpret_cast<const char*>(x + g.row[k + ahead] * g.stride + c);
                    for (int b = 0; b < n * lanes * int(sizeof(T)); b += 64)
                        __builtin_prefetch(next + b);
                } else if (count != lanes) {
                    fetch_beyond(p);
                }
                const Vec<T> weight(weighted ? w[k] : T(1));
#pragma GCC unroll 8
                for (int r = 0; r < n; ++r) {
                    const Vec<T> v = load(p + r * lanes, count, T(0));
                    part[r] = weighted ? fma(weight, v, part[r]) : Op::join(part[r], v);
                }
            }
            if (g.mean)
                for (int r = 0; r < n; ++r) part[r] = part[r] / Vec<T>(T(to - from));
            for (int r = 0; r < n; ++r)
                store(from == to ? Vec<T>(empty) : part[r], out + s * g.stride + c + r * lanes,
                      count);
        });
    }
}

constexpr int64_t long_run = 64;  // from here on a run of single elements takes the canonical order

/// A run of at most `parts` registers, in canonical order, but for what goes across. No branch: where segments end is chance.
template <int parts, class Op, class T>
MERCER_INLINE Vec<T> joined_parts(const T* x, int64_t n) {
    constexpr int lanes = Vec<T>::lanes;
    const Vec<T> none(Op::template identity<T>);
    Vec<T> part[parts];
    for (int k = 0; k < parts; ++k) {
        const int64_t rest = n - k * lanes;
        part[k] = Vec<T>::load(x + k * lanes, k ? int(rest & ~(rest >> 63)) : int(rest),
                               Op::template identity<T>);
    }
    part[0] = Op::join(part[0], none);  // as the lanes beyond do
    for (int h = parts / 2; h >= 1; h /= 2)
        for (int k = 0; k < h; ++k) part[k] = Op::join(part[k], part[k + h]);
    return part[0];
}

// Single elements, in place: there are no columns to fill a register with. They take the canonical order, as many segments
// at a time as a register has lanes; every cache line is asked for early, wherever segments end.
template <class Op, class T>
void reduce_elements(const Segments& g, const T* x, T empty, T* out) {
    constexpr int lanes = Vec<T>::lanes;
    const auto reduce = [&](const int64_t* at, T* to) MERCER_STEP {
        int64_t most = 0;
        T sizes[lanes];
        for (int r = 0; r < lanes; ++r) {
            const int64_t n = at[r + 1] - at[r];
            most = n > most ? n : most;
            sizes[r] = T(n);
        }
        if (most <= 4 * canonical_lanes)  // longer ones are read in a row
            for (int64_t i = at[0]; i < at[lanes]; i += 64 / int(sizeof(T))) fetch_beyond(x + i);
        Vec<T> v[lanes];
        const auto for_each_run = [&](auto joined) MERCER_STEP {
            for (int r = 0; r < lanes; ++r) v[r] = joined(x + at[r], at[r + 1] - at[r]);
        };
        if (most <= lanes)
            for_each_run(joined_parts<1, Op, T>);
        else if (most <= 2 * lanes)
            for_each_run(joined_parts<2, Op, T>);
        else if (most <= 4 * lanes)
            for_each_run(joined_parts<4, Op, T>);
        else if (lanes < 8 && most <= 8 * lanes)
            for_each_run(joined_parts<8, Op, T>);
        else
            for_each_run([&](const T* p, int64_t n) MERCER_STEP {
                Canonical<T, Op> acc;
                canonical_for(acc, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                    part = Op::join(part, load(p + i, count, Op::template identity<T>));
                });
                return acc.joined();
            });
        const Vec<T> size = Vec<T>::load(sizes), total = across_each<Op>(v),
                     value = g.mean ? total / size : total;
        select(size == Vec<T>(T(0)), Vec<T>(empty), value).store(to);
    };
    int64_t s = g.begin;
    for (; s + lanes <= g.end; s += lanes) reduce(g.offsets + s, out + s);
    if (s < g.end) {
        int64_t at[lanes + 1];
        T last[lanes];
        for (int r = 0; r <= lanes; ++r) at[r] = g.offsets[s + r < g.end ? s + r : g.end];
        reduce(at, last);
        for (int r = 0; s + r < g.end; ++r) out[s + r] = last[r];
    }
}

template <class Op, class T>
void reduce(const Segments& g, const void* from, double empty, void* to) {
    const T* x = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    if (g.stride == 1)
        reduce_elements<Op, T>(g, x, T(empty), out);
    else
        accumulate<Op, T, false>(g, nullptr, x, T(empty), out);
}

MERCER_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MERCER_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Single elements: the same chain, of numbers; those of several segments go on side by side.
template <class T>
void product_elements(const Segments& g, const T* w, const T* x, T* out) {
    for (int64_t s = g.begin; s < g.end; ++s) {
        T sum = 0;
        for (int64_t k = g.offsets[s]; k < g.offsets[s + 1]; ++k) sum = fma(w[k], x[g.row[k]], sum);
        out[s] = sum;
    }
}

template <class T>
void product(const Segments& g, const void* w, const void* x, void* out) {
    if (g.stride == 1)
        return product_elements(g, static_cast<const T*>(w), static_cast<const T*>(x),
                                static_cast<T*>(out));
    accumulate<SumOp, T, true>(g, static_cast<const T*>(w), static_cast<const T*>(x), T(0),
                               static_cast<T*>(out));
}

template <class T>
void dots(const Segments& g, const void* left, const void* right, void* to) {
    const T* b = static_cast<const T*>(right);
    T* out = static_cast<T*>(to);
    const int64_t last = g.offsets[g.end];
    if (g.width == 1) {
        for (int64_t s = g.begin; s < g.end; ++s) {
            const T a = static_cast<const T*>(left)[s];
            for (int64_t k = g.offsets[s]; k < g.offsets[s + 1]; ++k)
                out[k] = fma(a, b[g.row[k]], T(0));
        }
        return;
    }
    for (int64_t s = g.begin; s < g.end; ++s) {
        const T* a = static_cast<const T*>(left) + s * g.stride;
        for (int64_t k = g.offsets[s]; k < g.offsets[s + 1]; ++k) {
            const T* p = b + g.row[k] * g.stride;
            if (k + ahead < last)
                for (int64_t c = 0; c < g.width && c < 256; c += 64 / int(sizeof(T)))
                    __builtin_prefetch(b + g.row[k + ahead] * g.stride + c);
            Canonical<T, SumOp> sum;
            canonical_for(sum, g.width, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                part = fma(load(a + i, count, T(0)), load(p + i, count, T(0)), part);
            });
            out[k] = sum.total();
        }
    }
}

/// Of what is below a maximum.
template <class T>
void exp_run(T* y, int64_t n) {
    write_run(y, n, false, [&](int64_t i, int count) MERCER_STEP {
        return exp_falling(load(y + i, count, T(0)));
    });
}

// Runs of single elements: the exponential goes over all of them at once, the rest run by run, while they are in cache.
template <class T>
void softmax_elements(const Segments& g, const T* x, T* y) {
    constexpr int64_t cached = 1 << 12;
    for (int64_t s0 = g.begin, s1 = s0; s0 < g.end; s0 = s1) {
        const int64_t first = g.offsets[s0];
        while (s1 < g.end && (s1 == s0 || g.offsets[s1 + 1] - first <= cached)) ++s1;
        const int64_t last = g.offsets[s1];
        for (int64_t s = s0; s < s1; ++s) {
            T top = MaxOp::identity<T>;
            for (int64_t k = g.offsets[s]; k < g.offsets[s + 1]; ++k) top = x[k] > top ? x[k] : top;
            if (top == MaxOp::identity<T>) top = 0;  // −∞ only: exp gives zeros, and so do we
            for (int64_t k = g.offsets[s]; k < g.offsets[s + 1]; ++k) y[k] = x[k] - top;
        }
        exp_run(y + first, last - first);
        for (int64_t s = s0; s < s1; ++s) {
            T sum = 0;
            const int64_t from = g.offsets[s], n = g.offsets[s + 1] - from;
            if (n >= long_run) {
                Canonical<T, SumOp> acc;
                canonical_for(acc, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                    part = part + load(y + from + i, count, T(0));
                });
                sum = acc.total();
            } else {
                for (int64_t i = from; i < from + n; ++i) sum += y[i];
            }
            const T scale = sum == T(0) ? T(0) : T(1) / sum;
            for (int64_t i = from; i < from + n; ++i) y[i] *= scale;
        }
    }
}

template <class T>
void softmax(const Segments& g, const void* from, void* to) {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    if (g.stride == 1) return softmax_elements(g, x, y);
    constexpr T lowest = MaxOp::identity<T>;
    for (int64_t s = g.begin; s < g.end; ++s)
        for_run<T>(g.width, [&](int64_t c, int count) MERCER_STEP {
            const int64_t first = g.offsets[s] * g.stride + c,
                          end = g.offsets[s + 1] * g.stride + c;
            Vec<T> top(lowest), sum(T(0));
            for (int64_t i = first; i < end; i += g.stride) {
                fetch_beyond(x + i);
                top = max_or_second(load(x + i, count, T(0)),
                                    top);  // NaN comes back through the exponential
            }
            top = select(top == Vec<T>(lowest), Vec<T>(T(0)),
                         top);  // −∞ only: exp gives zeros, and so do we
            for (int64_t i = first; i < end; i += g.stride) {
                const Vec<T> e = exp_falling(load(x + i, count, T(0)) - top);
                store(e, y + i, count);
                sum = sum + e;
            }
            const Vec<T> scale = select(sum == Vec<T>(T(0)), Vec<T>(T(0)), Vec<T>(T(1)) / sum);
            for (int64_t i = first; i < end; i += g.stride)
                store(load(y + i, count, T(0)) * scale, y + i, count);
        });
}

template <class T>
void softmax_backward(const Segments& g, const void* ys, const void* gs, void* to) {
    const T *y = static_cast<const T*>(ys), *grad = static_cast<const T*>(gs);
    T* dx = static_cast<T*>(to);
    for (int64_t s = g.begin; s < g.end; ++s)
        for_run<T>(g.width, [&](int64_t c, int count) MERCER_STEP {
            const int64_t first = g.offsets[s] * g.stride + c,
                          end = g.offsets[s + 1] * g.stride + c;
            Vec<T> dot(T(0));
            for (int64_t i = first; i < end; i += g.stride) {
                fetch_beyond(grad + i), fetch_beyond(y + i);
                dot = fma(load(grad + i, count, T(0)), load(y + i, count, T(0)), dot);
            }
            for (int64_t i = first; i < end; i += g.stride)
                store(load(y + i, count, T(0)) * (load(grad + i, count, T(0)) - dot), dx + i,
                      count);
        });
}

template <class Op, class T>
void join_by_id(const int64_t* ids, int64_t count, int64_t width, const void* from, void* table) {
    const T* x = static_cast<const T*>(from);
    for (int64_t k = 0; k < count; ++k, x += width) {
        T* const to = static_cast<T*>(table) + ids[k] * width;
        write_run(to, width, false, [&](int64_t c, int some) MERCER_STEP {
            fetch_beyond(x + c);
            return Op::join(load(to + c, some, T(0)), load(x + c, some, T(0)));
        });
    }
}

/// y[k] = f(x[k], table[ids[k]])
template <class T, class F>
MERCER_INLINE void with_table(const int64_t* ids, int64_t count, int64_t width, const T* x,
                              const T* table, T* y, F f) {
    if (width == 1)
        for (int64_t k = 0; k < count; ++k) y[k] = f(x[k], table[ids[k]]);
    else
        for (int64_t k = 0; k < count; ++k, x += width, y += width)
            write_run(y, width, false, [&](int64_t c, int some) MERCER_STEP {
                return f(load(x + c, some, T(0)), load(table + ids[k] * width + c, some, T(0)));
            });
}

template <class T>
void exp_below(const int64_t* ids, int64_t count, int64_t width, const void* x, const void* table,
               void* to) {
    T* y = static_cast<T*>(to);
    with_table(ids, count, width, static_cast<const T*>(x), static_cast<const T*>(table), y,
               [](auto a, auto b) { return a - b; });
    exp_run(y, count * width);
}
template <class T>
void times_by_id(const int64_t* ids, int64_t count, int64_t width, const void* x, const void* table,
                 void* to) {
    with_table(ids, count, width, static_cast<const T*>(x), static_cast<const T*>(table),
               static_cast<T*>(to), [](auto a, auto b) { return a * b; });
}

bool within(const int64_t* ids, int64_t count, int64_t n) {
    uint64_t signs = 0;  // id and n − 1 − id are both without a sign
    for (int64_t k = 0; k < count; ++k)
        signs |= uint64_t(ids[k]) | (uint64_t(n - 1) - uint64_t(ids[k]));
    return int64_t(signs) >= 0;
}

}  // namespace

extern const cpu::SegmentTable segment_table = {
    {{reduce<SumOp, float>, reduce<SumOp, double>},
     {reduce<MaxOp, float>, reduce<MaxOp, double>},
     {reduce<MinOp, float>, reduce<MinOp, double>}},
    {product<float>, product<double>},
    {dots<float>, dots<double>},
    {softmax<float>, softmax<double>},
    {softmax_backward<float>, softmax_backward<double>},
    {{join_by_id<SumOp, float>, join_by_id<SumOp, double>},
     {join_by_id<MaxOp, float>, join_by_id<MaxOp, double>},
     {join_by_id<MinOp, float>, join_by_id<MinOp, double>}},
    {exp_below<float>, exp_below<double>},
    {times_by_id<float>, times_by_id<double>},
    within};

}  // namespace mercer::MERCER_ISA
