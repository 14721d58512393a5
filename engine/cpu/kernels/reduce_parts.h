// Runs and columns joined in canonical order (canonical.h): for kernels that reduce.
#pragma once

#include "engine/cpu/canonical.h"
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/kernels/turn.h"
#include "engine/cpu/reduce_table.h"

namespace mercer::MERCER_ISA {

/// The join of prepare(x_i) over a run; prepare(fill) must not change it.
template <class Op, class T, class Prepare>
MERCER_INLINE T joined_run(const T* x, int64_t n, T fill, Prepare prepare) {
    constexpr int lanes = Vec<T>::lanes;
    const auto load = [&](int64_t i, int count) MERCER_STEP {
        return prepare(count == lanes ? Vec<T>::load(x + i) : Vec<T>::load(x + i, count, fill));
    };
    if (n <= lanes)  // the other registers would hold the identity
        return across<Op>(Op::join(Vec<T>(Op::template identity<T>), load(0, int(n))));
    Canonical<T, Op> acc;
    canonical_for(acc, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        part = Op::join(part, load(i, count));
    });
    return acc.total();
}

/// Elements of a row that is turned, at most.
inline constexpr int short_row = 16;
/// Whether rows are that short, and enough to be turned.
template <class T>
MERCER_INLINE bool short_rows(int64_t n, int64_t count) {
    constexpr int lanes = Vec<T>::lanes;
    return lanes > 1 && n >= 2 && n <= short_row && count >= lanes;
}
/// turned_rows() of rows of n that follow one another in memory, which fill whole registers; how many it took.
template <int n, class T, class Body>
MERCER_INLINE int64_t dense_rows(const T* x, int64_t count, Body body) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t k = 0;
    for (; k + lanes <= count; k += lanes) {
        Vec<T> v[n];
#pragma GCC unroll 16
        for (int r = 0; r < n; ++r) {
            fetch_beyond(x + k * n + r * lanes);
            v[r] = Vec<T>::load(x + k * n + r * lanes);
        }
        turn<lanes>(v);
        body(v, n, k, lanes);
    }
    return k;
}
/// v[e], e < now, becomes the elements e of `rows` lines, `apart` elements from each other; what is `ahead` is asked for.
template <class T>
MERCER_INLINE void load_turned(const T* x, int64_t apart, int64_t ahead, int rows, int now,
                               Vec<T> (&v)[Vec<T>::lanes]) {
    constexpr int lanes = Vec<T>::lanes;
#pragma GCC unroll 16
    for (int r = 0; r < lanes; ++r) {
        const T* const row = x + (r < rows ? r : 0) * apart;
        __builtin_prefetch(row + ahead);
        v[r] = load(row, now, T(0));
    }
    turn<lanes>(v);
}

/// turned_rows() of rows of at most `most` elements, from row k on.
template <int most, class T, class Body>
MERCER_INLINE void spaced_rows(const T* x, int64_t n, int64_t step, int64_t k, int64_t count,
                               Body body) {
    constexpr int lanes = Vec<T>::lanes, line = int(64 / sizeof(T));
    int64_t ahead = lanes * step;  // 1 KiB or more, and whole rows
    for (const int64_t near = 1024 / int64_t(sizeof(T)); ahead && ahead < near && ahead > -near;)
        ahead *= 2;
    for (; k < count; k += lanes) {
        const int rows = int(count - k < lanes ? count - k : lanes);
        Vec<T> v[most];
        for (int i = 0; i < n; i += lanes) {
            Vec<T> part[lanes];
            load_turned(x + k * step + i, step, i % line == 0 ? ahead : 0, rows,
                        int(n - i < lanes ? n - i : lanes), part);
            for (int r = 0; r < lanes; ++r) v[i + r] = part[r];
        }
        body(v, int(n), k, rows);
    }
}
/// Calls body(v, n, k, rows) for short rows x + k·step, as many as a register has lanes at a time: v[i], i < n, holds the
/// elements i of rows k, k + 1, …
template <class T, class Body>
MERCER_INLINE void turned_rows(const T* x, int64_t n, int64_t step, int64_t count, Body body) {
    constexpr int line = int(64 / sizeof(T));
    int64_t k = 0;
    if (step == n) {
        if (n == 16) k = dense_rows<16>(x, count, body);
        if (n == 8) k = dense_rows<8>(x, count, body);
        if (n == 4) k = dense_rows<4>(x, count, body);
        if (n == 2) k = dense_rows<2>(x, count, body);
    }
    if (k == count) return;
    if (n <= line)
        spaced_rows<line>(x, n, step, k, count, body);
    else
        spaced_rows<short_row>(x, n, step, k, count, body);
}
/// Of n ≤ 16 parts the join in the order of the tree: lane(i) is part i, join(part j, part j + h, h + j) changes the former,
/// for h = 8, 4, 2, 1. Parts stay in registers.
template <int h = 8, class Lane, class Join>
MERCER_INLINE auto joined_few(int64_t n, Lane lane, Join join) {
    if constexpr (h > 1)
        if (n <= h) return joined_few<h / 2>(n, lane, join);
    decltype(lane(0)) part[h];
#pragma GCC unroll 8
    for (int j = 0; j < h; ++j) part[j] = lane(j);
#pragma GCC unroll 8
    for (int j = 0; j < h; ++j)
        if (h + j < n) join(part[j], lane(h + j), h + j);
#pragma GCC unroll 3
    for (int half = h / 2; half >= 1; half /= 2)
#pragma GCC unroll 4
        for (int j = 0; j < half; ++j) join(part[j], part[half + j], half + j);
    return part[0];
}
template <class Op>
struct JoinBy {
    template <class T>
    MERCER_INLINE void operator()(Vec<T>& part, Vec<T> other, int) const {
        part = Op::join(part, other);
    }
};
/// The join of prepare(v[i]), i < n, as joined_run joins one row.
template <class Op, class T, int most, class Prepare>
MERCER_INLINE Vec<T> joined_turned(const Vec<T> (&v)[most], int n, Prepare prepare) {
    return joined_few(
        n,
        [&](int i)
            MERCER_STEP { return Op::join(Vec<T>(Op::template identity<T>), prepare(v[i])); },
        JoinBy<Op>());
}

/// Lanes in the order of the tree that joins j and j + h for h = 32, 16, … 1: the one after j; after the last, 0.
constexpr int next_lane(int j) {
    int bit = canonical_lanes / 2;
    for (; j & bit; bit /= 2) j -= bit;
    return j + bit;
}

/// for_run() over columns that are met in several rows. The compiler is not told that c goes up: it would count up an address
/// for each row.
template <class T, class Step>
MERCER_INLINE void for_columns(int64_t columns, Step step) {
    for_run<T>(columns, [&](int64_t c, int count) MERCER_STEP {
        asm("" : "+r"(c));
        step(c, count);
    });
}

/// Columns of one block: at most `width` of them at a time. `uniform`: add is the same for all columns.
template <class Op, class T, bool uniform, class Add>
struct Columns {
    static constexpr int lanes = Vec<T>::lanes;
    static constexpr int width = int(4096 / sizeof(T)), narrow = int(256 / sizeof(T));

    const T* x;
    int64_t n, stride;
    int cols;
    Add add;  // add(part, v, c): the elements v from column c on joined to their parts

    /// Joins the columns into buffer[0, cols). The buffer holds 8 · width elements.
    MERCER_INLINE void join(T* buffer) const {
        if (n > 0 && n <= short_row)
            few(buffer);
        else if (cols > narrow)
            tree(0, 1, buffer);
        else
            stream(buffer);
    }

    // Few rows are a canonical lane each.
    void few(T* to) const {
        for_columns<T>(cols, [&](int64_t c, int count) MERCER_STEP {
            const auto lane = [&](int64_t i) MERCER_STEP {
                fetch_beyond(x + i * stride + c);
                return add(Vec<T>(Op::template identity<T>), load(x + i * stride + c, count, T(0)),
                           c);
            };
            store(joined_few(n, lane, JoinBy<Op>()), to + c, count);
        });
    }

    // Wide rows are read whole, one canonical lane (rows j, j + 64, …) after the other; lanes are visited in the order of
    // the tree, so that seven rows of partial results suffice.
    void tree(int j, int h, T* buffer) const {
        if (h == canonical_lanes) return lane(j, buffer);
        tree(j, 2 * h, buffer);
        if (j + h >= n) return;  // those lanes hold the identity
        T* right = buffer + width;
        tree(j + h, 2 * h, right);
        for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
            store(Op::join(load(buffer + c, count, T(0)), load(right + c, count, T(0))), buffer + c,
                  count);
        });
    }
    void lane(int j, T* to) const {
        const T* row = x + j * stride;
        const int64_t step = canonical_lanes * stride;
        int64_t rows = n > j ? (n - j + canonical_lanes - 1) / canonical_lanes : 0;
        if (rows == 0)
            return for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
                store(Vec<T>(Op::template identity<T>), to + c, count);
            });
        const int after = next_lane(j);
        bool fresh = true;
        while (rows > 0) {
            const int64_t now = rows >= 4 ? 4 : rows;
            // What is asked for while these are read: the lane's next rows, or the next lane's first.
            const T* const next = rows > now           ? row + now * step
                                  : after < n && after ? x + after * stride
                                                       : row;
            with_constant<4>(now, [&](auto n) MERCER_STEP {
                fresh ? pass<n.value, true>(row, step, to, next)
                      : pass<n.value, false>(row, step, to, next);
            });
            fresh = false, rows -= now, row += now * step;
        }
    }
    /// Some rows of a lane, joined to what it holds, or to the identity.
    template <int rows, bool fresh>
    void pass(const T* row, int64_t step, T* to, const T* next) const {
        for_run<T>(cols, [&](int64_t c, int count) MERCER_STEP {
            Vec<T> v = fresh ? Vec<T>(Op::template identity<T>) : load(to + c, count, T(0));
            for (int k = 0; k < rows; ++k) {
                __builtin_prefetch(next + k * step + c, 0, 2);
                v = add(v, load(row + k * step + c, count, T(0)), c);
            }
            store(v, to + c, count);
        });
    }

    // Narrow rows stream by; the 64 lanes of all columns stay in the first-level cache.
    void stream(T* acc) const {
        const int64_t used = n < canonical_lanes ? (n ? n : 1) : canonical_lanes;
        for (int64_t k = 0; k < used * cols; ++k) acc[k] = Op::template identity<T>;
        const auto join_row = [&](const T* from, T* to, int64_t size) MERCER_STEP {
            for_run<T>(size, [&](int64_t c, int count) MERCER_STEP {
                store(add(load(to + c, count, T(0)), load(from + c, count, T(0)), c), to + c,
                      count);
            });
        };
        // Dense rows, 64 of them, are one long row.
        const int64_t rows = uniform && stride == cols ? canonical_lanes : 1;
        for (int64_t i = 0; i < n; i += rows)
            join_row(x + i * stride, acc + (i % canonical_lanes) * cols,
                     (n - i < rows ? n - i : rows) * cols);
        for (int64_t half = canonical_lanes / 2; half >= 1; half /= 2) {
            const int64_t joined = used < 2 * half ? (used - half) * cols : half * cols;
            for_run<T>(joined < 0 ? 0 : joined, [&](int64_t k, int count) MERCER_STEP {
                store(
                    Op::join(load(acc + k, count, T(0)), load(acc + half * cols + k, count, T(0))),
                    acc + k, count);
            });
        }
    }
};

/// A register's results, `rows` of them, `step` apart; as To.
template <class T, class To>
MERCER_INLINE void put_results(Vec<T> v, To* to, int64_t step, int rows) {
    constexpr int lanes = Vec<T>::lanes;
    if constexpr (std::is_same_v<T, To>)
        if (step == 1) return rows == lanes ? v.store(to) : v.store(to, rows);
    T e[lanes];
    v.store(e);
    if (step == 1 && rows == lanes)
        for (int r = 0; r < lanes; ++r) to[r] = e[r];
    else
        for (int r = 0; r < rows; ++r) to[r * step] = e[r];
}

/// to[c · step] = from[c] for c < n. Not memcpy: the compiler makes string instructions of it, whose stores are slow here.
template <class T, class To>
MERCER_INLINE void spread(const T* from, To* __restrict to, int64_t step, int64_t n) {
    if (step != 1)
        for (int64_t c = 0; c < n; ++c) to[c * step] = To(from[c]);
    else if constexpr (std::is_same_v<T, To>)
        for_run<T>(n, [&](int64_t c, int count)
                          MERCER_STEP { store(load(from + c, count, T(0)), to + c, count); });
    else
        for (int64_t c = 0; c < n; ++c) to[c] = To(from[c]);
}

}  // namespace mercer::MERCER_ISA
