// Σ(x − m)², and the mean m as p + (m − p), p near it. Whole 64s of elements, the same number in each canonical lane, are met once (moments.h): a
// lane's few elements stay in registers between their sum and their squares. The rest of a run, or a run without whole
// 64s, is passed over twice, in cache. Memory is read once.
#include "engine/cpu/kernels/moments.h"

namespace mercer::MERCER_ISA {
namespace {

constexpr int most_in_lane = int(cpu::variance_chunk / canonical_lanes);

/// The mean of eight elements, n / 8 apart (or the first): what the others are taken relative to.
template <class T, class V, class Load>
MERCER_INLINE V near_mean(int64_t n, Load load) {
    if (n < 8) return load(0);
    V part[8];
    for (int i = 0; i < 8; ++i) part[i] = load(i * (n / 8));
    for (int h = 4; h >= 1; h /= 2)
        for (int i = 0; i < h; ++i) part[i] = part[i] + part[i + h];
    return part[0] * V(T(0.125));
}

/// Of lanes that hold q elements each, load(i) the i-th relative to p.
template <class T, class Load>
MERCER_INLINE Moments<T> lane_of(int q, Load load) {
    return q == most_in_lane ? Moments<T>::template of<most_in_lane>(q, load)
                             : Moments<T>::template of<0>(q, load);
}

/// Of 64·q elements of a run; `next` comes after.
template <class T>
MERCER_INLINE Moments<T> moments_of_run(const T* x, int q, Vec<T> p, T each, const T* next) {
    constexpr int lanes = Vec<T>::lanes, registers = canonical_lanes / lanes;
    Moments<T> part[registers];
#pragma GCC unroll 8
    for (int k = 0; k < registers; ++k) {
        for (int i = 0; i < q; ++i) __builtin_prefetch(next + i * canonical_lanes + k * lanes);
        part[k] = lane_of<T>(
            q, [&](int i) __attribute__((always_inline)) {
                return Vec<T>::load(x + i * canonical_lanes + k * lanes) - p;
            });
    }
    int h = canonical_lanes / 2;
    for (; h >= lanes; h /= 2)
        for (int k = 0; k < h / lanes; ++k) part[k].join(part[k + h / lanes], weight_of(h, each));
    join_across(part[0], each);
    return part[0];
}

template <class T>
void run(const cpu::ReduceArgs& args) {
    const T size = T(args.n);
    T* const near = static_cast<T*>(args.extra);  // p, then m − p, of each result
    T* const out = static_cast<T*>(args.out);
    if (short_rows<T>(args.n, args.count))
        return turned_rows(
            static_cast<const T*>(args.x), args.n, args.step, args.count,
            [&](const auto& v, int n, int64_t k, int rows) __attribute__((always_inline)) {
                const Vec<T> p = near_mean<T, Vec<T>>(n, [&](int64_t i) { return v[i]; });
                const Vec<T> m =
                    joined_turned<SumOp>(
                        v, n, [p](Vec<T> e) __attribute__((always_inline)) { return e - p; }) /
                    Vec<T>(size);
                const Vec<T> sum = joined_turned<SumOp>(
                    v, n, [ p, m ](Vec<T> e) __attribute__((always_inline)) {
                        const Vec<T> d = e - p - m;
                        return d * d;
                    });
                put_results(sum, out + k * args.out_step, args.out_step, rows);
                if (!near) return;
                put_results(p, near + 2 * k * args.out_step, 2 * args.out_step, rows);
                put_results(m, near + 2 * k * args.out_step + 1, 2 * args.out_step, rows);
            });
    const int q = int(args.n / canonical_lanes), rest = int(args.n % canonical_lanes);
    const T whole = T(args.n - rest);
    const T* x = static_cast<const T*>(args.x);
    for (int64_t k = 0; k < args.count; ++k, x += args.step) {
        const T p = near_mean<T, T>(args.n, [x](int64_t i) { return x[i]; });
        Moments<T> all{Vec<T>(T(0)), Vec<T>(T(0))};
        if (q > 0) all = moments_of_run(x, q, Vec<T>(p), T(1) / whole, x + args.step);
        if (rest > 0) {
            T d[canonical_lanes];
            const T* const from = x + (args.n - rest);
            pieces<T>(
                rest, [&](int64_t c, int count) __attribute__((always_inline)) {
                    store_piece(load_piece(from + c, count) - Vec<T>(p), d + c, count);
                });
            const T sum = joined_run<SumOp>(
                d, rest, T(0), [](Vec<T> v) __attribute__((always_inline)) { return v; });
            const T m = sum / T(rest);
            const T squares = joined_run<SumOp>(
                d, rest, m, [m](Vec<T> v) __attribute__((always_inline)) {
                    return (v - Vec<T>(m)) * (v - Vec<T>(m));
                });
            const Moments<T> more{Vec<T>(sum), Vec<T>(squares)};
            if (q > 0)
                all.join_rest(more, whole, T(rest));
            else
                all = more;
        }
        out[k * args.out_step] = first_lane(all.squares);
        if (near) {
            near[2 * k * args.out_step] = p;
            near[2 * k * args.out_step + 1] = first_lane(all.sum) / size;
        }
    }
}

/// A block of at most `width` columns of 64·q rows, that is q rows in each canonical lane. A buffer holds sums, then
/// squares.
template <class T>
struct Block {
    static constexpr int width = int(2048 / sizeof(T)), narrow = int(128 / sizeof(T));
    static constexpr int soon = int(1024 / sizeof(T)), buffer_size = 2 * 7 * width;

    const T *x, *p;
    int64_t stride;
    int q, cols;
    T each;  // 1 / (64·q)

    MERCER_INLINE void moments(T* to) const {
        if (stride == cols && cols <= narrow)
            dense(to);
        else
            tree(0, 1, to);
    }

private:
    /// Columns c … of lanes that hold q rows each, `step` apart from `row` on.
    MERCER_INLINE void put_lane(const T* row, int64_t step, Vec<T> p, T* sums, T* squares,
                                int count) const {
        const Moments<T> y = lane_of<T>(
            q, [&](int i) __attribute__((always_inline)) {
                return load_piece(row + i * step, count) - p;
            });
        store_piece(y.sum, sums, count);
        store_piece(y.squares, squares, count);
    }
    MERCER_INLINE void join(T* to, const T* other, int64_t apart, int64_t size, int h) const {
        const Vec<T> weight = weight_of(h, each);
        pieces<T>(
            size, [&](int64_t c, int count) __attribute__((always_inline)) {
                Moments<T> y{load_piece(to + c, count), load_piece(to + apart + c, count)};
                y.join({load_piece(other + c, count), load_piece(other + apart + c, count)},
                       weight);
                store_piece(y.sum, to + c, count);
                store_piece(y.squares, to + apart + c, count);
            });
    }
    // As Columns::tree(): seven lanes at most are kept at a time.
    void tree(int j, int h, T* to) const {
        if (h == canonical_lanes) return lane(j, to);
        tree(j, 2 * h, to);
        tree(j + h, 2 * h, to + 2 * width);
        join(to, to + 2 * width, width, cols, h);
    }
    // Rows that are a power of two apart share the sets of the caches: a lane asks for what is near in its own rows,
    // rather than for the next lane's.
    void lane(int j, T* to) const {
        const int64_t step = canonical_lanes * stride, ahead = cols < soon ? cols : soon;
        const T *const row = x + j * stride, *const next = x + next_lane(j) * stride - cols;
        pieces<T>(
            cols, [&](int64_t c, int count) __attribute__((always_inline)) {
                const T* const to_come = (c + ahead < cols ? row : next) + c + ahead;
                for (int i = 0; i < q; ++i) __builtin_prefetch(to_come + i * step);
                put_lane(row + c, step, load_piece(p + c, count), to + c, to + width + c, count);
            });
    }
    // Where few columns fill their rows, 64 rows are one long row.
    void dense(T* to) const {
        constexpr int most = canonical_lanes * narrow;
        alignas(64) T first[most], lanes[2 * most];
        const int64_t size = canonical_lanes * int64_t(cols);
        for (int64_t c = 0; c < size; ++c) first[c] = c < cols ? p[c] : first[c - cols];
        pieces<T>(
            size, [&](int64_t c, int count) __attribute__((always_inline)) {
                put_lane(x + c, size, load_piece(first + c, count), lanes + c, lanes + most + c,
                         count);
            });
        for (int h = canonical_lanes / 2; h >= 1; h /= 2)
            join(lanes, lanes + h * cols, most, h * int64_t(cols), h);
        for (int c = 0; c < cols; ++c) to[c] = lanes[c], to[width + c] = lanes[most + c];
    }
};

/// Joins `rest` < 64 more rows to what `all` holds of `whole` rows, or puts theirs there.
template <class T>
void join_rest(const T* x, int64_t stride, int rest, int cols, const T* p, T whole, T* all) {
    constexpr int width = Block<T>::width;
    alignas(64) T sums[8 * Columns<SumOp, T, false, int>::width], mean[width + Vec<T>::lanes];
    alignas(64) T squares[8 * Columns<SumOp, T, false, int>::width];
    const auto itself = [&](Vec<T> v, int64_t c) __attribute__((always_inline)) {
        return v - Vec<T>::load(p + c);
    };
    const auto spread_of = [&](Vec<T> v, int64_t c) __attribute__((always_inline)) {
        const Vec<T> d = v - Vec<T>::load(p + c) - Vec<T>::load(mean + c);
        return d * d;
    };
    Columns<SumOp, T, false, decltype(itself)>{x, rest, stride, cols, itself}.join(sums);
    for (int i = 0; i < cols; ++i) mean[i] = sums[i] / T(rest);
    Columns<SumOp, T, false, decltype(spread_of)>{x, rest, stride, cols, spread_of}.join(squares);
    pieces<T>(
        cols, [&](int64_t c, int count) __attribute__((always_inline)) {
            Moments<T> y{load_piece(sums + c, count), load_piece(squares + c, count)};
            if (whole > T(0)) {
                Moments<T> before{load_piece(all + c, count), load_piece(all + width + c, count)};
                before.join_rest(y, whole, T(rest));
                y = before;
            }
            store_piece(y.sum, all + c, count);
            store_piece(y.squares, all + width + c, count);
        });
}

template <class T>
void columns(const cpu::ReduceArgs& args) {
    constexpr int width = Block<T>::width;
    const int q = int(args.n / canonical_lanes), rest = int(args.n % canonical_lanes);
    const T size = T(args.n), whole = T(args.n - rest);
    T* const near = static_cast<T*>(args.extra);
    alignas(64) T p[width + Vec<T>::lanes];
    alignas(64) T all[Block<T>::buffer_size];
    for (int64_t c = 0; c < args.count; c += width) {
        const int cols = int(args.count - c < width ? args.count - c : width);
        const T* const x = static_cast<const T*>(args.x) + c;
        pieces<T>(
            cols, [&](int64_t i, int count) __attribute__((always_inline)) {
                store_piece(near_mean<T, Vec<T>>(
                                args.n,
                                [&](int64_t row) __attribute__((always_inline)) {
                                    return load_piece(x + row * args.stride + i, count);
                                }),
                            p + i, count);
            });
        if (q > 0) Block<T>{x, p, args.stride, q, cols, T(1) / whole}.moments(all);
        if (rest > 0)
            join_rest(x + (args.n - rest) * args.stride, args.stride, rest, cols, p, whole, all);
        spread(all + width, static_cast<T*>(args.out) + c * args.out_step, args.out_step, cols);
        for (int i = 0; near && i < cols; ++i) {
            T* const to = near + 2 * (c + i) * args.out_step;
            to[0] = p[i], to[1] = all[i] / size;
        }
    }
}

}  // namespace

extern const cpu::VarianceTable variance_table;
const cpu::VarianceTable variance_table = {
    {{run<float>, columns<float>}, {run<double>, columns<double>}}};

}  // namespace mercer::MERCER_ISA
