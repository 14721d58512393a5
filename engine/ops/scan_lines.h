// The lines along which scans go, and how threads share them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cpu/scan_table.h"
#include "engine/ops/rows.h"
#include "engine/ops/scan.h"
#include "engine/parallel.h"

namespace mercer {

/// The kernels in use.
const cpu::ScanTable& scan_table();

/// Prefix sums, products or extrema of x, which is contiguous or whose rows, along the last axis, lie side by side.
Tensor scanned(cpu::Scan op, const ScanAttrs& attrs, const Tensor& x);

/// The lines of a shape along one axis.
struct Lines {
    int64_t outer, n, inner;
    Lines(const Shape& shape, int axis)
        : outer(count(shape.part(0, axis))),
          n(shape[axis]),
          inner(count(shape.part(axis + 1, shape.rank()))) {}
    /// body(the first element, lines) for at most `width` lines at a time, in parallel: rows, or columns if there are any.
    /// So many elements cost as much as one of grain_for.
    template <class Body>
    void for_blocks(int64_t width, int64_t elements, Body body) const {
        const bool rows = inner == 1;
        const int64_t lines = rows ? outer : inner, blocks = (lines + width - 1) / width;
        parallel_each((rows ? 1 : outer) * blocks, grain_for(n * std::min(lines, width) / elements),
                      [&](int64_t i) {
                          const int64_t first = i % blocks * width;
                          body(i / blocks * n * inner + first * (rows ? n : 1),
                               std::min(width, lines - first));
                      });
    }
};

/// Whether a result whose rows of n begin at lines of memory goes past the caches.
inline bool streams_columns(const Tensor& out, int64_t n) {
    return streams(out, 2) && n * int64_t(size_of(out.dtype())) % 64 == 0 &&
           reinterpret_cast<uintptr_t>(out.raw()) % 64 == 0;
}

/// Rows, along the last axis, that lie side by side in memory.
struct SideBySide {
    static constexpr int64_t rows = cpu::turned_rows;  // at a time
    const Tensor& x;
    int64_t lines, n, apart, element;

    explicit SideBySide(const Tensor& of)
        : x(of),
          lines(of.size(-2)),
          n(of.size(-1)),
          apart(of.strides()[of.rank() - 1]),
          element(int64_t(size_of(of.dtype()))) {}
    static bool fit(const Tensor& x) {
        const int rank = x.rank();
        return rank > 1 && x.count() && !x.is_contiguous() && x.strides()[rank - 2] == 1 &&
               x.strides()[rank - 1] > 1 && size_of(x.dtype()) >= 4 && x.size(-2) >= 16 &&
               x.count() / x.size(-1) >= rows / 4 * thread_count();
    }
    /// body(first row of all, rows), in parallel.
    template <class Body>
    void for_blocks(Body body) const {
        const int64_t all = x.count() / (lines * n),
                      side = all * lines < 2 * rows * thread_count() ? rows / 4 : rows,
                      blocks = (lines + side - 1) / side;
        parallel_each(all * blocks, grain_for(n * side), [&](int64_t i) {
            const int64_t first = i % blocks * side;
            body(i / blocks * lines + first, std::min(side, lines - first));
        });
    }
    const char* at(int64_t row, int64_t step) const {
        int64_t offset = row % lines + step * apart, rest = row / lines;
        for (int axis = x.rank() - 3; axis >= 0; --axis) {
            offset += rest % x.size(axis) * x.strides()[axis];
            rest /= x.size(axis);
        }
        return static_cast<const char*>(x.raw()) + offset * element;
    }
};

}  // namespace mercer
