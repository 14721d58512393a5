// Sums over 64 bytes of lanes: element j goes to lane j mod W in ascending j, W = 16 floats or 8 doubles; then lanes i and
// i + h are joined for h = W/2, … 1. The same bits on every instruction set.
#pragma once

#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {

template <class T>
struct Line {
    static constexpr int lanes = Vec<T>::lanes, width = 64 / int(sizeof(T)),
                         registers = width / lanes;
    Vec<T> part[registers];

    MERCER_INLINE Line() = default;
    MERCER_INLINE explicit Line(T x) {
        for (int w = 0; w < registers; ++w) part[w] = Vec<T>(x);
    }
    /// The first `count` elements from p, the rest `fill`.
    MERCER_INLINE static Line load(const T* p, int64_t count, T fill) {
        Line x;
        for (int w = 0; w < registers; ++w)
            x.part[w] = MERCER_ISA::load(p + w * lanes, left(count, w), fill);
        return x;
    }
    MERCER_INLINE static Line load(const T* p) {
        Line x;
#pragma GCC unroll 16
        for (int w = 0; w < registers; ++w) x.part[w] = Vec<T>::load(p + w * lanes);
        return x;
    }
    MERCER_INLINE void store(T* p) const {
#pragma GCC unroll 16
        for (int w = 0; w < registers; ++w) part[w].store(p + w * lanes);
    }
    MERCER_INLINE void store(T* p, int64_t count) const {
        for (int w = 0; w < registers; ++w)
            MERCER_ISA::store(part[w], p + w * lanes, left(count, w));
    }
    /// this += a·b.
    MERCER_INLINE void add(const Line& a, const Line& b) {
#pragma GCC unroll 16
        for (int w = 0; w < registers; ++w) part[w] = fma(a.part[w], b.part[w], part[w]);
    }
    MERCER_INLINE T total() const {
        Line x = *this;
        for (int h = registers / 2; h >= 1; h /= 2)
            for (int w = 0; w < h; ++w) x.part[w] = x.part[w] + x.part[w + h];
        return across<SumOp>(x.part[0]);
    }

private:
    /// Of `count` elements those in register w.
    static MERCER_INLINE int left(int64_t count, int w) {
        const int64_t rest = count - w * lanes;
        return int(rest < 0 ? 0 : rest < lanes ? rest : lanes);
    }
};

}  // namespace mercer::MERCER_ISA
