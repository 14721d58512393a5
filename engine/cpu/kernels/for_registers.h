// Runs of elements by several registers at a time.
#pragma once

#include <type_traits>

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// body(i, registers as a constant, count) over [0, n): runs of so many registers as `sizes` say, the most first, each of
/// `count` elements; a last one may have fewer.
template <class T, int... sizes, class Body>
MERCER_INLINE void for_registers(int64_t n, Body body) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t i = 0;
    const auto run = [&](auto size) MERCER_STEP {
        for (; i + size * lanes <= n; i += size * lanes) body(i, size, lanes);
    };
    (run(std::integral_constant<int, sizes>()), ...);
    if (i < n) body(i, std::integral_constant<int, 1>(), int(n - i));
}

}  // namespace mercer::MERCER_ISA
