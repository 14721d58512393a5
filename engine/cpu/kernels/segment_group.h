// Segments of single elements, in place. There are no columns to fill a register with: they take the canonical order, as
// many segments at a time as a register has lanes, each in as many registers as the longest of them needs. There is no
// branch on where a segment ends, which is chance.
#pragma once

#include "engine/cpu/kernels/row.h"
#include "engine/cpu/segment_table.h"

namespace mercer::MERCER_ISA {
namespace {

/// The segments from at[r] to at[r + 1], r = 0 … lanes − 1. parts: registers of each, 0 for more than a few.
template <class T, int parts>
struct Group {
    static constexpr int lanes = Vec<T>::lanes, registers = parts;
    const int64_t* at;

    MERCER_INLINE int64_t size(int r) const { return at[r + 1] - at[r]; }

    MERCER_INLINE static Vec<T> load_part(const T* p, int count, T fill) {
        return parts == 0 ? load(p, count, fill) : Vec<T>::load(p, count, fill);
    }
    /// Lane r: f(r, place, count) of segment r's elements joined.
    template <class Op, class F>
    MERCER_INLINE Vec<T> join(F f) const {
        Vec<T> v[lanes];
        for (int r = 0; r < lanes; ++r) {
            if constexpr (parts == 0) {
                Canonical<T, Op> acc;
                canonical_for(acc, size(r), [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                    part = Op::join(part, f(r, at[r] + i, count));
                });
                v[r] = acc.joined();
            } else {
                Vec<T> part[parts];
                for (int k = 0; k < parts; ++k)
                    part[k] = f(r, at[r] + k * lanes, held<T>(size(r), k));
                part[0] =
                    Op::join(part[0], Vec<T>(Op::template identity<T>));  // as those beyond do
                for (int h = parts / 2; h >= 1; h /= 2)
                    for (int k = 0; k < h; ++k) part[k] = Op::join(part[k], part[k + h]);
                v[r] = part[0];
            }
        }
        return across_each<Op>(v);
    }
    /// to[place …] = f(r, place, count). A register reaches into the segments after it, which are written later.
    template <class F>
    MERCER_INLINE void write(T* to, F f) const {
        for (int r = 0; r < lanes; ++r) {
            if constexpr (parts == 0) {
                write_run(to + at[r], size(r), false,
                          [&](int64_t i, int count) MERCER_STEP { return f(r, at[r] + i, count); });
            } else {
                for (int k = 0; k < parts; ++k) {
                    const int64_t i = at[r] + k * lanes;
                    const Vec<T> v = f(r, i, held<T>(size(r), k));
                    if (i + lanes <= at[lanes])
                        v.store(to + i);
                    else
                        v.store(to + i, held<T>(size(r), k));
                }
            }
        }
    }
};

/// f(group, its first segment, how many there are) for the segments [begin, end); x will be read.
template <class T, class F>
MERCER_INLINE void for_groups(const cpu::Segments& g, const T* x, F f) {
    constexpr int lanes = Vec<T>::lanes;
    for (int64_t s = g.begin; s < g.end; s += lanes) {
        const int some = g.end - s < lanes ? int(g.end - s) : lanes;
        int64_t at[lanes + 1], most = 0;
        for (int r = 0; r <= lanes; ++r) at[r] = g.offsets[s + (r < some ? r : some)];
        for (int r = 0; r < lanes; ++r) most = at[r + 1] - at[r] > most ? at[r + 1] - at[r] : most;
        // Every cache line is asked for early, wherever segments end; long ones are read in a row.
        if (most <= 4 * canonical_lanes)
            for (int64_t i = at[0]; i < at[lanes]; i += 64 / int(sizeof(T))) fetch_beyond(x + i);
        if (most <= lanes)
            f(Group<T, 1>{at}, s, some);
        else if (most <= 2 * lanes)
            f(Group<T, 2>{at}, s, some);
        else if (most <= 4 * lanes)
            f(Group<T, 4>{at}, s, some);
        else if (lanes < 8 && most <= 8 * lanes)
            f(Group<T, 8>{at}, s, some);
        else
            f(Group<T, 0>{at}, s, some);
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
