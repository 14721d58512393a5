// The extremum and the first index where it stands; NaN wins over numbers. A run finds the extremum in one pass and its
// index in a second one over what the cache holds; columns carry both. A call sees less than 2³¹ elements for each result.
#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {
namespace {

/// Whether a, met after b, takes its place.
template <class Op, class T>
MERCER_INLINE Mask<T> beats(Vec<T> a, Vec<T> b) {
    return (std::is_same_v<Op, MaxOp> ? a > b : a < b) || (is_nan(a) && !is_nan(b));
}

// The first i with x_i = value, or with x_i NaN if value is: the four registers it is in, without branches that cannot be
// foretold the smallest index in them; lanes beyond repeat the value.
template <class T>
MERCER_INLINE int64_t find(const T* x, int64_t n, T value) {
    using Index = typename IntOf<T>::type;
    constexpr int lanes = Vec<T>::lanes;
    const Vec<T> v(value);
    const Mask<T> nan = is_nan(v);
    const auto hit = [&](int64_t i) MERCER_STEP {
        const Vec<T> e =
            i + lanes <= n ? Vec<T>::load(x + i) : Vec<T>::load(x + i, int(n - i), value);
        return e == v || (nan && is_nan(e));
    };
    int64_t i = 0;
    for (; i + 4 * lanes < n; i += 4 * lanes)
        if (any(hit(i) || hit(i + lanes) || hit(i + 2 * lanes) || hit(i + 3 * lanes))) break;
    Index places[lanes];
    for (int k = 0; k < lanes; ++k) places[k] = Index(k);
    Vec<Index> first(Index(4 * lanes));
    for (int k = 3; k >= 0; --k)
        if (i + k * lanes < n)
            first = select(hit(i + k * lanes).template as<Index>(),
                           Vec<Index>::load(places) + Vec<Index>(Index(k * lanes)), first);
    return i + across<MinOp>(first);
}

/// The best element so far in each lane, and the first row it stands in.
template <class Op, class T>
struct Best {
    using Index = typename IntOf<T>::type;
    Vec<T> value;
    Vec<Index> row = Vec<Index>(Index(0));

    MERCER_INLINE void meet(Vec<T> v, int64_t i) {
        take(beats<Op>(v, value), v, Vec<Index>(Index(i)));
    }
    /// What was met in any order: of equals the first row.
    MERCER_INLINE void meet_any(Vec<T> v, Vec<Index> i) {
        const Mask<T> alike = v == value || (is_nan(v) && is_nan(value));
        take(beats<Op>(v, value) || (alike && (i < row).template as<T>()), v, i);
    }

private:
    MERCER_INLINE void take(Mask<T> better, Vec<T> v, Vec<Index> i) {
        value = select(better, v, value);
        row = select(better.template as<Index>(), i, row);
    }
};

template <class Op, class T>
void run(const cpu::ReduceArgs& args) {
    if (short_rows<T>(args.n, args.count))
        return turned_rows(
            static_cast<const T*>(args.x), args.n, args.step, args.count,
            [&](const auto& v, int n, int64_t k, int rows) MERCER_STEP {
                Best<Op, T> best{v[0]};
                for (int i = 1; i < n; ++i) best.meet(v[i], i);
                put_results(best.row, static_cast<int64_t*>(args.out) + k * args.out_step,
                            args.out_step, rows);
                if (args.extra)
                    put_results(best.value, static_cast<T*>(args.extra) + k * args.out_step,
                                args.out_step, rows);
            });
    for (int64_t k = 0; k < args.count; ++k) {
        const T* x = static_cast<const T*>(args.x) + k * args.step;
        const T best = joined_run<Op>(x, args.n, Op::template identity<T>,
                                      [](Vec<T> v) MERCER_STEP { return v; });
        static_cast<int64_t*>(args.out)[k * args.out_step] = find(x, args.n, best);
        if (args.extra) static_cast<T*>(args.extra)[k * args.out_step] = best;
    }
}

/// Rows i … i + rows − 1 of some columns, one after the other, against the best so far.
template <class Op, int rows, class T, class Index>
MERCER_INLINE void meet(const T* row, int64_t stride, int64_t i, int cols, T* best, Index* at) {
    for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
        Best<Op, T> b{Vec<T>::load(best + c), Vec<Index>::load(at + c)};
        for (int k = 0; k < rows; ++k) {
            const T* p = row + k * stride + c;
            if (rows > 1) __builtin_prefetch(p + rows * stride, 0, 2);
            b.meet(load(p, count, T(0)), i + k);
        }
        store(b.value, best + c, count);
        store(b.row, at + c, count);
    });
}

/// Results of columns c … c + cols − 1.
template <class T, class Index>
MERCER_INLINE void put_places(const cpu::ReduceArgs& args, int64_t c, const T* best,
                              const Index* at, int cols) {
    const int64_t place = c * args.out_step;
    spread(at, static_cast<int64_t*>(args.out) + place, args.out_step, cols);
    if (args.extra) spread(best, static_cast<T*>(args.extra) + place, args.out_step, cols);
}

/// Of few columns, dense: `rows` rows are one long row, whose places go together in the end.
template <class Op, class T>
void narrow_columns(const cpu::ReduceArgs& args, int rows) {
    using Index = typename IntOf<T>::type;
    const int cols = int(args.count), wide = rows * cols;
    constexpr int room = cpu::long_row + Vec<T>::lanes;
    alignas(64) T best[room];
    alignas(64) Index at[room];
    const T* x = static_cast<const T*>(args.x);
    for (int c = 0; c < wide; ++c) best[c] = x[c], at[c] = 0;
    const int64_t groups = args.n / rows;
    for (int64_t g = 1; g < groups; ++g) meet<Op, 1>(x + g * wide, wide, g * rows, wide, best, at);
    meet<Op, 1>(x + groups * wide, wide, groups * rows, int(args.n % rows) * cols, best, at);
    for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
        Best<Op, T> b{Vec<T>::load(best + c), Vec<Index>::load(at + c)};
        for (int r = 1; r < rows; ++r)
            b.meet_any(Vec<T>::load(best + r * cols + c),
                       Vec<Index>::load(at + r * cols + c) + Vec<Index>(Index(r)));
        store(b.value, best + c, count);
        store(b.row, at + c, count);
    });
    put_places(args, 0, best, at, cols);
}

template <class Op, class T>
void columns(const cpu::ReduceArgs& args) {
    using Index = typename IntOf<T>::type;
    constexpr int width = int(4096 / sizeof(T));
    if (const int64_t rows = cpu::joined_rows(args); rows > 1)
        return narrow_columns<Op, T>(args, int(rows));
    alignas(64) T best[width];
    alignas(64) Index at[width];
    for (int64_t c0 = 0; c0 < args.count; c0 += width) {
        const int cols = int(args.count - c0 < width ? args.count - c0 : width);
        const T* x = static_cast<const T*>(args.x) + c0;
        if (args.n <= short_row) {
            for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
                const auto lane = [&](int64_t i) MERCER_STEP {
                    fetch_beyond(x + i * args.stride + c);
                    return load(x + i * args.stride + c, count, T(0));
                };
                Best<Op, T> b{lane(0)};
                for (int64_t i = 1; i < args.n; ++i) b.meet(lane(i), i);
                b.value.store(best + c);
                b.row.store(at + c);
            });
        } else {
            for (int c = 0; c < cols; ++c) best[c] = x[c], at[c] = 0;
            int64_t i = 1;
            // Several at a time where rows are far apart; memory in a row is best read in its order.
            for (; args.stride > width && i + 4 <= args.n; i += 4)
                meet<Op, 4>(x + i * args.stride, args.stride, i, cols, best, at);
            for (; i < args.n; ++i)
                meet<Op, 1>(x + i * args.stride, args.stride, i, cols, best, at);
        }
        put_places(args, c0, best, at, cols);
    }
}

template <class Op, class T>
constexpr cpu::ReduceKernel both = {run<Op, T>, columns<Op, T>};
#define MERCER_ALL(Op) \
    { both<Op, float>, both<Op, double>, both<Op, int32_t>, both<Op, int64_t> }

}  // namespace

extern const cpu::ArgTable arg_table = {{MERCER_ALL(MaxOp), MERCER_ALL(MinOp)}};

}  // namespace mercer::MERCER_ISA
