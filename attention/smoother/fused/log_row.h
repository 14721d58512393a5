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

/// What makes logs of a row's z: scale·z + terms, where it is known beforehand whether there are any, or not.
enum class Terms : uint8_t { none, some, unknown };
template <class T, Terms kind>
struct Logs {
    T* z;
    const T* terms;
    Vec<T> scale;
    MERCER_INLINE bool has_terms() const {
        return kind == Terms::unknown ? terms != nullptr : kind == Terms::some;
    }
    /// The log of v, times what is left to do to the largest of them.
    MERCER_INLINE Vec<T> raw_of(Vec<T> v, int64_t i, int count) const {
        return has_terms() ? fma(v, scale, load(terms + i, count, T(0))) : v;
    }
    MERCER_INLINE T of_raw(T v) const { return has_terms() ? v : v * first_lane(scale); }
    /// The log of a raw one, less m.
    MERCER_INLINE Vec<T> minus(Vec<T> raw, Vec<T> m) const {
        return has_terms() ? raw - m : fma(raw, scale, -m);
    }
    /// Before minus(m): that fma shows by how much m was rounded, which powers of two do not bear of a large one. There
    /// z ← scale·z, rounded alike, and scale ← 1.
    MERCER_INLINE void settle(T m, int64_t count) {
        constexpr T far = sizeof(T) == 4 ? T(0x1p28) : T(0x1p60);  // rounded by 2^4 and 2^7 at most
        if (has_terms() || !((m < T(0) ? -m : m) >= far)) return;
        write_run(z, count, false,
                  [&](int64_t i, int n) MERCER_STEP { return load(z + i, n, T(0)) * scale; });
        scale = Vec<T>(T(1));
    }
};

/// Row r of a tile: scale·z + column_terms, `hidden` where not seen and beyond the row.
template <class T>
struct LogRow : Logs<T, Terms::unknown> {
    const bool* seen;
    TileColumns columns;
    T hidden;
    MERCER_INLINE LogRow(const LogTile<T>& t, int64_t r, T h)
        : Logs<T, Terms::unknown>{t.z + r * t.row, t.column_terms, Vec<T>(t.scale)},
          seen(t.seen ? t.seen + r * t.seen_row : nullptr),
          columns(t.intervals ? t.intervals[r] : TileColumns{0, t.columns}),
          hidden(h) {}
    MERCER_INLINE Vec<T> operator()(int64_t i, int count) const {
        const Vec<T> v = this->raw_of(load(this->z + i, count, hidden), i, count);
        return show(this->has_terms() ? v : v * this->scale, i, Vec<T>(hidden));
    }
    MERCER_INLINE Vec<T> raw(int64_t i, int count) const {
        return show(this->raw_of(load(this->z + i, count, hidden), i, count), i, Vec<T>(hidden));
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
struct PlainRow : Logs<T, with_terms ? Terms::some : Terms::none> {
    TileColumns columns;
    MERCER_INLINE PlainRow(const LogTile<T>& t, int64_t r)
        : PlainRow(t, r, t.intervals ? t.intervals[r] : TileColumns{0, t.columns}) {}
    MERCER_INLINE int64_t count() const { return columns.end - columns.first; }
    MERCER_INLINE Vec<T> raw(int64_t i, int count) const {
        return this->raw_of(load(this->z + i, count, lower_end<T>), i, count);
    }
    /// 0 in what is not seen of a row x of the tile.
    MERCER_INLINE void clear_around(T* x, int64_t all) const {
        const auto zero = [](int64_t, int) MERCER_STEP { return Vec<T>(T(0)); };
        write_run(x, columns.first, false, zero);
        write_run(x + columns.end, all - columns.end, false, zero);
    }

private:
    MERCER_INLINE PlainRow(const LogTile<T>& t, int64_t r, TileColumns c)
        : Logs < T,
    with_terms ? Terms::some
               : Terms::none > {t.z + r * t.row + c.first,
                                with_terms ? t.column_terms + c.first : nullptr, Vec<T>(t.scale)},
    columns(c) {}
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
