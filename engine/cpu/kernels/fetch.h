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

}  // namespace mercer::MERCER_ISA
