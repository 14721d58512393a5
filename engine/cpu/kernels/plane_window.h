// The largest element of each window of planes, and where it stands; a register has one element of each of as many planes as
// it has lanes. Along an axis elements lie in blocks as long as a window, which is the end of a block and the beginning of
// the next one (van Herk): the largest up to a block's end and from its beginning make three steps an element, however long
// windows are. Padding is left out: every window has more.
#pragma once

#include "engine/cpu/kernels/plane_channels.h"
#include "engine/cpu/kernels/plane_largest.h"

namespace mercer::MERCER_ISA {
namespace {

/// Samples as whole numbers in the same order: −0 as +0, NaN above all. Those are compared in one step.
template <class T>
MERCER_INLINE typename Vec<T>::Int rank(Vec<T> v) {
    using Int = typename Vec<T>::Int;
    const Int bits = as_int(v + Vec<T>(0)), most(~Format<T>::sign);
    const Int ordered = select(Int(0) > bits, bits ^ most, bits);
    return select((v == v).template as<typename Int::Scalar>(), ordered, most);
}
/// Of each lane the highest rank and whose it is; in memory ranks have the place of samples.
template <class T>
struct Highest {
    using V = Vec<T>;
    using Int = typename V::Int;
    Int top, name;
    static MERCER_INLINE Highest load(const T* tops, const cpu::NameOf<T>* names, int64_t at) {
        return {as_int(V::load(tops + at)), Int::load(names + at)};
    }
    MERCER_INLINE void store(T* tops, cpu::NameOf<T>* names, int64_t at) const {
        as_float(top).store(tops + at);
        name.store(names + at);
    }
    /// Of equals the first stays.
    MERCER_INLINE void meet(const Highest& later) {
        name = select(later.top > top, later.name, name);
        top = maximum(top, later.top);
    }
};
template <class T, bool named>
using LineLargest = std::conditional_t<named, Highest<T>, Largest<T, false>>;

/// Of n lines of elements, load(i, line), each window's largest to put(window, line, largest). More than one, for a step
/// has to wait for the one before in its line.
template <class L, int n, class T, class Load, class Put>
MERCER_INLINE void line_windows(const cpu::ConvolutionAxis& a, const cpu::WindowRoom<T>& room,
                                Load load, Put put) {
    constexpr int64_t w = Vec<T>::lanes;
    const int64_t k = a.kernel, last = a.in - 1;
    T* const ends = room.ends;
    cpu::NameOf<T>* const names = room.end_names;
    L l[n], met[n];
    for (int64_t i = last, block = last + 1; i >= 0; --i) {
        const bool end = i < block;  // of a block, which begins at `block`
        if (end) block = i - (i + a.before) % k;
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            l[j] = load(i, j);
            if (!end) l[j].meet(met[j]);
            met[j] = l[j];
            met[j].store(ends, names, (i * n + j) * w);
        }
    }
    // Met now: from the beginning of a window's second block, `next`, up to i.
    int64_t next = k - a.before, i = next;
    for (int64_t o = 0, low = -a.before; o < a.out; ++o, low += a.stride) {
        const int64_t from = low < 0 ? 0 : low, high = low + k - 1 < last ? low + k - 1 : last;
        while (next <= low) i = next += k;
        for (; i <= high; ++i) MERCER_UNROLL for (int j = 0; j < n; ++j) {
                l[j] = load(i, j);
                if (i == next)
                    met[j] = l[j];
                else
                    met[j].meet(l[j]);
            }
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            L all = L::load(ends, names, (from * n + j) * w);
            if (next <= high) all.meet(met[j]);
            put(o, j, all);
        }
    }
}
/// body(n, line), n a constant, for all lines.
template <class Body>
MERCER_INLINE void by_lines(int64_t lines, Body body) {
    constexpr std::integral_constant<int, int(cpu::lines_together)> together;
    int64_t at = 0;
    for (; at + together <= lines; at += together) body(together, at);
    for (; at < lines; ++at) body(std::integral_constant<int, 1>(), at);
}

template <class T, bool named>
void largest_channels(const cpu::ConvolutionAxis* axis, const T* x, const cpu::WindowRoom<T>& room,
                      int64_t kept, T* out) {
    using V = Vec<T>;
    using L = LineLargest<T, named>;
    using Name = cpu::NameOf<T>;
    constexpr int64_t w = V::lanes;
    const cpu::ConvolutionAxis &down = axis[0], &across = axis[1];
    const int64_t in = down.in * across.in;
    turn_planes(x, in, room.tile);
    by_lines(down.in, [&](auto n, int64_t y) MERCER_STEP {
        const int64_t first = y * across.in;
        T* const line = room.tile + first * w;
        ask(room.soon, y, n);
        if constexpr (named)
            for (int64_t i = 0; i < n * across.in * w; i += w)
                as_float(rank(V::load(line + i))).store(line + i);
        const auto load = [&](int64_t i, int j) MERCER_STEP {
            const int64_t at = j * across.in + i;
            L l;
            if constexpr (named)
                l = {as_int(V::load(line + at * w)), typename V::Int(Name(first + at))};
            else
                l.top = V::load(line + at * w);
            return l;
        };
        line_windows<L, n>(across, room, load, [&](int64_t o, int j, const L& l) MERCER_STEP {
            l.store(room.tops, room.names, ((y + j) * across.out + o) * w);
        });
    });
    Name plane[w];  // where each begins
    for (int64_t i = 0; i < w; ++i) plane[i] = Name(i * in);
    const auto begins = V::Int::load(plane);
    // In place: what a window is stored over has been met.
    by_lines(across.out, [&](auto n, int64_t c) MERCER_STEP {
        const auto at = [&](int64_t i, int j) MERCER_STEP { return (i * across.out + c + j) * w; };
        const auto load = [&](int64_t i, int j)
                              MERCER_STEP { return L::load(room.tops, room.names, at(i, j)); };
        line_windows<L, n>(down, room, load, [&](int64_t o, int j, const L& l) MERCER_STEP {
            if constexpr (named)
                (begins + l.name).store(room.names + at(o, j));
            else
                l.store(room.tops, room.names, at(o, j));
        });
    });
    if (!named) turn_back(room.tops, down.out * across.out, kept, out);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
