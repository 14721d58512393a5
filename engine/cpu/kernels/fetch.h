// Memory asked for before it is read.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// Asks for what lies 1 KiB beyond p. For memory that is read in a row, but in parts of registers: some
/// processors do not look ahead then by themselves (Zen 5 reads at a third of its rate).
template <class T>
MERCER_INLINE void fetch_beyond(const T* p) {
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 1024);
}

/// Asks for what stands n elements beyond p, in the next row's same place. Rows that are not short would take the first
/// cache from what the passes over this row keep there; a long row's beginning would be gone when its turn comes. What is
/// `passing`, in memory and read here for the last time, goes past the other caches: their room is worth more to others.
template <class T>
MERCER_INLINE void fetch_next_row(const T* p, int64_t n, bool passing = false) {
    const int64_t bytes = n * int64_t(sizeof(T));
    if (passing && bytes <= 1 << 13)
        __builtin_prefetch(p + n, 0, 0);
    else if (bytes <= 1 << 11)
        __builtin_prefetch(p + n);
    else if (bytes <= 1 << 15)
        __builtin_prefetch(p + n, 0, 2);
}

}  // namespace mercer::MERCER_ISA
