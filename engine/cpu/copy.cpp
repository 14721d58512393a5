#include "engine/cpu/copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cpu/layout.h"
#include "engine/parallel.h"

namespace mercer::cpu {
namespace {

/// A rectangle of two axes in both tensors: strides of a row and of a column.
struct Plane {
    int64_t rows, cols, to_row, to_col, from_row, from_col;
};

// A square of whole cache lines goes through a small buffer, so that neither side keeps 16 lines of one cache set waiting
// when its rows are a power of two apart.
template <class T>
void copy_square(T* to, const T* from, const Plane& p) {
    constexpr int side = sizeof(T) == 8 ? 8 : 16;
    T in[side][side], out[side][side];
    for (int j = 0; j < side; ++j) std::memcpy(in[j], from + j * p.from_col, sizeof in[j]);
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) out[i][j] = in[j][i];
    for (int i = 0; i < side; ++i) std::memcpy(to + i * p.to_row, out[i], sizeof out[i]);
}

template <class T>
void copy_turned(T* to, const T* from, const Plane& p) {
    constexpr int64_t side = sizeof(T) == 8 ? 8 : 16;
    for (int64_t j0 = 0; j0 < p.cols; j0 += side)
        for (int64_t i0 = 0; i0 < p.rows; i0 += side) {
            T* t = to + i0 * p.to_row + j0 * p.to_col;
            const T* f = from + i0 * p.from_row + j0 * p.from_col;
            const int64_t rows = std::min(side, p.rows - i0), cols = std::min(side, p.cols - j0);
            if (p.from_row == 1 && p.to_col == 1 && rows == side && cols == side) {
                copy_square(t, f, p);
                continue;
            }
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < cols; ++j)
                    t[i * p.to_row + j * p.to_col] = f[i * p.from_row + j * p.from_col];
        }
}

template <class T>
void copy_rows(T* to, const T* from, const Plane& p) {
    const auto each = [&](auto run) {
        for (int64_t i = 0; i < p.rows; ++i) run(to + i * p.to_row, from + i * p.from_row);
    };
    const int64_t n = p.cols, to_col = p.to_col, from_col = p.from_col;
    if (to_col == 1 && from_col == 1 && n * int64_t(sizeof(T)) > 128)
        each([n](T* t, const T* f) { std::memcpy(t, f, size_t(n) * sizeof(T)); });
    else if (to_col == 1 && from_col == 1 && n * sizeof(T) == 32)
        each([](T* t, const T* f) { std::memcpy(t, f, 32); });
    else if (to_col == 1 && from_col == 1 && n * sizeof(T) == 64)
        each([](T* t, const T* f) { std::memcpy(t, f, 64); });
    else if (to_col == 1 && from_col == 1)
        each([n](T* t, const T* f) {
            for (int64_t j = 0; j < n; ++j) t[j] = f[j];
        });
    else if (to_col == 1 && from_col == 0)
        each([n](T* t, const T* f) {
            for (int64_t j = 0; j < n; ++j) t[j] = *f;
        });
    else if (to_col == 1 && from_col == -1)
        each([n](T* t, const T* f) {
            for (int64_t j = 0; j < n; ++j) t[j] = f[-j];
        });
    else
        each([=](T* t, const T* f) {
            for (int64_t j = 0; j < n; ++j) t[j * to_col] = f[j * from_col];
        });
}

/// Axes in any order mean the same copy; this one writes along memory.
Walk plan_copy(const Tensor& target, const Tensor& source) {
    int axes[Dims::max_rank];
    const int rank = target.rank();
    for (int a = 0; a < rank; ++a) axes[a] = a;
    std::stable_sort(axes, axes + rank, [&](int a, int b) {
        return std::abs(target.strides()[a]) > std::abs(target.strides()[b]);
    });
    Shape shape = target.shape();
    Strides strides[] = {target.strides(), source.strides()};
    for (int a = 0; a < rank; ++a) {
        shape[a] = target.shape()[axes[a]];
        strides[0][a] = target.strides()[axes[a]];
        strides[1][a] = source.strides()[axes[a]];
    }
    return plan_walk(shape, strides);
}

void exchange(Walk& walk, int a, int b) {
    std::swap(walk.shape[a], walk.shape[b]);
    for (int k = 0; k < walk.operands; ++k)
        std::swap(walk.strides[size_t(k)][a], walk.strides[size_t(k)][b]);
}

template <class T>
void copy_as(T* to, const T* from, Walk walk) {
    const int last = walk.shape.rank() - 1;
    const auto apart = [&](int axis) { return std::abs(walk.strides[1][axis]); };
    // Where another axis is nearer in the source, both go in squares.
    int near = last;
    for (int a = last - 1; a >= 0; --a)
        if (apart(a) != 0 && apart(a) < apart(near)) near = a;
    const bool turned = near != last;
    if (turned && near != last - 1) exchange(walk, near, last - 1);
    const int64_t cols = walk.cols(), side = last > 0 ? walk.shape[last - 1] : 1,
                  outer = walk.rows() / side;
    constexpr int64_t elements = 1 << 15;  // in a piece
    const int64_t piece = turned ? std::max<int64_t>(elements / 64, 1) : std::min(cols, elements),
                  pieces = (cols + piece - 1) / piece,
                  band = turned ? 64 : std::max<int64_t>(elements / piece, 1),
                  bands = (side + band - 1) / band;
    parallel_for(
        outer * bands * pieces, grain_for(std::min(band, side) * std::min(piece, cols) / 4),
        [&](int64_t begin, int64_t end) {
            for (int64_t item = begin; item < end; ++item) {
                const int64_t column = item % pieces * piece, row = item / pieces % bands * band;
                int64_t at[2];
                walk.locate(item / pieces / bands * side + row, at);
                const Plane p{std::min(band, side - row),
                              std::min(piece, cols - column),
                              last > 0 ? walk.strides[0][last - 1] : 0,
                              walk.strides[0][last],
                              last > 0 ? walk.strides[1][last - 1] : 0,
                              walk.strides[1][last]};
                T* t = to + at[0] + column * p.to_col;
                const T* f = from + at[1] + column * p.from_col;
                turned ? copy_turned(t, f, p) : copy_rows(t, f, p);
            }
        });
}

template <class To, class From>
To converted(From x) {
    if constexpr (std::is_same_v<To, bool>) {
        return x != From(0);
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        // The limit as a float rounds up to 2^31 or 2^63, which is already out of range. No branches: in registers.
        constexpr From low = From(std::numeric_limits<To>::min());
        const From inside = (x >= low) & (x < -low) ? x : From(0);
        const To other = x >= -low ? std::numeric_limits<To>::max()
                         : x < low ? std::numeric_limits<To>::min()
                                   : To(0);
        return To(inside) | other;
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
    const Walk walk = plan_copy(target, source);
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
    const int64_t to_col = walk.strides[0][last], from_col = walk.strides[1][last], piece = 1 << 14,
                  pieces = (walk.cols() + piece - 1) / piece;
    visit(target.dtype(), [&]<class To>(To) {
        visit(source.dtype(), [&]<class From>(From) {
            parallel_for(walk.rows() * pieces, grain_for(std::min(piece, walk.cols())),
                         [&](int64_t begin, int64_t end) {
                             for (int64_t item = begin; item < end; ++item) {
                                 int64_t at[2];
                                 walk.locate(item / pieces, at);
                                 const int64_t first = item % pieces * piece,
                                               n = std::min(piece, walk.cols() - first);
                                 To* to = static_cast<To*>(target.raw()) + at[0] + first * to_col;
                                 const From* from = static_cast<const From*>(source.raw()) + at[1] +
                                                    first * from_col;
                                 if (to_col == 1 && from_col == 1)
                                     for (int64_t i = 0; i < n; ++i) to[i] = converted<To>(from[i]);
                                 else
                                     for (int64_t i = 0; i < n; ++i)
                                         to[i * to_col] = converted<To>(from[i * from_col]);
                             }
                         });
        });
    });
}

void copy_into_box(const Tensor& target, const Tensor& source, const Shape& before,
                   const Tensor& border) {
    // Axis by axis: what is before and after the box, inside the axes that are done.
    Shape shape = target.shape();
    int64_t offset = target.offset();
    for (int a = 0; a < target.rank(); ++a) {
        const int64_t step = target.strides()[a], whole = shape[a], n = source.size(a);
        const auto slab = [&](int64_t from, int64_t size) {
            shape[a] = size;
            if (count(shape))
                copy(target.view(shape, target.strides(), offset + from * step),
                     border.view(shape, Strides::filled(shape.rank(), 0), border.offset()));
        };
        slab(0, before[a]);
        slab(before[a] + n, whole - before[a] - n);
        shape[a] = n;
        offset += before[a] * step;
    }
    copy(target.view(shape, target.strides(), offset), source);
}

}  // namespace mercer::cpu
