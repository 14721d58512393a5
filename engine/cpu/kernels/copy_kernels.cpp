// to[i][j] = from[i][j], and conversions. Memory traffic: one read, one write; where source and target are dense along
// different axes, by squares whose sides are whole cache lines, so that each line moves once.
#include <type_traits>

#include "engine/bfloat16.h"
#include "engine/cpu/copy_table.h"
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/kernels/turn.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::Plane;

constexpr int64_t line = 64, tiny_plane = 64;  // bytes, elements

// Registers for elements of 4 and of 8 bytes; shorter ones go one by one.
template <class T>
inline constexpr bool in_registers = sizeof(T) >= 4;

/// A square whose side is a line.
template <class T>
void copy_square(T* to, const T* from, const Plane& p) {
    constexpr int side = int(line / int64_t(sizeof(T))), lanes = Vec<T>::lanes;
    if (part_of_line<T> && p.stream) {
        // The square beyond is asked for: few processors see where so many rows go on.
        alignas(64) T near[side * side];
        for (int k = side; k < 2 * side; ++k) __builtin_prefetch(from + k * p.from_col, 0, 2);
        copy_square(near, from, {side, side, side, 1, 1, p.from_col, true, false});
        return stream_lines<side, side>(near, to, p.to_row);
    }
    for (int j = 0; j < side; j += lanes)
        for (int i = 0; i < side; i += lanes) {
            Vec<T> v[lanes];
#pragma GCC unroll 16
            for (int k = 0; k < lanes; ++k) v[k] = Vec<T>::load(from + i + (j + k) * p.from_col);
            turn<lanes>(v);
            T* t = to + i * p.to_row + j;
#pragma GCC unroll 16
            for (int k = 0; k < lanes; ++k) put(v[k], t + k * p.to_row, p.stream);
        }
}

/// A part of a square: dearer than loops for a quarter of one.
template <class T>
void copy_part(T* to, const T* from, int64_t rows, int64_t cols, const Plane& p) {
    constexpr int lanes = Vec<T>::lanes;
    for (int64_t j = 0; j < cols; j += lanes)
        for (int64_t i = 0; i < rows; i += lanes) {
            const int high = rows - i < lanes ? int(rows - i) : lanes,
                      wide = cols - j < lanes ? int(cols - j) : lanes;
            Vec<T> v[lanes];
            for (int k = 0; k < lanes; ++k)
                v[k] = load(from + i + (j + (k < wide ? k : 0)) * p.from_col, high, T(0));
            turn<lanes>(v);
            for (int k = 0; k < high; ++k) store(v[k], to + (i + k) * p.to_row + j, wide);
        }
}

/// Few columns, n, dense in the target, or few rows, n, dense in the source: in whole registers. Leaves the rest to the loops.
template <int n, class T>
MERCER_INLINE void copy_few(T*& to, const T*& from, Plane& p) {
    constexpr int lanes = Vec<T>::lanes;
    Vec<T> v[n];
    if (lanes > 1 && p.cols == n && p.to_row == n)
        for (; p.rows >= lanes; p.rows -= lanes, to += n * lanes, from += lanes) {
            for (int k = 0; k < n; ++k) v[k] = Vec<T>::load(from + k * p.from_col);
            turn<n>(v);
            for (int k = 0; k < n; ++k) v[k].store(to + k * lanes);
        }
    else if (lanes > 1 && p.rows == n && p.from_col == n)
        for (; p.cols >= lanes; p.cols -= lanes, to += lanes, from += n * lanes) {
            for (int k = 0; k < n; ++k) v[k] = Vec<T>::load(from + k * lanes);
            turn<lanes>(v);
            for (int k = 0; k < n; ++k) put(v[k], to + k * p.to_row, p.stream);
        }
}

/// Squares by way of the first-level cache, for rows of the target that fall on the same sets of it: stored one by one,
/// their lines would drive each other out before they are whole. How many rows it took.
template <class T>
int64_t copy_by_runs(T* to, const T* from, const Plane& p) {
    constexpr int64_t side = line / int64_t(sizeof(T)), rows = 2 * side,
                      run = 1024 / int64_t(sizeof(T)), pitch = run + side;
    constexpr int lanes = Vec<T>::lanes;
    alignas(64) T near[rows * pitch];
    int64_t i0 = 0;
    for (; i0 + rows <= p.rows; i0 += rows)
        for (int64_t j0 = 0; j0 < p.cols; j0 += run) {
            const int64_t cols = p.cols - j0 < run ? p.cols - j0 : run;
            const T* const f = from + i0 + j0 * p.from_col;
            for (int64_t j = 0; j < cols; j += side)
                for (int64_t i = 0; i < rows; i += side)
                    copy_square(near + i * pitch + j, f + i + j * p.from_col,
                                {side, side, pitch, 1, 1, p.from_col, true, false});
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < cols; j += lanes)
                    Vec<T>::load(near + i * pitch + j).store(to + (i0 + i) * p.to_row + j0 + j);
        }
    return i0;
}

template <class T>
void copy_turned(T* to, const T* from, const Plane& plane) {
    Plane p = plane;
    if constexpr (in_registers<T>)
        if (p.from_row == 1 && p.to_col == 1) {
            copy_few<2>(to, from, p);
            copy_few<4>(to, from, p);
            copy_few<8>(to, from, p);
            if (!p.stream && p.to_row * int64_t(sizeof(T)) % 2048 == 0 &&
                p.cols % (line / int64_t(sizeof(T))) == 0) {
                const int64_t done = copy_by_runs(to, from, p);
                to += done * p.to_row, from += done, p.rows -= done;
            }
        }
    constexpr int64_t side = line / int64_t(sizeof(T)) < 16 ? line / int64_t(sizeof(T)) : 16;
    for (int64_t j0 = 0; j0 < p.cols; j0 += side)
        for (int64_t i0 = 0; i0 < p.rows; i0 += side) {
            T* t = to + i0 * p.to_row + j0 * p.to_col;
            const T* f = from + i0 * p.from_row + j0 * p.from_col;
            const int64_t rows = p.rows - i0 < side ? p.rows - i0 : side,
                          cols = p.cols - j0 < side ? p.cols - j0 : side;
            if constexpr (in_registers<T>)
                if (p.from_row == 1 && p.to_col == 1 && 4 * rows * cols > side * side) {
                    if (rows == side && cols == side)
                        copy_square(t, f, p);
                    else
                        copy_part(t, f, rows, cols, p);
                    continue;
                }
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < cols; ++j)
                    t[i * p.to_row + j * p.to_col] = f[i * p.from_row + j * p.from_col];
        }
}

/// Every element n times in a row, n known to the compiler: shuffles.
template <int n, class T>
void repeat_each(T* __restrict to, const T* __restrict from, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
#pragma GCC unroll 8
        for (int k = 0; k < n; ++k) to[n * i + k] = from[i];
}

/// So few times that rows are parts of a register; false: it is something else.
template <class T>
__attribute__((noinline)) bool copy_repeated(T* to, const T* from, const Plane& p) {
    if (p.from_row != 1 || p.to_col != 1 || p.to_row != p.cols) return false;
    if (p.cols < 2 || p.cols > 8) return false;
    with_constant<8>(p.cols, [&](auto n) MERCER_STEP { repeat_each<n.value>(to, from, p.rows); });
    return true;
}

template <class T>
void copy_rows(T* to, const T* from, const Plane& p) {
    const int64_t n = p.cols, to_col = p.to_col, from_col = p.from_col;
    const auto each = [&](auto run) MERCER_STEP {
        for (int64_t i = 0; i < p.rows; ++i) run(to + i * p.to_row, from + i * p.from_row);
    };
    bool library = to_col == 1 && from_col == 1 && !p.stream && n * int64_t(sizeof(T)) > 4 * line;
    // It takes twice as long where runs lie otherwise in their lines than their sources (Zen 4).
    if constexpr (in_registers<T>)
        library = library &&
                  (Vec<T>::lanes == 1 ||
                   (reinterpret_cast<size_t>(to) - reinterpret_cast<size_t>(from)) % line == 0);
    if (library)
        return each([n](T* t, const T* f) { __builtin_memcpy(t, f, size_t(n) * sizeof(T)); });
    if constexpr (in_registers<T>) {
        if (to_col == 1 && from_col == 1)
            return each([&](T* t, const T* f) MERCER_STEP {
                write_run(t, n, p.stream, [f](int64_t j, int count) MERCER_STEP {
                    return load(f + j, count, T(0));
                });
            });
        if (to_col == 1 && from_col == 0)
            return each([&](T* t, const T* f) MERCER_STEP {
                const Vec<T> v(*f);
                write_run(t, n, p.stream, [v](int64_t, int) MERCER_STEP { return v; });
            });
    }
    if constexpr (sizeof(T) == 1)
        if (to_col == 1 && from_col == 0)
            return each([n](T* t, const T* f) { __builtin_memset(t, int(*f), size_t(n)); });
    if (to_col == 1 && from_col == -1)
        return each([n](T* t, const T* f) {
            for (int64_t j = 0; j < n; ++j) t[j] = f[-j];
        });
    each([=](T* t, const T* f) {
        for (int64_t j = 0; j < n; ++j) t[j * to_col] = f[j * from_col];
    });
}

/// Planes of few elements: where each goes is found once.
template <class T>
void copy_tiny(T* to, const T* from, const Plane& p) {
    int64_t target[tiny_plane], source[tiny_plane];
    int n = 0;
    for (int64_t i = 0; i < p.rows; ++i)
        for (int64_t j = 0; j < p.cols; ++j, ++n) {
            target[n] = i * p.to_row + j * p.to_col;
            source[n] = i * p.from_row + j * p.from_col;
        }
    for (int64_t k = 0; k < p.planes; ++k, to += p.to_plane, from += p.from_plane)
        for (int e = 0; e < n; ++e) to[target[e]] = from[source[e]];
}

template <class T>
void plane(void* to, const void* from, const Plane& p) {
    T* t = static_cast<T*>(to);
    const T* f = static_cast<const T*>(from);
    if (p.turned && p.planes >= 8 && p.rows * p.cols <= tiny_plane) return copy_tiny(t, f, p);
    for (int64_t k = 0; k < p.planes; ++k, t += p.to_plane, f += p.from_plane) {
        if (p.from_col == 0 && p.cols <= 8 && copy_repeated(t, f, p)) continue;
        (p.turned ? copy_turned<T> : copy_rows<T>)(t, f, p);
    }
    if (p.stream) stream_fence();
}

template <class To, class From>
MERCER_INLINE To converted(From x) {
    constexpr bool real_from = From(0.5) != From(0) && !__is_same(From, bool),
                   real_to = To(0.5) != To(0);
    if constexpr (__is_same(To, bool)) {
        return x != From(0);
    } else if constexpr (real_from && !real_to) {
        // The limit as a float rounds up to 2^31 or 2^63, which is already out of range. No branches: in registers.
        constexpr From low = From(lower_end<To>);
        const From inside = (x >= low) & (x < -low) ? x : From(0);
        const To other = x >= -low ? upper_end<To> : x < low ? lower_end<To> : To(0);
        return To(inside) | other;
    } else if constexpr (__is_same(To, int32_t) && __is_same(From, int64_t)) {
        const From low = x < lower_end<To> ? lower_end<To> : x;
        return To(low > upper_end<To> ? upper_end<To> : low);
    } else {
        return To(x);
    }
}

template <class To, class From>
void convert(void* target, int64_t to_step, const void* source, int64_t from_step, int64_t n) {
    // A bool as the byte it is: its own conversions go one by one.
    using Read = std::conditional_t<__is_same(From, bool) && !__is_same(To, bool), uint8_t, From>;
    To* to = static_cast<To*>(target);  // + makes a float of bf16
    const Read* from = static_cast<const Read*>(source);
    if (to_step == 1 && from_step == 1)
        for (int64_t i = 0; i < n; ++i) to[i] = converted<To>(+from[i]);
    else
        for (int64_t i = 0; i < n; ++i) to[i * to_step] = converted<To>(+from[i * from_step]);
}

#define MERCER_FROM_ALL(To)                                                                  \
    {                                                                                        \
        convert<To, float>, convert<To, double>, convert<To, int32_t>, convert<To, int64_t>, \
            convert<To, bool>, convert<To, BFloat16>                                         \
    }

}  // namespace

extern const cpu::CopyTable copy_table = {
    sizeof(Vec<float>),
    {plane<uint8_t>, plane<int16_t>, plane<int32_t>, plane<int64_t>},
    {MERCER_FROM_ALL(float), MERCER_FROM_ALL(double), MERCER_FROM_ALL(int32_t),
     MERCER_FROM_ALL(int64_t), MERCER_FROM_ALL(bool), MERCER_FROM_ALL(BFloat16)}};

}  // namespace mercer::MERCER_ISA
