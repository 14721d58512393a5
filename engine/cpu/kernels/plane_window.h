// The largest element of each window of planes, and where it stands; a register has one element of each of as many planes as
// it has lanes. Along an axis elements lie in blocks as long as a window, which is the end of a block and the beginning of
// the next one (van Herk): the largest up to a block's end and from its beginning make three steps an element, however long
// windows are. Padding is left out: every window has more.
#pragma once

#include "engine/cpu/kernels/plane_channels.h"
#include "engine/cpu/kernels/plane_largest.h"

namespace mercer::MERCER_ISA {
namespace {

/// Of the line of elements that `load` gives, into places `to`, `to` + step, …
template <class T, bool named, class Load>
MERCER_INLINE void line_windows(const cpu::ConvolutionAxis& a, const cpu::WindowRoom<T>& room,
                                int64_t to, int64_t step, Load load) {
    using L = Largest<T, named>;
    constexpr int64_t w = Vec<T>::lanes;
    const int64_t k = a.kernel, last = a.in - 1;
    L end = load(last);
    end.store(room.ends, room.end_names, last * w);
    for (int64_t i = last, place = (last + a.before) % k; i-- > 0;) {
        L l = load(i);
        if (place-- == 0)
            place = k - 1;
        else
            l.meet(end);
        end = l;
        end.store(room.ends, room.end_names, i * w);
    }
    L begin = load(0);
    int64_t i = 1, place = (1 + a.before) % k, next = k - a.before;  // the next block's first
    for (int64_t o = 0, low = -a.before; o < a.out; ++o, low += a.stride, to += step) {
        const int64_t from = low < 0 ? 0 : low, high = low + k - 1 < last ? low + k - 1 : last;
        while (next <= low) next += k;
        for (; i <= high; ++i) {
            const L l = load(i);
            if (place == 0)
                begin = l;
            else
                begin.meet(l);
            if (++place == k) place = 0;
        }
        L all = begin;
        if (from < next) {
            all = L::load(room.ends, room.end_names, from * w);
            if (next <= high) all.meet(begin);
        }
        all.store(room.tops, room.names, to);
    }
}

template <class T, bool named>
void largest_channels(const cpu::ConvolutionAxis* axis, const T* x, const cpu::WindowRoom<T>& room,
                      int64_t kept, T* out) {
    using V = Vec<T>;
    using L = Largest<T, named>;
    constexpr int64_t w = V::lanes;
    const cpu::ConvolutionAxis &down = axis[0], &across = axis[1];
    const int64_t in = down.in * across.in, row = across.out * w;
    turn_planes(x, in, room.tile);
    using I = cpu::NameOf<T>;
    I plane[w];  // where each begins
    for (int64_t i = 0; i < w; ++i) plane[i] = I(i * in);
    const auto begins = V::Int::load(plane);
    for (int64_t y = 0, at = 0; y < down.in; ++y, at += across.in) {
        ask(room.soon, y, 1);
        line_windows<T, named>(across, room, y * row, w, [&](int64_t i) MERCER_STEP {
            L l;
            l.top = V::load(room.tile + (at + i) * w);
            if constexpr (named) l.name = begins + typename V::Int(I(at + i));
            return l;
        });
    }
    // In place: what a window is stored over has been met.
    for (int64_t c = 0; c < row; c += w)
        line_windows<T, named>(down, room, c, row, [&](int64_t i) MERCER_STEP {
            return L::load(room.tops, room.names, i * row + c);
        });
    const int64_t outs = down.out * across.out;
    if (!named) turn_back(room.tops, outs, kept, out);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
