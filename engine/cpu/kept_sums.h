// A row's sum between the pieces of the row, in memory.
#pragma once

#include "engine/cpu/canonical.h"
#include "engine/cpu/pointwise_sum.h"

namespace mercer::MERCER_ISA {

/// Registers of a kept sum: lanes j and j + h of the canonical ones joined down to these.
template <class T>
inline constexpr int kept = int(cpu::kept_lanes) / Vec<T>::lanes;

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

}  // namespace mercer::MERCER_ISA
