// Σ(x − m)², and the mean m as p + (m − p), p near it: what is left of the elements is small, and m keeps its digits.
// Memory is read once: means and squared deviations of two parts give those of both.
// (Chan, Golub & LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances", eq. 2.1)
//
// p is between the least and the greatest element, so that a mean far from zero costs no digits: |p − m| is at most √n
// standard deviations. As in every reduction element i goes to lane i mod 64, and lanes j and j + h are joined for
// h = 32, 16, … 1.
#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {
namespace {

/// S = Σ(x − p) and M = Σ(x − m)², m the mean of these x, in each lane.
template <class T>
struct Moments {
    Vec<T> sum, squares;

    /// Of load(i) = x_i − p, i < count (or `known`, if that is not 0); inverse = 1 / count.
    template <int known, class Load>
    static MERCER_INLINE Moments of(int count, Vec<T> inverse, Load load) {
        const int n = known ? known : count;
        Moments y{load(0), Vec<T>(T(0))};
#pragma GCC unroll 8
        for (int i = 1; i < n; ++i) y.sum = y.sum + load(i);
        const Vec<T> mean = y.sum * inverse;
#pragma GCC unroll 8
        for (int i = 0; i < n; ++i) {
            const Vec<T> d = load(i) - mean;
            y.squares = fma(d, d, y.squares);
        }
        return y;
    }
    /// With those of others. Of n and n' elements: ratio n' / n, weight n / (n' (n + n')).
    MERCER_INLINE void join(const Moments& other, Vec<T> ratio, Vec<T> weight) {
        const Vec<T> apart = fma(sum, ratio, -other.sum);
        squares = fma(apart * apart, weight, squares + other.squares);
        sum = sum + other.sum;
    }
};

/// How n elements lie in 64 lanes: `rest` lanes hold q + 1, the others q.
template <class T>
struct Lanes {
    int q, rest;
    T inverse[2];  // 1 / q, 1 / (q + 1)
    alignas(64) T ratio[canonical_lanes],
        weight[canonical_lanes];  // of lanes j and j + h, at h + j

    explicit Lanes(int64_t n)
        : q(int(n / canonical_lanes)),
          rest(int(n % canonical_lanes)),
          inverse{q > 0 ? T(1) / T(q) : T(0), T(1) / T(q + 1)} {
        for (int h = 1; h < canonical_lanes; h *= 2)
            runs(h, [&](int begin, int end, T r, T w) {
                for (int j = begin; j < end; ++j) ratio[h + j] = r, weight[h + j] = w;
            });
    }
    int count(int j) const { return q + (j < rest); }

    /// Calls body(begin, end, ratio, weight) for lanes j of [begin, end) that are joined with j + h in the same way.
    template <class Body>
    MERCER_INLINE void runs(int h, Body body) const {
        const int least = canonical_lanes / (2 * h) * q + rest / (2 * h), more = rest % (2 * h);
        const auto run = [&](int begin, int end, int n, int other) {
            if (begin >= end) return;
            const T a = T(n), b = T(other);
            body(begin, end, other ? b / a : T(0), other ? a / (b * (a + b)) : T(0));
        };
        const int both = more > h ? more - h : 0, one = more < h ? more : h;
        run(0, both, least + 1, least + 1);
        run(both, one, least + 1, least);
        run(one, h, least, least);
    }
};

constexpr int most_in_lane = int(cpu::variance_chunk / canonical_lanes);

template <class T>
alignas(64) constexpr T ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/// The mean of eight elements, n / 8 apart (of few elements, the first): what the others are taken relative to.
template <class T, class V, class Load>
MERCER_INLINE V near_mean(int64_t n, Load load) {
    if (n < canonical_lanes) return load(0);
    V part[8];
    for (int i = 0; i < 8; ++i) part[i] = load(i * (n / 8)) * V(T(0.125));  // no overflow
    for (int h = 4; h >= 1; h /= 2)
        for (int i = 0; i < h; ++i) part[i] = part[i] + part[i + h];
    return part[0];
}

/// Of a lane's `count` elements, load(i) the i-th relative to p.
template <class T, class Load>
MERCER_INLINE Moments<T> lane_of(int count, Vec<T> inverse, Load load) {
    return count == most_in_lane ? Moments<T>::template of<most_in_lane>(count, inverse, load)
                                 : Moments<T>::template of<0>(count, inverse, load);
}

/// What a kernel puts out: Σ(x − m)², and p and m − p where they are asked for.
template <class T>
struct Results {
    T *squares, *near;
    int64_t step;
    explicit Results(const cpu::ReduceArgs& args)
        : squares(static_cast<T*>(args.out)),
          near(static_cast<T*>(args.extra)),
          step(args.out_step) {}

    MERCER_INLINE void put(int64_t k, int count, Vec<T> p, Vec<T> m, Vec<T> sum) const {
        put_results(sum, squares + k * step, step, count);
        if (!near) return;
        put_results(p, near + 2 * k * step, 2 * step, count);
        put_results(m, near + 2 * k * step + 1, 2 * step, count);
    }
};

/// What is left of elements x … x + count − 1 without p and m; nothing in the other lanes.
template <class T>
MERCER_INLINE Vec<T> deviation(const T* x, int count, Vec<T> p, Vec<T> m) {
    if (count == Vec<T>::lanes) return Vec<T>::load(x) - p - m;
    // Not a product: beyond `count` p + m may be infinite.
    return select(Vec<T>::load(ones<T>, count, T(0)) == Vec<T>(T(1)), load(x, count, T(0)) - p - m,
                  Vec<T>(T(0)));
}

// Two passes: while a run's squares are summed from cache, memory brings the next run for its mean.
template <class T>
void run(const cpu::ReduceArgs& args) {
    const Results<T> results(args);
    const Vec<T> size(T(args.n)), none(T(0));
    const T* x = static_cast<const T*>(args.x);
    if (short_rows<T>(args.n, args.count))
        return turned_rows(
            x, args.n, args.step, args.count,
            [&](const auto& v, int n, int64_t k, int rows) MERCER_STEP {
                const Vec<T> p = near_mean<T, Vec<T>>(n, [&](int64_t i) { return v[i]; });
                const Vec<T> m =
                    joined_turned<SumOp>(v, n, [p](Vec<T> e) MERCER_STEP { return e - p; }) / size;
                const Vec<T> squares = joined_turned<SumOp>(v, n, [p, m](Vec<T> e) MERCER_STEP {
                    const Vec<T> d = e - p - m;
                    return d * d;
                });
                results.put(k, rows, p, m, squares);
            });
    const auto near = [&args](const T* from) {
        return Vec<T>(near_mean<T, T>(args.n, [from](int64_t i) { return from[i]; }));
    };
    if (args.count == 0) return;
    Vec<T> p = near(x), m;
    Canonical<T, SumOp> first;
    canonical_for(first, args.n, [&](Vec<T>& sum, int64_t i, int count) MERCER_STEP {
        sum = sum + deviation(x + i, count, p, none);
    });
    m = Vec<T>(first.total()) / size;
    for (int64_t k = 0; k < args.count; ++k, x += args.step) {
        const bool last = k + 1 == args.count;
        const T* const next = last ? x : x + args.step;
        const Vec<T> p_next = near(next);
        Canonical<T, SumOp> squares, sum;
        canonical_run<T>(
            args.n,
            [&](int64_t i, int count, Vec<T>& s, Vec<T>& total) MERCER_STEP {
                __builtin_prefetch(next + args.step + i);
                const Vec<T> d = deviation(x + i, count, p, m);
                s = fma(d, d, s);
                total = total + deviation(next + i, count, p_next, none);
            },
            squares, sum);
        results.put(k, 1, p, m, Vec<T>(squares.total()));
        p = p_next;
        m = Vec<T>(sum.total()) / size;
    }
}

/// A block of at most `width` columns. A buffer holds sums, then squares.
template <class T>
struct Block {
    static constexpr int width = int(2048 / sizeof(T)), narrow = int(256 / sizeof(T));
    static constexpr int soon = int(1024 / sizeof(T)), buffer_size = 2 * 7 * width;

    const T *x, *p;
    int64_t stride;
    int cols;
    const Lanes<T>& by;

    MERCER_INLINE void moments(T* to) const {
        if (stride == cols && cols <= narrow)
            dense(to);
        else
            tree(0, 1, to);
    }

private:
    /// Columns of lanes that hold n rows each, `step` apart from `row` on.
    MERCER_INLINE void put_lane(const T* row, int64_t step, int n, Vec<T> p_here, T* sums,
                                T* squares, int count) const {
        const Moments<T> y = lane_of<T>(n, Vec<T>(by.inverse[n > by.q]), [&](int i) MERCER_STEP {
            return load(row + i * step, count, T(0)) - p_here;
        });
        store(y.sum, sums, count);
        store(y.squares, squares, count);
    }
    MERCER_INLINE void join(T* to, const T* other, int64_t apart, int64_t size, T ratio,
                            T weight) const {
        for_run<T>(size, [&](int64_t c, int count) MERCER_STEP {
            Moments<T> y{load(to + c, count, T(0)), load(to + apart + c, count, T(0))};
            y.join({load(other + c, count, T(0)), load(other + apart + c, count, T(0))},
                   Vec<T>(ratio), Vec<T>(weight));
            store(y.sum, to + c, count);
            store(y.squares, to + apart + c, count);
        });
    }
    // As Columns::tree(): seven lanes at most are kept at a time.
    void tree(int j, int h, T* to) const {
        if (h == canonical_lanes) return lane(j, to);
        tree(j, 2 * h, to);
        if (by.count(j + h) == 0) return;
        tree(j + h, 2 * h, to + 2 * width);
        join(to, to + 2 * width, width, cols, by.ratio[h + j], by.weight[h + j]);
    }
    // Rows that are a power of two apart share the sets of the caches: a lane asks for what is near in its own rows,
    // rather than for the next lane's.
    void lane(int j, T* to) const {
        const int n = by.count(j);
        const int64_t step = canonical_lanes * stride, ahead = cols < soon ? cols : soon;
        const T *const row = x + j * stride, *const next = x + next_lane(j) * stride - cols;
        for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
            const T* const to_come = (c + ahead < cols ? row : next) + c + ahead;
            for (int i = 0; i < n; ++i) __builtin_prefetch(to_come + i * step);
            put_lane(row + c, step, n, load(p + c, count, T(0)), to + c, to + width + c, count);
        });
    }
    // Where few columns fill their rows, 64 rows are one long row.
    void dense(T* to) const {
        constexpr int most = canonical_lanes * narrow;
        alignas(64) T first[most], lanes[2 * most];
        const int64_t size = canonical_lanes * int64_t(cols), longer = by.rest * int64_t(cols);
        for (int64_t c = 0; c < size; ++c) first[c] = c < cols ? p[c] : first[c - cols];
        const auto put = [&](int64_t begin, int64_t end, int n) MERCER_STEP {
            for_run<T>(end - begin, [&](int64_t c, int count) MERCER_STEP {
                c += begin;
                put_lane(x + c, size, n, load(first + c, count, T(0)), lanes + c, lanes + most + c,
                         count);
            });
        };
        if (by.rest > 0) put(0, longer, by.q + 1);
        if (by.q > 0) put(longer, size, by.q);
        for (int h = canonical_lanes / 2; h >= 1; h /= 2)
            by.runs(h, [&](int begin, int end, T ratio, T weight) {
                if (weight > T(0))
                    join(lanes + begin * cols, lanes + (begin + h) * cols, most,
                         (end - begin) * int64_t(cols), ratio, weight);
            });
        for (int c = 0; c < cols; ++c) to[c] = lanes[c], to[width + c] = lanes[most + c];
    }
};

template <class T>
void columns(const cpu::ReduceArgs& args) {
    constexpr int width = Block<T>::width;
    const Lanes<T> by(args.n);
    const Results<T> results(args);
    const Vec<T> size(T(args.n));
    if (args.n <= short_row)  // each a canonical lane
        return for_columns<T>(args.count, [&](int64_t c, int count) MERCER_STEP {
            const T* const x = static_cast<const T*>(args.x) + c;
            const Vec<T> p = load(x, count, T(0));
            const auto lane = [&](int64_t i) MERCER_STEP {
                fetch_beyond(x + i * args.stride);
                const Vec<T> d = load(x + i * args.stride, count, T(0)) - p;
                return Moments<T>{d, d - d};  // NaN of what is not finite
            };
            const Moments<T> y = joined_few(
                args.n, lane, [&](Moments<T>& a, const Moments<T>& b, int k) MERCER_STEP {
                    a.join(b, Vec<T>(by.ratio[k]), Vec<T>(by.weight[k]));
                });
            results.put(c, count, p, y.sum / size, y.squares);
        });
    alignas(64) T p[width];
    alignas(64) T all[Block<T>::buffer_size];
    for (int64_t c = 0; c < args.count; c += width) {
        const int cols = int(args.count - c < width ? args.count - c : width);
        const T* const x = static_cast<const T*>(args.x) + c;
        for_run<T>(cols, [&](int64_t i, int count) MERCER_STEP {
            store(near_mean<T, Vec<T>>(args.n,
                                       [&](int64_t row) MERCER_STEP {
                                           return load(x + row * args.stride + i, count, T(0));
                                       }),
                  p + i, count);
        });
        Block<T>{x, p, args.stride, cols, by}.moments(all);
        for_run<T>(cols, [&](int64_t i, int count) MERCER_STEP {
            results.put(c + i, count, load(p + i, count, T(0)), load(all + i, count, T(0)) / size,
                        load(all + width + i, count, T(0)));
        });
    }
}

}  // namespace

extern const cpu::VarianceTable variance_table = {
    {{run<float>, columns<float>}, {run<double>, columns<double>}}};

}  // namespace mercer::MERCER_ISA
