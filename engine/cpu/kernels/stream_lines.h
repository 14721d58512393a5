// Squares on their way past the caches.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// Whether a register is part of a cache line: past the caches such parts are slow where those of other lines come in
/// between, so a square's lines are made whole near first.
template <class T>
inline constexpr bool part_of_line = sizeof(Vec<T>) < 64;

/// Rows of `width` elements, whole lines, from near to where they belong, `apart` elements from each other.
template <int rows, int width, class T>
MERCER_INLINE void stream_lines(const T* near, T* to, int64_t apart) {
    constexpr int lanes = Vec<T>::lanes;
#pragma GCC unroll 2
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < width; j += lanes)
            Vec<T>::load(near + i * width + j).stream(to + i * apart + j);
}

}  // namespace mercer::MERCER_ISA
