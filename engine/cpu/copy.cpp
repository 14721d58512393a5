#include "engine/cpu/copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cpu/layout.h"
#include "engine/parallel.h"

namespace mercer::cpu {
namespace {

template <class T>
void copy_run(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t n) {
    if (to_stride == 1 && from_stride == 1) {
        std::memcpy(to, from, size_t(n) * sizeof(T));
    } else if (to_stride == 1 && from_stride == 0) {
        std::fill_n(to, n, *from);
    } else {
        for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
    }
}

// Transposes go through small squares, so that both sides use whole cache lines.
template <class T>
void copy_square(T* to, int64_t to_row, int64_t to_col, const T* from, int64_t from_row,
                 int64_t from_col, int64_t rows, int64_t cols) {
    constexpr int64_t side = 16;
    for (int64_t j0 = 0; j0 < cols; j0 += side)
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = j0; j < std::min(cols, j0 + side); ++j)
                to[i * to_row + j * to_col] = from[i * from_row + j * from_col];
}

template <class T>
void copy_as(T* to, const T* from, const Walk& walk) {
    const int64_t cols = walk.cols(), rows = walk.rows();
    const int last = walk.shape.rank() - 1;
    const int64_t to_col = walk.strides[0][last], from_col = walk.strides[1][last];
    if (last > 0 && (from_col != 1 || to_col != 1) && from_col != 0) {
        const int64_t side = walk.shape[last - 1], outer = rows / side;
        const int64_t band = 64, bands = (side + band - 1) / band;
        parallel_for(outer * bands, grain_for(band * cols), [&](int64_t begin, int64_t end) {
            for (int64_t item = begin; item < end; ++item) {
                const int64_t first = item % bands * band;
                int64_t at[2];
                walk.locate(item / bands * side + first, at);
                copy_square(to + at[0], walk.strides[0][last - 1], to_col, from + at[1],
                            walk.strides[1][last - 1], from_col, std::min(band, side - first),
                            cols);
            }
        });
        return;
    }
    constexpr int64_t piece = 1 << 16;
    const int64_t pieces = (cols + piece - 1) / piece;
    parallel_for(
        rows * pieces, grain_for(std::min(cols, piece) / 4), [&](int64_t begin, int64_t end) {
            for (int64_t item = begin; item < end; ++item) {
                const int64_t first = item % pieces * piece;
                int64_t at[2];
                walk.locate(item / pieces, at);
                copy_run(to + at[0] + first * to_col, to_col, from + at[1] + first * from_col,
                         from_col, std::min(piece, cols - first));
            }
        });
}

template <class To, class From>
To converted(From x) {
    if constexpr (std::is_same_v<To, bool>) {
        return x != From(0);
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        if (!(x == x)) return 0;
        // The limits as floats round up to 2^31 and 2^63, which are already out of range.
        if (x >= -From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::max();
        if (x < From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
        return To(x);
    } else if constexpr (std::is_same_v<To, int32_t> && std::is_same_v<From, int64_t>) {
        return To(
            std::clamp<int64_t>(x, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
    } else {
        return To(x);
    }
}

}  // namespace

void copy(const Tensor& target, const Tensor& source) {
    if (target.count() == 0) return;
    const Strides strides[] = {target.strides(), source.strides()};
    const Walk walk = plan_walk(target.shape(), strides);
    switch (size_of(target.dtype())) {
        case 1:
            return copy_as(static_cast<uint8_t*>(target.raw()),
                           static_cast<const uint8_t*>(source.raw()), walk);
        case 4:
            return copy_as(static_cast<uint32_t*>(target.raw()),
                           static_cast<const uint32_t*>(source.raw()), walk);
        default:
            return copy_as(static_cast<uint64_t*>(target.raw()),
                           static_cast<const uint64_t*>(source.raw()), walk);
    }
}

void convert(const Tensor& target, const Tensor& source) {
    if (target.count() == 0) return;
    if (target.dtype() == source.dtype()) return copy(target, source);
    const Strides strides[] = {target.strides(), source.strides()};
    const Walk walk = plan_walk(target.shape(), strides);
    const int last = walk.shape.rank() - 1;
    visit(target.dtype(), [&]<class To>(To) {
        visit(source.dtype(), [&]<class From>(From) {
            parallel_for(walk.rows(), grain_for(walk.cols()), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    int64_t at[2];
                    walk.locate(row, at);
                    To* to = static_cast<To*>(target.raw()) + at[0];
                    const From* from = static_cast<const From*>(source.raw()) + at[1];
                    for (int64_t i = 0; i < walk.cols(); ++i)
                        to[i * walk.strides[0][last]] =
                            converted<To>(from[i * walk.strides[1][last]]);
                }
            });
        });
    });
}

}  // namespace mercer::cpu
