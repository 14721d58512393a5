// Sums in the canonical order, a row's lanes kept from tile to tile: the same bits on every
// instruction set.
#include "attention/smoother/fused/weights_table.h"
#include "engine/cpu/kernels/entmax_alpha.h"
#include "engine/cpu/kernels/entmax_threshold.h"

namespace mercer::MERCER_ISA {
namespace {

using attention::LogTile;
using attention::SparseKind;
using attention::Statistics;
using attention::sum_lanes;

/// The lanes that are seen; a register's width of bytes is read.
template <class T>
MERCER_INLINE Mask<T> seen_lanes(const bool* seen) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return {*seen};
#else
    typedef signed char Bytes __attribute__((vector_size(Vec<T>::lanes)));
    Bytes bytes;
    __builtin_memcpy(&bytes, seen, sizeof bytes);
    return {__builtin_convertvector(bytes, typename Mask<T>::Register) != 0};
#endif
}

/// Lanes i, i + 1, … that are at least `bound`.
template <class T>
MERCER_INLINE Mask<T> from(int64_t i, int64_t bound) {
    static constexpr T count[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return Vec<T>::load(count) >= Vec<T>(T(bound - i));
}

/// Row r of a tile: scale·z + column_terms, `hidden` where not seen and beyond the row.
template <class T>
struct LogRow {
    const T *z, *terms;
    const bool* seen;
    TileColumns columns;
    Vec<T> scale;
    T hidden;
    MERCER_INLINE LogRow(const LogTile<T>& t, int64_t r, T h)
        : z(t.z + r * t.row),
          terms(t.column_terms),
          seen(t.seen ? t.seen + r * t.seen_row : nullptr),
          columns(t.intervals ? t.intervals[r] : TileColumns{0, t.columns}),
          scale(t.scale),
          hidden(h) {}
    MERCER_INLINE Vec<T> operator()(int64_t i, int count) const {
        Vec<T> v = load(z + i, count, hidden);
        v = terms ? fma(v, scale, load(terms + i, count, T(0))) : v * scale;
        return show(v, i, Vec<T>(hidden));
    }
    /// v, and `other` for hidden keys.
    MERCER_INLINE Vec<T> show(Vec<T> v, int64_t i, Vec<T> other) const {
        if (seen) return select(seen_lanes<T>(seen + i), v, other);
        if (i < columns.first) v = select(from<T>(i, columns.first), v, other);
        if (i + Vec<T>::lanes > columns.end) v = select(from<T>(i, columns.end), other, v);
        return v;
    }
    MERCER_INLINE Vec<T> shown(Vec<T> v, int64_t i) const { return show(v, i, Vec<T>(T(0))); }
};

/// What row r sees of a tile without flags, which is all in [first, end); i counts from `first`.
template <class T, bool with_terms>
struct PlainRow {
    T* z;
    const T* terms;
    TileColumns columns;
    Vec<T> scale;
    MERCER_INLINE PlainRow(const LogTile<T>& t, int64_t r)
        : columns(t.intervals ? t.intervals[r] : TileColumns{0, t.columns}), scale(t.scale) {
        z = t.z + r * t.row + columns.first;
        terms = with_terms ? t.column_terms + columns.first : nullptr;
    }
    MERCER_INLINE int64_t count() const { return columns.end - columns.first; }
    /// The logs, times what is left to do to the largest of them.
    MERCER_INLINE Vec<T> raw(int64_t i, int count) const {
        const Vec<T> v = load(z + i, count, lower_end<T>);
        return with_terms ? fma(v, scale, load(terms + i, count, T(0))) : v;
    }
    static MERCER_INLINE T of_raw(T v, T scale) { return with_terms ? v : v * scale; }
    MERCER_INLINE Vec<T> minus(Vec<T> m, int64_t i, int count) const {
        return with_terms ? raw(i, count) - m : fma(raw(i, count), scale, -m);
    }
    /// 0 in what is not seen of a row x of the tile.
    MERCER_INLINE void clear_around(T* x, int64_t all) const {
        const auto zero = [](int64_t, int) MERCER_STEP { return Vec<T>(T(0)); };
        write_run(x, columns.first, false, zero);
        write_run(x + columns.end, all - columns.end, false, zero);
    }
};

/// A row's sum between tiles, in memory: lanes j and j + h of the canonical ones joined down to these.
template <class T>
constexpr int kept = int(sum_lanes) / Vec<T>::lanes;

/// parts ← parts·factor + sum.
template <class T>
MERCER_INLINE void add_parts(T* parts, T factor, const Canonical<T, SumOp>& sum) {
    Vec<T> p[sum.registers];
    for (int k = 0; k < sum.registers; ++k) p[k] = sum.part[k];
    for (int h = sum.registers / 2; h >= kept<T>; h /= 2)
        for (int k = 0; k < h; ++k) p[k] = p[k] + p[k + h];
    for (int k = 0; k < kept<T>; ++k, parts += Vec<T>::lanes)
        fma(Vec<T>::load(parts), Vec<T>(factor), p[k]).store(parts);
}
template <class T>
T total_of(const T* parts) {
    Vec<T> p[kept<T>];
    for (int k = 0; k < kept<T>; ++k) p[k] = Vec<T>::load(parts + k * Vec<T>::lanes);
    for (int h = kept<T> / 2; h >= 1; h /= 2)
        for (int k = 0; k < h; ++k) p[k] = p[k] + p[k + h];
    return across<SumOp>(p[0]);
}

/// Σ p·(z − max) for the new maximum, before it is multiplied by e^{old − new} = f.
template <class T>
MERCER_INLINE void shift_moments(T* moments, const T* parts, T f) {
    if (f == T(1) || f == T(0)) return;
    const Vec<T> change = log(Vec<T>(f));
    for (int64_t i = 0; i < sum_lanes; i += Vec<T>::lanes)
        fma(Vec<T>::load(parts + i), change, Vec<T>::load(moments + i)).store(moments + i);
}

// Functions of their own, for the registers' sake.
#define MERCER_APART __attribute__((noinline))

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
        max[r] = row.of_raw(largest.total(), t.scale);
    }
}
/// With flags; z ← the logs.
template <class T>
MERCER_APART void flagged_maxima(const LogTile<T>& t, T* max) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const LogRow<T> logs(t, r, lower_end<T>);
        Canonical<T, PlainMax> largest;
        canonical_for(largest, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> v = logs(i, count);
            store(v, z + i, count);
            part = PlainMax::join(part, v);
        });
        max[r] = largest.total();
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
        const PlainRow<T, terms> row(t, r);
        const Vec<T> m = finite_top(max[r]);
        Canonical<T, SumOp> sum;
        canonical_run<T>(
            row.count(),
            [&](int64_t i, int count, Vec<T>& part) MERCER_STEP {
                const Vec<T> e = exp_of_difference(row.minus(m, i, count));
                store(e, row.z + i, count);
                part = part + e;
            },
            sum);
        row.clear_around(t.z + r * t.row, t.columns);
        add_parts(parts + r * sum_lanes, factor[r], sum);
    }
}
/// Of rows that hold the logs.
template <class T>
MERCER_APART void flagged_exponentials(const LogTile<T>& t, const T* max, T* parts,
                                       const T* factor) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const Vec<T> m = finite_top(max[r]);
        Canonical<T, SumOp> sum;
        canonical_for(sum, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> e = exp_of_difference(load(z + i, count, lower_end<T>) - m);
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
        const LogRow<T> logs(t, r, lower_end<T>);
        const Vec<T> m = finite_top(max[r]);
        Canonical<T, SumOp> sum, moment;
        canonical_run<T>(
            t.columns,
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& moment_part) MERCER_STEP {
                const Vec<T> v = t.seen ? load(z + i, count, lower_end<T>) : logs(i, count);
                const Vec<T> d = v - m, p = exp_of_difference(d);
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

// Three sweeps over the tile, for in each the rows are independent of each other: their maxima, what
// those change, the exponentials.
template <class T>
void soften(const LogTile<T>& t, T* max, T* parts, T* moments, T* factor) {
    const auto maxima = t.seen           ? flagged_maxima<T>
                        : t.column_terms ? plain_maxima<T, true>
                                         : plain_maxima<T, false>;
    maxima(t, factor);
    // What is subtracted need not be the maximum itself: it stays where it is off by so little that no
    // digit is lost, and nothing has to be made to fit. Entropies are exact.
    const Vec<T> slack(moments ? T(0) : T(0.5));
    for_run<T>(t.rows, [&](int64_t i, int count) MERCER_STEP {
        const Vec<T> before = load(max + i, count, T(0)), here = load(factor + i, count, T(0)),
                     top = select(here > before + slack, here, before);
        // What is multiplied is 0 before the first tile.
        const Mask<T> same = before == top || before == Vec<T>(lower_end<T>);
        store(select(same, Vec<T>(T(1)), exp_of_difference(before - top)), factor + i, count);
        store(top, max + i, count);
    });
    if (moments) return exponentials_and_moments(t, max, parts, moments, factor);
    const auto exponentials = t.seen           ? flagged_exponentials<T>
                              : t.column_terms ? plain_exponentials<T, true>
                                               : plain_exponentials<T, false>;
    exponentials(t, max, parts, factor);
}

template <class T>
void finish_softmax(int64_t rows, T* max, const T* parts, const T* moments, T* share, T* entropy) {
    for (int64_t r = 0; r < rows; ++r) {
        const T sum = total_of(parts + r * sum_lanes);
        if (max[r] == lower_end<T>) max[r] = T(0);
        share[r] = sum == T(0) ? T(0) : T(1) / sum;
        if (entropy)  // log Σ − Σ p(z − max)
            entropy[r] = sum == T(0)
                             ? T(0)
                             : number(log(Vec<T>(sum))) - total_of(moments + r * sum_lanes) / sum;
    }
}

// Σ of both is Σ₁e^{max₁ − max} + Σ₂e^{max₂ − max}, the shares a, b of both in it their outputs' factors;
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
                     first = select(nothing, zero, exp_falling(m - top) / s),
                     second = select(nothing_there, zero, exp_falling(n - top) / o),
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

/// Σ w·g of a row.
template <class T>
MERCER_INLINE T weighted(int64_t columns, const T* w, const T* g) {
    Canonical<T, SumOp> sum;
    canonical_for(sum, columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        const Vec<T> v = load(w + i, count, T(0));
        part = select(v == Vec<T>(T(0)), part, fma(v, load(g + i, count, T(0)), part));
    });
    return sum.total();
}

template <class T, bool terms>
MERCER_APART void plain_unsoften(const LogTile<T>& t, T* g, const T* max, const T* share,
                                 const T* D) {
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        const PlainRow<T, terms> row(t, r);
        const Vec<T> m(max[r]), scale(share[r]), d(D[r]);
        T* const to = g + row.columns.first;
        write_run(row.z, row.count(), false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> p = exp_of_difference(row.minus(m, i, count)) * scale;
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
        const LogRow<T> logs(t, r, lower_end<T>);
        const Vec<T> m(max[r]), scale(share[r]);
        // Alike to the last bit where plain.
        const bool fused = !t.seen && !t.column_terms;
        const Vec<T> tilt(slope ? slope[r] : T(0));
        const auto away = [&](int64_t i, int count) MERCER_STEP {
            if (!fused) return logs(i, count) - m;
            return logs.show(fma(load(z + i, count, T(0)), logs.scale, -m), i,
                             Vec<T>(lower_end<T>));
        };
        T total = D[r];
        if (t.whole) {
            write_run(room, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
                return exp_of_difference(away(i, count)) * scale;
            });
            total += weighted(t.columns, room, g);
        }
        const Vec<T> d(total);
        write_run(z, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> a = away(i, count),
                         p = t.whole ? load(room + i, count, T(0)) : exp_of_difference(a) * scale;
            Vec<T> dp = load(g + i, count, T(0)) - d;
            if (slope) dp = fma(tilt, select(p == Vec<T>(T(0)), p, a), dp);
            store(logs.shown(p * dp, i), g + i, count);
            return p;
        });
    }
}

/// What is there already, but for the columns that are not seen.
template <class T>
MERCER_APART void plain_gather(const LogTile<T>& t, T* parts, T* sizes) {
    for (int64_t r = 0; r < t.rows; ++r, parts += sum_lanes, sizes += sum_lanes) {
        const PlainRow<T, false> row(t, r);
        Canonical<T, SumOp> sum, size;
        canonical_run<T>(
            row.count(),
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& size_part) MERCER_STEP {
                const Vec<T> w = load(row.z + i, count, T(0));
                part = part + w;
                size_part = size_part + abs(w);
            },
            sum, size);
        row.clear_around(t.z + r * t.row, t.columns);
        add_parts(parts, T(1), sum);
        add_parts(sizes, T(1), size);
    }
}

template <class T>
void gather(const LogTile<T>& t, T* parts, T* sizes) {
    if (!t.seen && !t.column_terms && t.scale == T(1)) return plain_gather(t, parts, sizes);
    for (int64_t r = 0; r < t.rows; ++r, parts += sum_lanes, sizes += sum_lanes) {
        T* z = t.z + r * t.row;
        const LogRow<T> weights(t, r, T(0));
        Canonical<T, SumOp> sum, size;
        canonical_run<T>(
            t.columns,
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& size_part) MERCER_STEP {
                const Vec<T> w = weights(i, count);
                store(w, z + i, count);
                part = part + w;
                size_part = size_part + abs(w);
            },
            sum, size);
        add_parts(parts, T(1), sum);
        add_parts(sizes, T(1), size);
    }
}

template <class T>
void finish_division(int64_t rows, const T* parts, const T* sizes, T* share, T* size) {
    for (int64_t r = 0; r < rows; ++r) {
        size[r] = total_of(sizes + r * sum_lanes);
        share[r] = size[r] == T(0) ? T(0) : T(1) / total_of(parts + r * sum_lanes);
    }
}

template <class T>
void undivide(const LogTile<T>& t, T* g, const T* share, const T* D) {
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        T* z = t.z + r * t.row;
        const LogRow<T> weights(t, r, T(0));
        const Vec<T> scale(share[r]);
        if (t.whole && share[r] != T(0)) {
            // A single key's share is exactly 1.
            Canonical<T, SumOp> sum;
            canonical_for(sum, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                part = part + weights(i, count);
            });
            const Vec<T> total(sum.total());
            write_run(z, t.columns, false,
                      [&](int64_t i, int count) MERCER_STEP { return weights(i, count) / total; });
        } else {
            write_run(z, t.columns, false,
                      [&](int64_t i, int count) MERCER_STEP { return weights(i, count) * scale; });
        }
        const Vec<T> d(t.whole ? D[r] + weighted(t.columns, z, g) : D[r]);
        write_run(g, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
            return weights.shown((load(g + i, count, T(0)) - d) * scale, i);
        });
    }
}

template <class T>
void hide(const LogTile<T>& t) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const LogRow<T> logs(t, r, lower_end<T>);
        write_run(z, t.columns, false,
                  [&](int64_t i, int count) MERCER_STEP { return logs(i, count); });
    }
}

template <class T, Alpha alpha>
T epsilon_of(const T* epsilon, int64_t row) {
    return alpha == Alpha::two ? T(1) : alpha == Alpha::half_three ? T(0.5) : epsilon[row];
}

template <class T, Alpha alpha>
MERCER_INLINE Distribution<T, alpha> distribution(const Statistics<T>& s, int64_t r, T epsilon) {
    return {Threshold<T>{s.of[1][r], s.of[2][r]}, s.of[0][r], epsilon};
}

template <class T, Alpha alpha>
void threshold_rows(int64_t rows, int64_t columns, const T* z, int64_t row, const T* epsilons,
                    bool for_alpha, const Statistics<T>& s) {
    for (int64_t r = 0; r < rows; ++r, z += row) {
        const T top = largest_of(z, columns), epsilon = epsilon_of<T, alpha>(epsilons, r);
        const bool nothing = top == lower_end<T>;
        const Threshold<T> at =
            nothing ? Threshold<T>{T(0), T(0)} : threshold<T, alpha>(z, columns, top, epsilon);
        s.of[0][r] = top, s.of[1][r] = at.s, s.of[2][r] = at.sum;
        if (!for_alpha) continue;
        s.of[3][r] = s.of[4][r] = T(0);
        if (nothing) continue;
        const Distribution<T, alpha> weight(at, top, epsilon);
        const AlphaSlope<T> slope(epsilon);
        Canonical<T, SumOp> entropy, second;
        canonical_run<T>(
            columns,
            [&](int64_t i, int count, Vec<T>& h_part, Vec<T>& second_part) MERCER_STEP {
                slope.add(weight(load(z + i, count, lower_end<T>)), h_part, second_part);
            },
            entropy, second);
        s.of[3][r] = entropy.total(), s.of[4][r] = second.total();
    }
}

template <class T, Alpha alpha>
void sparse_rows(const LogTile<T>& t, const T* epsilons, const Statistics<T>& s, T* escort,
                 T* parts) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const T epsilon = epsilon_of<T, alpha>(epsilons, r);
        const bool nothing = s.of[0][r] == lower_end<T>;
        const auto weight = distribution<T, alpha>(s, r, epsilon);
        const LogRow<T> logs(t, r, lower_end<T>);
        Canonical<T, SumOp> sum;
        canonical_for(sum, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> p = nothing ? Vec<T>(T(0)) : weight(logs(i, count));
            store(p, z + i, count);
            if (!escort) return;
            const Vec<T> e = escort_of<T, alpha>(p, epsilon);
            store(e, escort + r * t.row + i, count);
            part = part + e;
        });
        if (escort) add_parts(parts + r * sum_lanes, T(1), sum);
    }
}

template <class T, Alpha alpha>
void unsparse_rows(const LogTile<T>& t, T* g, const T* epsilons, const Statistics<T>& s, const T* D,
                   T* dalpha) {
    const Vec<T> zero(T(0));
    T room[attention::tile_keys];
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        T* z = t.z + r * t.row;
        const T epsilon = epsilon_of<T, alpha>(epsilons, r);
        const bool nothing = s.of[0][r] == lower_end<T>;
        const auto weight = distribution<T, alpha>(s, r, epsilon);
        const LogRow<T> logs(t, r, lower_end<T>);
        AlphaSlope<T> slope(epsilon);
        if (dalpha) slope.set(s.of[3][r], s.of[4][r]);
        Canonical<T, SumOp> sum, escorts;
        canonical_run<T>(
            t.columns,
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& escort) MERCER_STEP {
                const Vec<T> p = nothing ? zero : weight(logs(i, count)),
                             e = escort_of<T, alpha>(p, epsilon);
                store(p, z + i, count);
                store(e, room + i, count);
                escort = escort + e;
                if (dalpha)
                    part = part + select(p == zero, zero, load(g + i, count, T(0)) * p * slope(p));
            },
            sum, escorts);
        if (dalpha) dalpha[r] += sum.total();
        T mean = D[r];
        if (const T all = escorts.total(); t.whole && all != T(0))
            mean += weighted(t.columns, room, g) / all;
        const Vec<T> d(mean);
        write_run(g, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> e = load(room + i, count, T(0));
            return select(e == zero, zero, e * (load(g + i, count, T(0)) - d));
        });
    }
}

template <class T>
void threshold(SparseKind kind, int64_t rows, int64_t columns, const T* z, int64_t row,
               const T* epsilon, bool for_alpha, const Statistics<T>& s) {
    constexpr decltype(&threshold_rows<T, Alpha::two>) of[] = {threshold_rows<T, Alpha::two>,
                                                               threshold_rows<T, Alpha::half_three>,
                                                               threshold_rows<T, Alpha::any>};
    of[int(kind)](rows, columns, z, row, epsilon, for_alpha, s);
}
template <class T>
void sparse(SparseKind kind, const LogTile<T>& t, const T* epsilon, const Statistics<T>& s,
            T* escort, T* parts) {
    constexpr decltype(&sparse_rows<T, Alpha::two>) of[] = {
        sparse_rows<T, Alpha::two>, sparse_rows<T, Alpha::half_three>, sparse_rows<T, Alpha::any>};
    of[int(kind)](t, epsilon, s, escort, parts);
}
template <class T>
void unsparse(SparseKind kind, const LogTile<T>& t, T* g, const T* epsilon, const Statistics<T>& s,
              const T* D, T* dalpha) {
    constexpr decltype(&unsparse_rows<T, Alpha::two>) of[] = {unsparse_rows<T, Alpha::two>,
                                                              unsparse_rows<T, Alpha::half_three>,
                                                              unsparse_rows<T, Alpha::any>};
    of[int(kind)](t, g, epsilon, s, D, dalpha);
}

template <class T>
constexpr attention::WeightTable<T> table = {
    soften<T>,   finish_softmax<T>, join<T>,      unsoften<T>, gather<T>,  finish_division<T>,
    undivide<T>, hide<T>,           threshold<T>, sparse<T>,   unsparse<T>};

}  // namespace

extern const attention::WeightTable<float> attend_weights_f32;
extern const attention::WeightTable<double> attend_weights_f64;
const attention::WeightTable<float> attend_weights_f32 = table<float>;
const attention::WeightTable<double> attend_weights_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
