// The outputs of a plane, some registers of a row at a time.
#pragma once

#include "engine/cpu/canonical.h"
#include "engine/cpu/convolution_table.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::PlaneWalk;

/// Asks for what is to come with rows [r, r + rows) of outputs, into the second-level cache.
MERCER_INLINE void ask(const cpu::Soon& soon, int64_t r, int64_t rows) {
    for (int64_t at = r * soon.each; at < (r + rows) * soon.each; at += 64)
        __builtin_prefetch(soon.at + at, 0, 2);
}
/// body.template run<n>(column) over a row, n registers at a time, up to `most` (2 or 4), the last ones partly used.
template <class T, int most = 4, class Body>
MERCER_INLINE void across(int64_t columns, Body body) {
    constexpr int w = Vec<T>::lanes;
    for (int64_t c = 0; c < columns;) {
        const int64_t left = (columns - c + w - 1) / w;
        if (left >= most) {
            body.template run<most>(c);
            c += most * w;
        } else if (left >= 2) {
            body.template run<2>(c);
            c += 2 * w;
        } else {
            body.template run<1>(c);
            c += w;
        }
    }
}
/// body(k, count) for [0, n) in as few parts of at most `limit` <= `most` as there can be, of about one size.
template <int most, class Body>
MERCER_INLINE void in_parts(int64_t n, int64_t limit, Body body) {
    // Mostly one, which needs no division.
    int64_t parts = n <= limit ? 1 : (n + limit - 1) / limit;
    for (int64_t k = 0, count; k < n; k += count, --parts) {
        count = parts == 1 ? n - k : (n - k + parts - 1) / parts;
        with_constant<most>(count, [&](auto part) MERCER_STEP { body(k, part); });
    }
}
/// body(i) for each constant i of a sequence.
template <int... i, class Body>
MERCER_INLINE void in_turn(std::integer_sequence<int, i...>, Body body) {
    (body(std::integral_constant<int, i>()), ...);
}
template <class V>
MERCER_INLINE void store_within(V v, typename V::Scalar* row, int64_t at, int64_t columns) {
    if (at + V::lanes <= columns)
        v.store(row + at);
    else if (at < columns)
        v.store(row + at, int(columns - at));
}

}  // namespace
}  // namespace mercer::MERCER_ISA
