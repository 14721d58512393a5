// Packing for gemm_kernels.cpp: a panel of `width` rows or columns, interleaved step by step, so
// that the micro-kernel reads it straight through. Reads its source once and writes the panel once.
// Compiled once per instruction set.
#pragma once

#include "engine/cpu/kernels/square.h"

namespace mercer::MERCER_ISA {
namespace {

/// A register of a row, loaded once, for rows cross lines.
template <class T>
MERCER_INLINE void load_once(Wide<T>& r, const T* in) {
    __builtin_memcpy(&r, in, wide_bytes);
    hold_wide(r);
}
/// n rows of one register each, likewise.
template <class T>
MERCER_INLINE void transposed(const T* const* in, int64_t at, Wide<T>* r) {
    MERCER_UNROLL for (int x = 0; x < int(wide_bytes / sizeof(T)); ++x) load_once(r[x], in[x] + at);
    transpose_square<T>(r);
}
/// out[p·width + x] = in[x][at + p], whole registers written in ascending p.
template <class T>
MERCER_INLINE void transpose(const T* const* in, int64_t at, T* out, int64_t width) {
    constexpr int n = wide_bytes / sizeof(T);
    Wide<T> r[n];
    transposed(in, at, r);
    MERCER_UNROLL for (int p = 0; p < n; ++p, out += width) {
        hold(out);  // one pointer that walks, rather than as many as rows, spilt
        __builtin_memcpy(out, &r[p], wide_bytes);
    }
}

/// Each `cell` elements of a, then of b, in their places.
template <class T, int cell, int... i>
MERCER_INLINE Wide<T> alternate(Wide<T> a, Wide<T> b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (i / cell % 2 ? int(sizeof...(i)) + i : i)...);
}
/// Six rows with nothing between the steps, for registers of 32 bytes: out[6·p + x] = in[x·across + p]. Whole registers one
/// after the other: those of squares would overlap, and those that cross a line take Zen 3 some five cycles each.
template <class T>
MERCER_INLINE void transpose_six(const T* in, int64_t across, T* out) {
    constexpr int n = wide_bytes / sizeof(T), s = 16 / sizeof(T);
    using Each = std::make_integer_sequence<int, n>;
    Wide<T> r[6], part[6];  // of 16 bytes of the result and 16 half the steps later
    MERCER_UNROLL for (int x = 0; x < 6; ++x, in += across) {
        hold(in);
        __builtin_memcpy(&r[x], in, wide_bytes);
    }
    MERCER_UNROLL for (int h = 0; h < 2; ++h) {
        Wide<T> pair[3];
        MERCER_UNROLL for (int x = 0; x < 3; ++x) pair[x] =
            h ? zip<T, 1, s, 1>(r[2 * x], r[2 * x + 1], Each{})
              : zip<T, 1, s, 0>(r[2 * x], r[2 * x + 1], Each{});
        if constexpr (s == 4) {
            part[3 * h] = zip<T, 2, s, 0>(pair[0], pair[1], Each{});
            part[3 * h + 1] = alternate<T, 2>(pair[2], pair[0], Each{});
            part[3 * h + 2] = zip<T, 2, s, 1>(pair[1], pair[2], Each{});
        } else {
            MERCER_UNROLL for (int x = 0; x < 3; ++x) part[3 * h + x] = pair[x];
        }
    }
    MERCER_UNROLL for (int x = 0; x < 6; x += 2, out += n) {
        const Wide<T> low = zip<T, n / 2, n, 0>(part[x], part[x + 1], Each{}),
                      high = zip<T, n / 2, n, 1>(part[x], part[x + 1], Each{});
        __builtin_memcpy(out, &low, wide_bytes);
        __builtin_memcpy(out + 3 * n, &high, wide_bytes);
    }
}

/// Line `line` of packed rows, nothing between the steps, where step p of rows q·n … is at r[q·n + p]: of two registers.
template <class T, int rows, int line, int... i>
MERCER_INLINE Wide<T> packed_line(const Wide<T>* r, std::integer_sequence<int, i...>) {
    constexpr int n = sizeof...(i), first = line * n, last = first + n - 1;
    constexpr auto place = [](int element) { return element % rows / n * n + element / rows; };
    static_assert(((place(first + i) == place(first) || place(first + i) == place(last)) && ...));
    return __builtin_shufflevector(
        r[place(first)], r[place(last)],
        ((first + i) % rows % n + (place(first + i) == place(first) ? 0 : n))...);
}
/// As many rows as there are lines in n steps of them, for registers of a line: whole lines instead of stores that overlap
/// and cross lines. What comes next is not asked for: where it is in L2 that takes longer than it saves.
template <class T, int... line>
MERCER_INLINE void transpose_rows(const T* in, int64_t across, T* out,
                                  std::integer_sequence<int, line...>) {
    constexpr int n = wide_bytes / sizeof(T), rows = sizeof...(line), all = (rows + n - 1) / n * n;
    using Each = std::make_integer_sequence<int, n>;
    Wide<T> r[all];
    MERCER_UNROLL for (int x = 0; x < rows; ++x, in += across) {
        hold(in);
        load_once(r[x], in);
    }
    MERCER_UNROLL for (int x = rows; x < all; ++x) r[x] = r[rows - 1];
    MERCER_UNROLL for (int q = 0; q < all; q += n) transpose_square<T>(r + q);
    const auto store = [](T* to, Wide<T> v) MERCER_STEP { __builtin_memcpy(to, &v, wide_bytes); };
    (store(out + line * n, packed_line<T, rows, line>(r, Each{})), ...);
}

/// No panel is wider.
constexpr int widest = 32;

/// out[p·width + x] = in[x·across + p·along] for x < count, zero for count <= x < width. Touches
/// nothing outside the panel, so that panels may be packed side by side.
template <class T>
void pack_panel(int count, int width, int64_t k, const T* in, int64_t across, int64_t along,
                T* out) {
    using V = Vec<T>;
    if (across == 1) {
        // Where the last register of a step reaches beyond it: whole all the same while that lies within the steps to come,
        // which are written later. Masked stores take AVX2 up to 20 cycles.
        const int over = -width & (V::lanes - 1);
        const bool within = over > 0 && count == width && along >= width;
        int64_t p = 0;
        for (const int64_t last = within ? k - (over + width - 1) / width : 0; p < last;
             ++p, in += along, out += width)
            for (int x = 0; x < width; x += V::lanes) V::load(in + x).store(out + x);
        for (; p < k; ++p, in += along, out += width) {
            int x = 0;
            for (; x + V::lanes <= count; x += V::lanes) V::load(in + x).store(out + x);
            for (; x < width; x += V::lanes)
                V::load(in + x, count > x ? count - x : 0, T(0)).store(out + x, width - x);
        }
        return;
    }
    int64_t p = 0;
    if (along == 1) {
        constexpr int n = wide_bytes / sizeof(T);
        if constexpr (wide_bytes == 32)
            if (width == 6 && count == 6)
                for (; p + n <= k; p += n) transpose_six(in + p, across, out + 6 * p);
        if constexpr (wide_bytes == 64)
            if (width == 14 && count == 14)
                for (; p + n <= k; p += n)
                    transpose_rows(in + p, across, out + 14 * p,
                                   std::make_integer_sequence<int, 14>{});
        // Squares of one register each way, so that a cache line is read once; from the last group
        // of rows to the first and in ascending p: what a partial group writes too far is
        // overwritten.
        T square[n * n];  // the last squares, whose overhang would leave the panel
        const T* all[widest];
        for (int x = 0; x < (width + n - 1) / n * n; ++x)
            all[x] = in + (x < count ? x : count - 1) * across;
        for (; p + n <= k; p += n)
            for (int x = (width - 1) / n * n; x >= 0; x -= n) {
                const T* const* const rows = all + x;
                // Where a register is a line: to ask again for each part of one costs a third of the time.
                if constexpr (wide_bytes == 64)
                    MERCER_UNROLL for (int r = 0; r < n; ++r)
                        __builtin_prefetch(rows[r] + p + 8 * n, 0, 2);
                const bool whole = p + 2 * n <= k || x + n <= width;
                transpose(rows, p, whole ? out + p * width + x : square, whole ? width : n);
                if (whole) continue;
                for (int q = 0; q < n; ++q) {
                    const int left = width - x;
                    T* const to = out + (p + q) * width + x;
                    for (int y = 0; y < left; y += V::lanes) {
                        const V v = V::load(square + q * n + y);
                        if (y + V::lanes <= left)
                            v.store(to + y);
                        else
                            v.store(to + y, left - y);
                    }
                }
            }
        if (width > count)
            for (int64_t q = 0; q < p; ++q)
                for (int x = count; x < width; ++x) out[q * width + x] = T(0);
    }
    for (; p < k; ++p)
        for (int x = 0; x < width; ++x)
            out[p * width + x] = x < count ? in[x * across + p * along] : T(0);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
