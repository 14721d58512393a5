// Squares transposed in registers, first within 16 bytes, then those: what processors shuffle quickest.
#pragma once

#include <utility>

#include "engine/cpu/kernels/held.h"

namespace mercer::MERCER_ISA {

/// The vectors that squares are transposed in: the instruction set's register, at least 16 bytes.
inline constexpr int wide_bytes = sizeof(Vec<float>) < 16 ? 16 : int(sizeof(Vec<float>));
template <class T, int bytes>
struct WideOf {
    typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Wide = typename WideOf<T, wide_bytes>::type;

/// Alternates `cell` elements of a and of b within each `span` elements, from the lower or upper
/// half of the span.
template <class T, int cell, int span, int upper, int... i>
MERCER_INLINE Wide<T> zip(Wide<T> a, Wide<T> b, std::integer_sequence<int, i...>) {
    constexpr int n = wide_bytes / sizeof(T);
    return __builtin_shufflevector(
        a, b,
        (i / span * span + upper * span / 2 + i % span / cell / 2 * cell + i % cell +
         (i % span / cell % 2 ? n : 0))...);
}
/// Transposes squares of `count` × `count` cells that lie across `count` registers.
template <class T, int count, int cell>
MERCER_INLINE void transpose_cells(Wide<T>* v, int apart) {
    using Each = std::make_integer_sequence<int, wide_bytes / int(sizeof(T))>;
    constexpr int span = count * cell;
    if constexpr (count == 2) {
        const Wide<T> a = v[0], b = v[apart];
        v[0] = zip<T, cell, span, 0>(a, b, Each{});
        v[apart] = zip<T, cell, span, 1>(a, b, Each{});
    } else if constexpr (count == 4) {
        const Wide<T> a = zip<T, cell, span, 0>(v[0], v[apart], Each{});
        const Wide<T> b = zip<T, cell, span, 1>(v[0], v[apart], Each{});
        const Wide<T> c = zip<T, cell, span, 0>(v[2 * apart], v[3 * apart], Each{});
        const Wide<T> d = zip<T, cell, span, 1>(v[2 * apart], v[3 * apart], Each{});
        v[0] = zip<T, 2 * cell, span, 0>(a, c, Each{});
        v[apart] = zip<T, 2 * cell, span, 1>(a, c, Each{});
        v[2 * apart] = zip<T, 2 * cell, span, 0>(b, d, Each{});
        v[3 * apart] = zip<T, 2 * cell, span, 1>(b, d, Each{});
    }
}

/// n registers of n elements each: element p of r[x] becomes element x of r[p].
template <class T>
MERCER_INLINE void transpose_square(Wide<T>* r) {
    constexpr int s = 16 / sizeof(T), parts = wide_bytes / 16;
    MERCER_UNROLL for (int g = 0; g < parts; ++g) transpose_cells<T, s, 1>(r + g * s, 1);
    MERCER_UNROLL for (int q = 0; q < s; ++q) transpose_cells<T, parts, s>(r + q, s);
}

}  // namespace mercer::MERCER_ISA
