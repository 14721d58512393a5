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

/// Whether a result whose rows of n begin at lines of memory goes past the caches.
inline bool streams_columns(const Tensor& out, int64_t n, int64_t tensors = 2) {
    return streams(out, tensors) && n * int64_t(size_of(out.dtype())) % 64 == 0 &&
           reinterpret_cast<uintptr_t>(out.raw()) % 64 == 0;
}

/// The lines of a shape along one axis.
struct Lines {
    int64_t outer, n, inner;
    bool planes;  // rows, or enough planes of few elements: by lines of memory; else columns
    Lines(const Shape& shape, int axis, int64_t few = cpu::plane_columns)
        : outer(count(shape.part(0, axis))),
          n(shape[axis]),
          inner(count(shape.part(axis + 1, shape.rank()))),
          planes(inner == 1 || (inner <= few && outer >= 64)) {}
    /// A formula along all lines of x to out, in parallel; more(args, the first element) says what else it needs. So many
    /// elements of a column cost as much as one of grain_for.
    template <class More>
    void run(const cpu::ScanSteps& steps, const Tensor& x, const Tensor& out, bool reverse,
             int64_t elements, More more, int64_t tensors = 2) const {
        const int64_t size = n * inner, lines = planes ? outer : inner,
                      width = planes ? std::max<int64_t>(16, 4096 / size / 16 * 16)
                                     : cpu::columns_together,
                      blocks = (lines + width - 1) / width,
                      cost = std::min(lines, width) * (planes ? size / 2 : n / elements);
        // Whether such results go past the caches.
        const bool stream = streams_columns(out, planes ? cpu::plane_columns : inner, tensors);
        parallel_each((planes ? 1 : outer) * blocks, grain_for(cost), [&](int64_t i) {
            const int64_t line = i % blocks * width,
                          first = i / blocks * size + line * (planes ? size : 1);
            cpu::ScanArgs args{.x = at(x, first),
                               .n = n,
                               .inner = inner,
                               .count = std::min(width, lines - line),
                               .reverse = reverse,
                               .out = at(out, first),
                               .stream = stream};
            more(args, first);
            (planes ? steps.planes : steps.columns)(args);
        });
    }
};

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
    /// body(args, the first row) for some rows at a time, in parallel; the args are those of all their steps.
    template <class Body>
    void run(const Tensor& out, bool reverse, Body body) const {
        const int64_t all = x.count() / (lines * n),
                      side = all * lines < 2 * rows * thread_count() ? rows / 4 : rows,
                      blocks = (lines + side - 1) / side;
        const bool stream = streams_columns(out, n);
        parallel_each(all * blocks, grain_for(n * side), [&](int64_t i) {
            const int64_t line = i % blocks * side, first = i / blocks * lines + line;
            body(cpu::ScanArgs{.x = at(first, 0),
                               .n = n,
                               .inner = apart,
                               .count = std::min(side, lines - line),
                               .reverse = reverse,
                               .out = mercer::at(out, first * n),
                               .out_inner = n,
                               .stream = stream},
                 first);
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
