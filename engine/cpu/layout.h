// Loops over strided operands: axes that are adjacent in every operand are merged, so that the
// inner loop is long.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "engine/parallel.h"
#include "engine/types.h"

namespace mercer::cpu {

/// Up to `max_operands` operands walked together over one shape, innermost axis last.
struct Walk {
    static constexpr int max_operands = 12;
    Shape shape;
    std::array<Strides, max_operands> strides;  // of each operand, in elements
    int operands = 0;

    /// The number of runs along the innermost axis, and its length.
    int64_t rows() const;
    int64_t cols() const { return shape.back(); }
    /// Offsets (elements) of every operand at run `row`.
    void locate(int64_t row, int64_t* offsets) const;
    /// Axes a and b change places.
    void exchange(int a, int b);

    /// body(offsets, first, n) for every run by pieces of at most `piece`: elements [first, first + n) of the run that begins
    /// at the offsets. In parallel; so many elements cost as much as one of grain_for.
    template <class Body>
    void for_pieces(int64_t piece, int64_t elements, Body body) const {
        const int64_t pieces = (cols() + piece - 1) / piece;
        parallel_each(rows() * pieces, grain_for(std::min(piece, cols()) / elements),
                      [&](int64_t item) {
                          int64_t offsets[max_operands];
                          locate(item / pieces, offsets);
                          const int64_t first = item % pieces * piece;
                          body(offsets, first, std::min(piece, cols() - first));
                      });
    }
};

/// `shape` with axes of size 1 dropped and mergeable neighbours merged; rank is at least 1.
Walk plan_walk(const Shape& shape, std::span<const Strides> strides);

/// Strides that repeat an operand of shape `from` over `to` (0 along repeated axes; those given, if the shapes are equal).
/// ShapeError if it does not fit.
Strides broadcast_strides(const char* operation, const Shape& from, const Strides& strides,
                          const Shape& to);

/// The common shape of two operands by the usual broadcasting rule. ShapeError names both.
MERCER_API Shape broadcast_shape(const char* operation, const Shape& a, const Shape& b);

/// The axes of matrices before their last two.
inline Shape batch_shape(const Shape& shape) {
    return Shape(std::span(shape.begin(), size_t(shape.rank() - 2)));
}

}  // namespace mercer::cpu
