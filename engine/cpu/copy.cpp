#include "engine/cpu/copy.h"

#include <bit>
#include <cmath>

#include "engine/cpu/caches.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/layout.h"

namespace mercer {

MERCER_DISPATCH(cpu::CopyTable, copy_table)

namespace cpu {
namespace {

/// Axes in any order mean the same copy; this one writes along memory.
Walk plan_copy(const Tensor& target, const Tensor& source) {
    Shape shape = target.shape();
    Strides strides[] = {target.strides(), source.strides()};
    for (int a = 1; a < shape.rank(); ++a)
        for (int b = a; b > 0 && std::abs(strides[0][b - 1]) < std::abs(strides[0][b]); --b)
            for (Dims* sizes : {&shape, &strides[0], &strides[1]})
                std::swap((*sizes)[b - 1], (*sizes)[b]);
    return plan_walk(shape, strides);
}

// `size`: bytes of an element.
void copy_along(char* to, const char* from, int64_t size, Walk walk) {
    const int last = walk.shape.rank() - 1;
    const auto apart = [&](int axis) { return std::abs(walk.strides[1][axis]); };
    // Where another axis is nearer in the source, both go in squares.
    int near = last;
    for (int a = last - 1; a >= 0; --a)
        if (apart(a) != 0 && apart(a) < apart(near)) near = a;
    const bool turned = near != last;
    if (turned && near != last - 1) walk.exchange(near, last - 1);
    const int64_t cols = walk.cols(), side = last > 0 ? walk.shape[last - 1] : 1,
                  deep = last > 1 ? walk.shape[last - 2] : 1;
    const auto step = [&](int operand, int axis) {
        return axis < 0 ? 0 : walk.strides[size_t(operand)][axis];
    };
    Plane p{
        side,  cols, step(0, last - 1), step(0, last),    step(1, last - 1), step(1, last), turned,
        false, deep, step(0, last - 2), step(1, last - 2)};
    if (last < 3 && deep * side * cols <= 4096) return copy_plane(size, to, from, p);
    const int64_t outer = walk.rows() / side / deep;
    constexpr int64_t elements = 1 << 15, line = 64;  // in a piece, and at most in a cache line
    // Pieces begin at lines, as what goes past the caches must.
    const int64_t most = turned ? elements / std::min<int64_t>(side, 64) / line * line : elements,
                  piece = std::min(cols, most), pieces = (cols + piece - 1) / piece,
                  band = std::max<int64_t>(elements / piece, 1), bands = (side + band - 1) / band,
                  most_planes = std::max<int64_t>(elements / (side * cols), 1),
                  stacks = (deep + most_planes - 1) / most_planes;
    // Squares turned in parts of lines are 2 to 4 times as fast past the caches from half their size on (Zen 3).
    const int64_t bytes = 2 * outer * deep * side * cols * size;
    const bool early = turned && side >= 16 && cols >= 16 && copy_table().register_bytes < 64;
    p.stream = streams(early ? 2 * bytes : bytes) && p.to_col == 1 &&
               reinterpret_cast<uintptr_t>(to) % 64 == 0;
    for (int a = 0; a < last; ++a) p.stream = p.stream && walk.strides[0][a] * size % 64 == 0;
    const int64_t planes = std::min(most_planes, deep);
    parallel_each(
        outer * stacks * bands * pieces,
        grain_for(planes * std::min(band, side) * std::min(piece, cols) / 4), [&](int64_t item) {
            const int64_t column = item % pieces * piece, row = item / pieces % bands * band,
                          stack = item / pieces / bands % stacks * planes;
            int64_t at[2];
            walk.locate((item / pieces / bands / stacks * deep + stack) * side + row, at);
            Plane part = p;
            part.rows = std::min(band, side - row);
            part.cols = std::min(piece, cols - column);
            part.planes = std::min(planes, deep - stack);
            copy_plane(size, to + (at[0] + column * p.to_col) * size,
                       from + (at[1] + column * p.from_col) * size, part);
        });
}

}  // namespace

void copy_plane(int64_t size, void* to, const void* from, const Plane& p) {
    copy_table().plane[std::countr_zero(uint64_t(size))](to, from, p);
}

void copy(const Tensor& target, const Tensor& source) {
    if (target.count() == 0) return;
    copy_along(static_cast<char*>(target.raw()), static_cast<const char*>(source.raw()),
               int64_t(size_of(target.dtype())), plan_copy(target, source));
}

void convert(const Tensor& target, const Tensor& source) {
    if (target.count() == 0) return;
    if (target.dtype() == source.dtype()) return copy(target, source);
    const Strides strides[] = {target.strides(), source.strides()};
    const Walk walk = plan_walk(target.shape(), strides);
    const int last = walk.shape.rank() - 1;
    const int64_t to_col = walk.strides[0][last], from_col = walk.strides[1][last],
                  to_size = int64_t(size_of(target.dtype())),
                  from_size = int64_t(size_of(source.dtype()));
    // Rows across memory: in squares, then converted.
    if (to_col == 1 && std::abs(from_col) >= 16 && target.count() >= 4096 &&
        !source.is_contiguous())
        return convert(target, source.contiguous());
    const auto kernel = copy_table().convert[int(target.dtype())][int(source.dtype())];
    walk.for_pieces(1 << 14, 1, [&](const int64_t* at, int64_t first, int64_t n) {
        kernel(static_cast<char*>(target.raw()) + (at[0] + first * to_col) * to_size, to_col,
               static_cast<const char*>(source.raw()) + (at[1] + first * from_col) * from_size,
               from_col, n);
    });
}

}  // namespace cpu
}  // namespace mercer
