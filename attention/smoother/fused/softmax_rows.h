// Softmax of a tile's rows, and back.
#pragma once

#include "attention/smoother/fused/log_row.h"
#include "attention/smoother/fused/powers.h"

namespace mercer::MERCER_ISA {
namespace {

/// Σ p·(z − max) for the new maximum, before it is multiplied by 2^{old − new} = f.
template <class T>
MERCER_INLINE void shift_moments(T* moments, const T* parts, T f) {
    if (f == T(1) || f == T(0)) return;
    const Vec<T> change = log2(Vec<T>(f));
    for (int64_t i = 0; i < sum_lanes; i += Vec<T>::lanes)
        fma(Vec<T>::load(parts + i), change, Vec<T>::load(moments + i)).store(moments + i);
}

/// max ← the rows' maxima, of a tile without flags.
template <class T, bool terms>
MERCER_APART void plain_maxima(const LogTile<T>& t, T* max) {
    for (int64_t r = 0; r < t.rows; ++r) {
        const PlainRow<T, terms> row(t, r);
        Canonical<T, PlainMax> largest;
        canonical_run<T>(
            row.count(),
            [&](int64_t i, int count, Vec<T>& part)
                MERCER_STEP { part = PlainMax::join(part, row.raw(i, count)); },
            largest);
        max[r] = row.of_raw(largest.total());
    }
}
/// With flags; z ← the raw logs.
template <class T>
MERCER_APART void flagged_maxima(const LogTile<T>& t, T* max) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const LogRow<T> logs(t, r, lower_end<T>);
        Canonical<T, PlainMax> largest;
        canonical_for(largest, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> v = logs.raw(i, count);
            store(v, z + i, count);
            part = PlainMax::join(part, v);
        });
        max[r] = logs.of_raw(largest.total());
    }
}
/// What exponents are subtracted from: a row of −∞ only gets zeros.
template <class T>
MERCER_INLINE Vec<T> finite_top(T max) {
    return Vec<T>(max == lower_end<T> ? T(0) : max);
}
template <class T, bool terms>
MERCER_APART void plain_exponentials(const LogTile<T>& t, const T* max, T* parts, const T* factor) {
    for (int64_t r = 0; r < t.rows; ++r) {
        PlainRow<T, terms> row(t, r);
        const Vec<T> m = finite_top(max[r]);
        row.settle(max[r], row.count());
        Canonical<T, SumOp> sum;
        canonical_run<T>(
            row.count(),
            [&](int64_t i, int count, Vec<T>& part) MERCER_STEP {
                const Vec<T> e = power(row.minus(row.raw(i, count), m));
                store(e, row.z + i, count);
                part = part + e;
            },
            sum);
        row.clear_around(t.z + r * t.row, t.columns);
        add_parts(parts + r * sum_lanes, factor[r], sum);
    }
}
/// Of rows that hold the raw logs.
template <class T>
MERCER_APART void flagged_exponentials(const LogTile<T>& t, const T* max, T* parts,
                                       const T* factor) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        LogRow<T> logs(t, r, lower_end<T>);
        logs.settle(max[r], t.columns);
        const Vec<T> m = finite_top(max[r]);
        Canonical<T, SumOp> sum;
        canonical_for(sum, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> e = power(logs.minus(load(z + i, count, lower_end<T>), m));
            store(e, z + i, count);
            part = part + e;
        });
        add_parts(parts + r * sum_lanes, factor[r], sum);
    }
}
/// Of all rows, with their moments.
template <class T>
MERCER_APART void exponentials_and_moments(const LogTile<T>& t, const T* max, T* parts, T* moments,
                                           const T* factor) {
    for (int64_t r = 0; r < t.rows; ++r, parts += sum_lanes, moments += sum_lanes) {
        T* z = t.z + r * t.row;
        LogRow<T> logs(t, r, lower_end<T>);
        logs.settle(max[r], t.columns);
        const Vec<T> m = finite_top(max[r]);
        Canonical<T, SumOp> sum, moment;
        canonical_run<T>(
            t.columns,
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& moment_part) MERCER_STEP {
                const Vec<T> v = t.seen ? load(z + i, count, lower_end<T>) : logs.raw(i, count),
                             d = logs.minus(v, m), p = power(d);
                store(p, z + i, count);
                part = part + p;
                moment_part = select(p == Vec<T>(T(0)), moment_part, fma(p, d, moment_part));
            },
            sum, moment);
        shift_moments(moments, parts, factor[r]);
        add_parts(moments, factor[r], moment);
        add_parts(parts, factor[r], sum);
    }
}

/// max ← something near the largest log of a row, if it is the first time that it sees any: 0 where the first
/// of many is near 0, else the largest of the first. Returns the least of all rows.
template <class T, bool terms>
MERCER_APART T first_maxima(const LogTile<T>& t, T* max) {
    T least = -lower_end<T>;
    for (int64_t r = 0; r < t.rows; ++r) {
        if (max[r] == lower_end<T>) {
            const PlainRow<T, terms> row(t, r);
            const int64_t n = row.count();
            if (n <= 0) continue;
            const T first = row.of_raw(first_lane(row.raw(0, 1)));
            constexpr T near = attention::most_slack;
            if (n > canonical_lanes && first > -near && first < near) {
                max[r] = T(0);
            } else {
                Canonical<T, PlainMax> largest;
                canonical_run<T>(
                    n < canonical_lanes ? n : canonical_lanes,
                    [&](int64_t i, int count, Vec<T>& part)
                        MERCER_STEP { part = PlainMax::join(part, row.raw(i, count)); },
                    largest);
                max[r] = row.of_raw(largest.total());
            }
        }
        least = max[r] < least ? max[r] : least;
    }
    return least;
}
template <class T, bool terms>
MERCER_APART void bounded_powers(const LogTile<T>& t, const T* max, T* parts) {
    for (int64_t r = 0; r < t.rows; ++r) {
        const PlainRow<T, terms> row(t, r);
        const Vec<T> m(max[r]);
        Canonical<T, SumOp> sum;
        canonical_run<T>(
            row.count(),
            [&](int64_t i, int count, Vec<T>& part) MERCER_STEP {
                const Vec<T> x = row.minus(row.raw(i, count), m),
                             e = count == Vec<T>::lanes ? power<true>(x) : power(x);
                store(e, row.z + i, count);
                part = part + e;
            },
            sum);
        row.clear_around(t.z + r * t.row, t.columns);
        add_parts(parts + r * sum_lanes, T(1), sum);
    }
}
// Three sweeps over the tile, for in each the rows are independent of each other: their maxima, what
// those change, the exponentials. The last alone where no row's maximum can grow by more than the slack
// and no power of two is too small.
template <class T>
bool soften(const LogTile<T>& t, const attention::LogBounds<T>& bounds, T* max, T* parts,
            T* moments, T* factor) {
    const bool terms = t.column_terms;
    if (!t.seen && !moments) {
        const T least = (terms ? first_maxima<T, true> : first_maxima<T, false>)(t, max);
        if (bounds.upper - least <= bounds.slack &&
            bounds.upper + bounds.lower <= T(Format<T>::bias - 2)) {
            (terms ? bounded_powers<T, true> : bounded_powers<T, false>)(t, max, parts);
            return false;
        }
    }
    const auto maxima = t.seen  ? flagged_maxima<T>
                        : terms ? plain_maxima<T, true>
                                : plain_maxima<T, false>;
    maxima(t, factor);
    // Where the maximum stays nothing has to be made to fit. Entropies are exact.
    const Vec<T> slack(moments ? T(0) : bounds.slack);
    for_run<T>(t.rows, [&](int64_t i, int count) MERCER_STEP {
        const Vec<T> before = load(max + i, count, T(0)), here = load(factor + i, count, T(0)),
                     top = select(here > before + slack, here, before);
        // What is multiplied is 0 before the first tile.
        const Mask<T> same = before == top || before == Vec<T>(lower_end<T>);
        store(select(same, Vec<T>(T(1)), power(before - top)), factor + i, count);
        store(top, max + i, count);
    });
    if (moments) {
        exponentials_and_moments(t, max, parts, moments, factor);
        return true;
    }
    const auto exponentials = t.seen  ? flagged_exponentials<T>
                              : terms ? plain_exponentials<T, true>
                                      : plain_exponentials<T, false>;
    exponentials(t, max, parts, factor);
    return true;
}

template <class T>
void finish_softmax(int64_t rows, T* max, const T* parts, const T* moments, T* share, T* entropy) {
    for (int64_t r = 0; r < rows; ++r) {
        const T sum = total_of(parts + r * sum_lanes);
        if (max[r] == lower_end<T>) max[r] = T(0);
        share[r] = sum == T(0) ? T(0) : T(1) / sum;
        if (entropy)  // log Σ − ln 2·Σ p(z − max)
            entropy[r] = sum == T(0) ? T(0)
                                     : first_lane(log(Vec<T>(sum))) -
                                           Ln2<T>::high * (total_of(moments + r * sum_lanes) / sum);
    }
}

// Σ of both is Σ₁2^{max₁ − max} + Σ₂2^{max₂ − max}, the shares a, b of both in it their outputs' factors;
// the entropy a·(H₁ − log a) + b·(H₂ − log b). A share of 0: nothing was seen.
template <class T>
void join(int64_t rows, T* max, T* share, T* entropy, const T* other_max, const T* other_share,
          const T* other_entropy, T* factor, T* other_factor) {
    const Vec<T> zero(T(0));
    write_run(factor, rows, false, [&](int64_t i, int count) MERCER_STEP {
        const Vec<T> s = load(share + i, count, T(0)), o = load(other_share + i, count, T(0)),
                     m = load(max + i, count, T(0)), n = load(other_max + i, count, T(0));
        const Mask<T> nothing = s == zero, nothing_there = o == zero;
        const Vec<T> top = select(nothing, n, select(nothing_there, m, PlainMax::join(m, n))),
                     first = select(nothing, zero, power(m - top) / s),
                     second = select(nothing_there, zero, power(n - top) / o),
                     total = first + second,
                     all = select(total == zero, zero, Vec<T>(T(1)) / total),
                     a = select(nothing, zero, first * all),
                     b = select(nothing_there, zero, second * all);
        store(top, max + i, count);
        store(all, share + i, count);
        store(b, other_factor + i, count);
        if (entropy) {
            const Vec<T> h = load(entropy + i, count, T(0)) - log(a),
                         g = load(other_entropy + i, count, T(0)) - log(b);
            store(select(a == zero, zero, a * h) + select(b == zero, zero, b * g), entropy + i,
                  count);
        }
        return a;
    });
}

template <class T, bool terms>
MERCER_APART void plain_unsoften(const LogTile<T>& t, T* g, const T* max, const T* share,
                                 const T* D) {
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        PlainRow<T, terms> row(t, r);
        const Vec<T> m(max[r]), scale(share[r]), d(D[r]);
        row.settle(max[r], row.count());
        T* const to = g + row.columns.first;
        write_run(row.z, row.count(), false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> p = power(row.minus(row.raw(i, count), m)) * scale;
            store(p * (load(to + i, count, T(0)) - d), to + i, count);
            return p;
        });
        row.clear_around(t.z + r * t.row, t.columns);
        row.clear_around(g, t.columns);
    }
}

template <class T>
void unsoften(const LogTile<T>& t, T* g, const T* max, const T* share, const T* D, const T* slope) {
    if (!t.seen && !t.whole && !slope)
        return (t.column_terms ? plain_unsoften<T, true> : plain_unsoften<T, false>)(t, g, max,
                                                                                     share, D);
    T room[attention::tile_keys];
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        T* z = t.z + r * t.row;
        LogRow<T> logs(t, r, lower_end<T>);
        const Vec<T> m(max[r]), scale(share[r]);
        logs.settle(max[r], t.columns);
        const Vec<T> tilt(slope ? slope[r] * Ln2<T>::high : T(0));
        const auto away = [&](int64_t i, int count)
                              MERCER_STEP { return logs.minus(logs.raw(i, count), m); };
        T total = D[r];
        if (t.whole) {
            write_run(room, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
                return power(away(i, count)) * scale;
            });
            total += weighted(t.columns, room, g);
        }
        const Vec<T> d(total);
        write_run(z, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> a = away(i, count),
                         p = t.whole ? load(room + i, count, T(0)) : power(a) * scale;
            Vec<T> dp = load(g + i, count, T(0)) - d;
            if (slope) dp = fma(tilt, select(p == Vec<T>(T(0)), p, a), dp);
            store(logs.shown(p * dp, i), g + i, count);
            return logs.shown(p, i);  // 0, though the row be NaN
        });
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
