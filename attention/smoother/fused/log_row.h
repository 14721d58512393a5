// A row of a tile as kernels meet it: what is seen of it, and its sums from tile to tile.
#pragma once

#include "attention/smoother/fused/weights_table.h"
#include "engine/cpu/kept_sums.h"
#include "engine/cpu/kernels/row.h"

// Functions of their own, for the registers' sake.
#define MERCER_APART __attribute__((noinline))

namespace mercer::MERCER_ISA {
namespace {

using attention::LogTile;
using attention::sum_lanes;

template <class T, int count>
struct Lanes {
    typedef T type __attribute__((vector_size(count * sizeof(T))));
};
/// The lanes that are seen; a register's width of bytes is read.
template <class T>
MERCER_INLINE Mask<T> seen_lanes(const bool* seen) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return {*seen};
#else
    // By doublings, each of which is an instruction.
    constexpr int lanes = Vec<T>::lanes;
    using Bytes = typename Lanes<signed char, lanes>::type;
    using Shorts = typename Lanes<short, lanes>::type;
    using Ints = typename Lanes<int, lanes>::type;
    Bytes bytes;
    __builtin_memcpy(&bytes, seen, sizeof bytes);
    const Shorts shorts = __builtin_convertvector(bytes, Shorts);
    const Ints ints = __builtin_convertvector(shorts, Ints);
    return {__builtin_convertvector(ints, typename Mask<T>::Register) != 0};
#endif
}

/// Lanes i, i + 1, … that are at least `bound`.
template <class T>
MERCER_INLINE Mask<T> from(int64_t i, int64_t bound) {
    static constexpr T count[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return Vec<T>::load(count) >= Vec<T>(T(bound - i));
}

/// z ← scale·z and scale ← 1 where powers of two do not bear by how much m was rounded, which fma(z, scale, −m) shows:
/// there scale·z is rounded alike.
template <class T>
MERCER_INLINE void settle(T m, T* z, int64_t count, Vec<T>& scale) {
    constexpr T far = sizeof(T) == 4 ? T(0x1p28) : T(0x1p60);  // rounded by 2^4 and 2^7 at most
    if (!((m < T(0) ? -m : m) >= far)) return;
    write_run(z, count, false,
              [&](int64_t i, int n) MERCER_STEP { return load(z + i, n, T(0)) * scale; });
    scale = Vec<T>(T(1));
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
    /// The same, times what is left to do to the largest of them.
    MERCER_INLINE Vec<T> raw(int64_t i, int count) const {
        Vec<T> v = load(z + i, count, hidden);
        if (terms) v = fma(v, scale, load(terms + i, count, T(0)));
        return show(v, i, Vec<T>(hidden));
    }
    MERCER_INLINE T of_raw(T v) const { return terms ? v : v * number(scale); }
    /// Before minus(m); `row` is z.
    MERCER_INLINE void settle(T m, T* row, int64_t columns) {
        if (!terms) MERCER_ISA::settle(m, row, columns, scale);
    }
    MERCER_INLINE Vec<T> minus(Vec<T> v, Vec<T> m) const {
        return terms ? v - m : fma(v, scale, -m);
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
    /// Before minus(m).
    MERCER_INLINE void settle(T m) {
        if (!with_terms) MERCER_ISA::settle(m, z, count(), scale);
    }
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

}  // namespace
}  // namespace mercer::MERCER_ISA
