// Sums, extrema, weighted sums, products and softmax over segments of rows:
//   out[s] = ⊕_{k in s} w[k]·x[row[k]],   out[k] = ⟨a[s], b[row[k]]⟩,   y[k] = exp(x[k] − m_s) / Σ_s exp(x[k] − m_s).
// Columns in registers, rows one after the other in ascending k, so that the order does not depend on the width of a
// register. Memory: each row once, each result once. Single elements in place take the canonical order instead
// (segment_group.h). Rows that are picked are asked for early.
#include "engine/cpu/kernels/segment_group.h"
#include "engine/cpu/kernels/tile.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::Segments;

constexpr int64_t ahead = 12;  // rows between asking and using

template <class Op, class T, bool weighted>
MERCER_INLINE void accumulate(const Segments& g, const T* w, const T* x, T empty, T* out) {
    constexpr int lanes = Vec<T>::lanes;
    const int64_t last = g.offsets[g.end];
    for (int64_t s = g.begin; s < g.end; ++s) {
        const int64_t from = g.offsets[s], to = g.offsets[s + 1];
        for_registers<T, 8, 4, 1>(g.width, [&](int64_t c, auto registers, int count) MERCER_STEP {
            constexpr int n = registers.value;
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

template <class Op, class T>
void reduce(const Segments& g, const void* from, double nothing, void* to) {
    constexpr int lanes = Vec<T>::lanes;
    const T* x = static_cast<const T*>(from);
    const T empty = T(nothing);
    T* out = static_cast<T*>(to);
    if (g.stride != 1) return accumulate<Op, T, false>(g, nullptr, x, empty, out);
    for_groups(g, x, [&](auto group, int64_t s, int count) MERCER_STEP {
        const Vec<T> total = group.template join<Op>([&](int, int64_t i, int some) MERCER_STEP {
            return group.load_part(x + i, some, Op::template identity<T>);
        });
        T sizes[lanes];
        for (int r = 0; r < lanes; ++r) sizes[r] = T(group.size(r));
        const Vec<T> size = Vec<T>::load(sizes), value = g.mean ? total / size : total;
        store(select(size == Vec<T>(T(0)), Vec<T>(empty), value), out + s, count);
    });
}

MERCER_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MERCER_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class T>
void product(const Segments& g, const void* weights, const void* from, void* to) {
    const T *w = static_cast<const T*>(weights), *x = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    if (g.stride != 1) return accumulate<SumOp, T, true>(g, w, x, T(0), out);
    // Single elements: the same chain, of numbers; those of several segments go on side by side.
    for (int64_t s = g.begin; s < g.end; ++s) {
        T sum = 0;
        for (int64_t k = g.offsets[s]; k < g.offsets[s + 1]; ++k) sum = fma(w[k], x[g.row[k]], sum);
        out[s] = sum;
    }
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
            out[k] = canonical_sum<T>(g.width, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                part = fma(load(a + i, count, T(0)), load(p + i, count, T(0)), part);
            });
        }
    }
}

/// What exponentials are multiplied by: 1/sum, or 0.
template <class T>
MERCER_INLINE Vec<T> share_of(Vec<T> sum) {
    const Vec<T> zero(T(0));
    return select(sum == zero, zero, Vec<T>(T(1)) / sum);
}

template <class T, int parts>
void softmax_group(Group<T, parts> group, const T* x, T* y) {
    constexpr int lanes = Vec<T>::lanes;
    constexpr T lowest = MaxOp::identity<T>;
    const Vec<T> most = group.template join<PlainMax>([&](int, int64_t i, int count) MERCER_STEP {
        return group.load_part(x + i, count, lowest);
    });
    T top[lanes], scale[lanes];
    finite_top(most).store(top);
    Vec<T> kept[lanes * parts + 1], *to = kept;  // of few registers; of more, y keeps them
    const Vec<T> sum = group.template join<SumOp>([&](int r, int64_t i, int count) MERCER_STEP {
        const Vec<T> e = exp_falling(group.load_part(x + i, count, lowest) - Vec<T>(top[r]));
        if constexpr (parts > 0)
            *to++ = e;
        else
            store(e, y + i, count);
        return e;
    });
    share_of(sum).store(scale);
    const Vec<T>* from = kept;
    group.write(y, [&](int r, int64_t i, int count) MERCER_STEP {
        return (parts > 0 ? *from++ : load(y + i, count, T(0))) * Vec<T>(scale[r]);
    });
}

template <class T, int parts>
void softmax_backward_group(Group<T, parts> group, const T* y, const T* grad, T* dx) {
    T dot[Vec<T>::lanes];
    group
        .template join<SumOp>([&](int, int64_t i, int count) MERCER_STEP {
            return group.load_part(grad + i, count, T(0)) * group.load_part(y + i, count, T(0));
        })
        .store(dot);
    group.write(dx, [&](int r, int64_t i, int count) MERCER_STEP {
        return group.load_part(y + i, count, T(0)) *
               (group.load_part(grad + i, count, T(0)) - Vec<T>(dot[r]));
    });
}

/// f(r, i) for the registers r of the columns from c on, of every row of segment s; i is the first element's place.
template <class T, int registers, class F>
MERCER_INLINE void for_rows(const Segments& g, int64_t s, int64_t c, F f) {
    for (int64_t i = g.offsets[s] * g.stride + c, end = g.offsets[s + 1] * g.stride; i < end;
         i += g.stride)
#pragma GCC unroll 8
        for (int r = 0; r < registers; ++r) f(r, i + r * Vec<T>::lanes);
}

template <class T>
void softmax(const Segments& g, const void* from, void* to) {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    if (g.stride == 1)
        return for_groups(g, x, [&](auto group, int64_t, int) { softmax_group(group, x, y); });
    constexpr int64_t lanes = Vec<T>::lanes, most = 16384 / sizeof(Vec<T>);
    // Exponentials of few rows, which are written once past the caches, and in parts of registers: those come back slowly.
    Vec<T> kept[most];
    for (int64_t s = g.begin; s < g.end; ++s)
        for_registers<T, 8, 4, 1>(g.width, [&](int64_t c, auto registers, int count) MERCER_STEP {
            constexpr int n = registers.value;
            const bool keep = (g.stream || count != lanes) &&
                              (g.offsets[s + 1] - g.offsets[s]) * n <= most,
                       stream = keep && g.stream;
            Vec<T> top[n], sum[n];
            for (int r = 0; r < n; ++r) top[r] = Vec<T>(MaxOp::identity<T>), sum[r] = Vec<T>(T(0));
            for_rows<T, n>(g, s, c, [&](int r, int64_t i) MERCER_STEP {
                fetch_beyond(x + i);
                top[r] = PlainMax::join(top[r], load(x + i, count, T(0)));
            });
            for (int r = 0; r < n; ++r) top[r] = finite_top(top[r]);
            Vec<T>* e = kept;
            for_rows<T, n>(g, s, c, [&](int r, int64_t i) MERCER_STEP {
                const Vec<T> v = exp_falling(load(x + i, count, T(0)) - top[r]);
                if (keep)
                    *e++ = v;
                else
                    store(v, y + i, count);
                sum[r] = sum[r] + v;
            });
            Vec<T> share[n];
            for (int r = 0; r < n; ++r) share[r] = share_of(sum[r]);
            e = kept;
            for_rows<T, n>(g, s, c, [&](int r, int64_t i) MERCER_STEP {
                put((keep ? *e++ : load(y + i, count, T(0))) * share[r], y + i, count, stream);
            });
        });
    if (g.stream) stream_fence();
}

template <class T>
void softmax_backward(const Segments& g, const void* ys, const void* gs, void* to) {
    const T *y = static_cast<const T*>(ys), *grad = static_cast<const T*>(gs);
    T* dx = static_cast<T*>(to);
    if (g.stride == 1)
        return for_groups(
            g, y, [&](auto group, int64_t, int) { softmax_backward_group(group, y, grad, dx); });
    for (int64_t s = g.begin; s < g.end; ++s)
        for_registers<T, 8, 4, 1>(g.width, [&](int64_t c, auto registers, int count) MERCER_STEP {
            constexpr int n = registers.value;
            Vec<T> dot[n];
            for (int r = 0; r < n; ++r) dot[r] = Vec<T>(T(0));
            for_rows<T, n>(g, s, c, [&](int r, int64_t i) MERCER_STEP {
                fetch_beyond(grad + i), fetch_beyond(y + i);
                dot[r] = fma(load(grad + i, count, T(0)), load(y + i, count, T(0)), dot[r]);
            });
            for_rows<T, n>(g, s, c, [&](int r, int64_t i) MERCER_STEP {
                const Vec<T> away = load(grad + i, count, T(0)) - dot[r];
                put(load(y + i, count, T(0)) * away, dx + i, count, g.stream);
            });
        });
    if (g.stream) stream_fence();
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
    write_run(y, count * width, false, [&](int64_t i, int some) MERCER_STEP {
        return exp_falling(load(y + i, some, T(0)));
    });
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
