#include "engine/cpu/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/cpu/caches.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/layout.h"
#include "engine/functions.h"
#include "engine/ops/reduce.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::ReduceTable, reduce_table)
MERCER_DISPATCH(cpu::CountTable, count_table)
MERCER_DISPATCH(cpu::ArgTable, arg_table)
MERCER_DISPATCH(cpu::VarianceTable, variance_table)

namespace cpu {
namespace {

int64_t chunks_of(int64_t n, int64_t chunk) { return n > chunk ? (n - 1) / chunk + 1 : 1; }

Shape with_size(Shape shape, int axis, int64_t size) {
    shape[axis] = size;
    return shape;
}

// Neighbouring axes [first, last] as one, at place `first`; a row-major copy if their strides do not merge.
Tensor merged(const Tensor& x, int first, int last) {
    Shape shape;
    Strides strides;
    int64_t n = 1, stride = 1;
    bool fits = true;  // of nothing, strides mean nothing
    for (int i = last; i >= first; --i) {
        if (x.shape()[i] == 1) continue;
        if (n == 1)
            stride = x.strides()[i];
        else
            fits = fits && (x.count() == 0 || x.strides()[i] == stride * n);
        n *= x.shape()[i];
    }
    if (!fits) return merged(x.contiguous(), first, last);
    for (int i = 0; i < x.rank(); ++i) {
        if (i > first && i <= last) continue;
        shape.push_back(i == first ? n : x.shape()[i]);
        strides.push_back(i == first ? stride : x.strides()[i]);
    }
    return x.view(shape, strides, x.offset());
}

/// Row i of plane k to `to` + i·pitch + k·row, `row` bytes each in moves of `width`: what these take beyond a row, the next
/// plane's replaces. Asks for as much memory at `next`.
template <int width>
void move_rows(const char* x, int64_t n, int64_t count, int64_t row, char* to, int64_t pitch,
               const char* next) {
    for (int64_t k = 0; k < count; ++k, to += row) {
        for (int64_t at = 0; at < n * row; at += 64) __builtin_prefetch(next + at);
        next += n * row;
        char* t = to;
        for (int64_t i = 0; i < n; ++i, x += row, t += pitch) std::memcpy(t, x, width);
    }
}
/// Many planes, n × side, of short rows to `side` results each: the rows i of some planes, one after the other, are row i of
/// a tile, whose columns have the results in their order.
void reduce_planes(const ReduceKernel& kernel, int64_t planes, int64_t n, int64_t side,
                   int64_t element, const char* from, int64_t out_element, char* to) {
    // Planes of an eighth of the first cache; of many rows, so many that a row of the tile is long.
    const int64_t row = side * element, plane = n * row,
                  some = std::max<int64_t>(caches().l1 / 8 / plane, n > 16 ? 192 / side : 16),
                  group = std::min(4096 / row, some),
                  width = std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(row))), 16, 128),
                  pitch = (group * row + width + 63) / 64 * 64;
    constexpr decltype(&move_rows<16>) moves[] = {move_rows<16>, move_rows<32>, move_rows<64>,
                                                  move_rows<128>};
    const auto move = moves[std::countr_zero(uint64_t(width)) - 4];
    parallel_each((planes + group - 1) / group, grain_for(n * side * group / 4), [&](int64_t g) {
        // Behind the last planes there may be no memory for moves.
        const int64_t first = g * group, count = std::min(group, planes - first),
                      safe = std::clamp<int64_t>(planes - 1 - width / plane - first, 0, count);
        Scratch scratch;
        char* const tile = scratch.take<char>(n * pitch);
        const char* const x = from + first * plane;
        move(x, n, safe, row, tile, pitch, x + count * plane);
        for (int64_t k = safe; k < count; ++k)
            for (int64_t i = 0; i < n; ++i)
                std::memcpy(tile + i * pitch + k * row, x + k * plane + i * row, size_t(row));
        kernel.columns({tile, n, pitch / element, side * count, 1, to + first * side * out_element,
                        1, nullptr});
    });
}

/// Whether planes, n × side each and dense, take less time one by one than a plan; many are another matter (reduce_planes).
bool are_few(int64_t planes, int64_t n, int64_t side) {
    return planes * n * side <= 1024 && (side == 1 || planes < 64);
}
/// The rows of each into one. `extra` only for one plane, or rows of one element.
void reduce_few(const ReduceKernel& kernel, int64_t planes, int64_t n, int64_t side,
                const Tensor& x, const Tensor& out, const Tensor& extra) {
    const char* from = static_cast<const char*>(x.raw());
    char* to = static_cast<char*>(out.raw());
    char* also = extra.defined() ? static_cast<char*>(extra.raw()) : nullptr;
    if (side == 1 || n == 1) return kernel.run({from, n, 1, planes * side, n, to, 1, also});
    const int64_t plane = n * side * int64_t(size_of(x.dtype())),
                  results = side * int64_t(size_of(out.dtype()));
    for (int64_t i = 0; i < planes; ++i)
        kernel.columns({from + i * plane, n, side, side, 1, to + i * results, 1, also});
}

// Every chunk of every line along `axis` to one element: out (and extra, if any) is dense, with chunks for `axis`.
void reduce_chunks(const ReduceKernel& kernel, const Tensor& x, int axis, int64_t chunk,
                   const Tensor& out, const Tensor& extra) {
    if (out.count() == 0) return;
    const int64_t n = x.shape()[axis], stride = x.strides()[axis], chunks = out.shape()[axis];
    if (n > 0 && chunks == 1 && x.is_contiguous()) {
        const int64_t planes = count(x.shape().part(0, axis)),
                      beside = count(x.shape().part(axis + 1, x.rank()));
        if (are_few(planes, n, beside) && (planes == 1 || beside == 1 || !extra.defined()))
            return reduce_few(kernel, planes, n, beside, x, out, extra);
    }
    Shape kept;
    std::array<Strides, 2> strides;
    int unit = -1;
    const bool run = stride == 1 || n <= 1;
    for (int i = 0; i < x.rank(); ++i)
        if (i != axis && x.shape()[i] > 1 && x.strides()[i] == 1) unit = i;
    if (!run && unit < 0) return reduce_chunks(kernel, x.contiguous(), axis, chunk, out, extra);
    const auto keep = [&](int i) {
        kept.push_back(x.shape()[i]);
        strides[0].push_back(x.strides()[i]);
        strides[1].push_back(out.strides()[i]);
    };
    for (int i = 0; i < x.rank(); ++i)
        if (i != axis && (run || i != unit)) keep(i);
    if (!run) keep(unit);
    const Walk walk = plan_walk(kept, strides);
    const int last = walk.shape.rank() - 1;
    const int64_t side = walk.cols(), lines = walk.rows();
    // Chunks of a run that follow one another in memory are met together.
    const int64_t group = run ? long_chunk / chunk : 1, groups = (chunks + group - 1) / group,
                  piece = std::min(n, group * chunk);
    int64_t block = run ? long_chunk / std::max<int64_t>(piece, 1) + 1 : 1024;
    if (!run && (side + block - 1) / block * lines * chunks < 32) block = 256;
    const int64_t blocks = (side + block - 1) / block;
    const int64_t element = int64_t(size_of(x.dtype())),
                  out_element = int64_t(size_of(out.dtype()));
    const char* from = static_cast<const char*>(x.raw());
    char* to = static_cast<char*>(out.raw());
    char* also = extra.defined() ? static_cast<char*>(extra.raw()) : nullptr;
    const int64_t extra_element =
        also ? extra.count() / out.count() * int64_t(size_of(extra.dtype())) : 0;
    const auto planes = [&](int operand, int64_t apart) {  // dense, one after the other
        return walk.strides[size_t(operand)][0] == apart &&
               walk.strides[size_t(operand)][last] == 1;
    };
    if (!run && chunks == 1 && !also && last == 1 && lines >= 64 && side < 16 &&
        n * side <= std::min(int64_t{kernel.most_together}, 4096 / element) && stride == side &&
        planes(0, n * side) && planes(1, side))
        return reduce_planes(kernel, lines, n, side, element, from, out_element, to);
    const auto reduce = [&](int64_t source, int64_t size, int64_t count, int64_t in_step,
                            int64_t target, int64_t out_step) {
        (run ? kernel.run : kernel.columns)({from + source * element, size, stride, count, in_step,
                                             to + target * out_element, out_step,
                                             also ? also + target * extra_element : nullptr});
    };
    const int64_t each = out.strides()[axis], in_step = walk.strides[0][last],
                  out_step = walk.strides[1][last];
    parallel_each(
        lines * groups * blocks, grain_for(std::min(block, side) * piece / 8), [&](int64_t item) {
            const int64_t first = item % blocks * block, c = item / blocks % groups * group,
                          count = std::min(block, side - first);
            int64_t at[2];
            walk.locate(item / blocks / groups, at);
            const int64_t source = at[0] + first * in_step + c * chunk * stride,
                          target = at[1] + first * out_step + c * each;
            const int64_t left = std::min(n - c * chunk, group * chunk), whole = left / chunk,
                          rest = left % chunk;
            if (left <= chunk) {
                reduce(source, left, count, in_step, target, out_step);
            } else if (count == 1 || (rest == 0 && in_step == left && out_step == whole * each)) {
                reduce(source, chunk, count * whole, chunk, target, each);
                if (rest > 0)
                    reduce(source + whole * chunk, rest, 1, 0, target + whole * each, each);
            } else {
                for (int64_t i = 0; i < left; i += chunk)
                    reduce(source + i, std::min(chunk, left - i), count, in_step,
                           target + i / chunk * each, out_step);
            }
        });
}

// What joins the results of parts.
Reduction join_of(Reduction op) {
    constexpr Reduction joins[] = {Reduction::sum, Reduction::max, Reduction::min, Reduction::prod,
                                   Reduction::sum, Reduction::sum, Reduction::max};
    return joins[int(op)];
}
const ReduceKernel& kernel_of(Reduction op, DType dtype) {
    return reduce_table().kernels[int(op)][int(dtype)];
}
const ReduceKernel& kernel_of(Counting op, DType dtype) {
    return count_table().kernels[int(op)][int(dtype)];
}
DType result_of(Reduction, DType dtype) { return dtype; }
DType result_of(Counting op, DType) { return op == Counting::count ? DType::i64 : DType::boolean; }

Tensor join_parts(Reduction op, const Tensor& partial, int axis);
Tensor join_parts(Counting op, const Tensor& partial, int axis);
// `axis` to size 1, chunk by chunk.
template <class Op>
Tensor reduce_axis(Op op, const Tensor& x, int axis) {
    const int64_t chunks = chunks_of(x.shape()[axis], long_chunk);
    const Tensor out = Tensor::empty(with_size(x.shape(), axis, chunks), result_of(op, x.dtype()));
    reduce_chunks(kernel_of(op, x.dtype()), x, axis, long_chunk, out, {});
    return chunks == 1 ? out : join_parts(op, out, axis);
}
Tensor join_parts(Reduction op, const Tensor& partial, int axis) {
    return reduce_axis(join_of(op), partial, axis);
}
Tensor join_parts(Counting op, const Tensor& partial, int axis) {
    return op == Counting::count ? reduce_axis(Reduction::sum, partial, axis)
                                 : reduce_axis(op, partial, axis);
}

// y, dense, with the axes of x.
Tensor kept_view(const Tensor& y, const Tensor& x, unsigned axes) {
    const Shape kept = kept_shape(x.shape(), axes);
    return y.view(kept, contiguous_strides(kept), y.offset());
}

// Few elements, dense, whose axes are neighbours: without a view in between. Undefined if it is not so.
template <class Op>
Tensor at_once(Op op, const Tensor& x, unsigned axes) {
    int64_t size[] = {1, 1, 1};  // kept, reduced, kept
    int part = 0;
    for (int i = 0; i < x.rank(); ++i) {
        if (x.shape()[i] == 1) continue;
        part += bool(axes & (1u << i)) != (part == 1);
        if (part > 2) return {};
        size[part] *= x.shape()[i];
    }
    if (size[0] * size[1] * size[2] == 0 || !are_few(size[0], size[1], size[2]) ||
        !x.is_contiguous())
        return {};
    const Tensor y = Tensor::empty(kept_shape(x.shape(), axes), result_of(op, x.dtype()));
    reduce_few(kernel_of(op, x.dtype()), size[0], size[1], size[2], x, y, {});
    return y;
}

// Groups of neighbours, the last first; axes of size 1 between two are no obstacle.
template <class Op>
Tensor by_groups(Op op, const Tensor& x, unsigned axes) {
    if (Tensor y = at_once(op, x, axes); y.defined()) return y;
    if (axes == 0)  // each on its own: a group of one
        return reshape(reduce_axis(op, reshape(x, {x.count(), 1}), 1), x.shape());
    Tensor y = x;
    bool begun = false;
    for (int i = x.rank() - 1; i >= 0; --i) {
        if (!(axes & (1u << i))) continue;
        int begin = i;
        for (int k = i - 1; k >= 0 && ((axes & (1u << k)) || x.shape()[k] == 1); --k)
            if (axes & (1u << k)) begin = k;
        Shape shape = y.shape();
        for (int k = begin; k <= i; ++k) shape[k] = 1;
        const Tensor line = merged(y, begin, i);
        y = begun ? join_parts(op, line, begin) : reduce_axis(op, line, begin);
        y = y.view(shape, contiguous_strides(shape), y.offset());
        begun = true;
        i = begin;
    }
    return kept_view(y, x, axes);
}

// The kept axes, then the reduced ones: `all` as one, or the last group of neighbours.
Tensor as_lines(const Tensor& x, unsigned axes, bool all) {
    if (axes == 0) return reshape(x, {x.count(), 1});
    const AxesLast t(x.shape(), axes);
    const int kept = t.rank - std::popcount(axes);
    int first = kept;
    for (int r = kept + 1; !all && r < t.rank; ++r)
        for (int k = t.order[r - 1] + 1; k < t.order[r]; ++k)
            if (x.shape()[k] != 1) first = r;
    return merged(t.last(x), first, t.rank - 1);
}

}  // namespace

Shape kept_shape(Shape shape, unsigned axes) {
    for (int i = 0; i < shape.rank(); ++i)
        if (axes & (1u << i)) shape[i] = 1;
    return shape;
}

Tensor reduce(Reduction op, const Tensor& x, unsigned axes) { return by_groups(op, x, axes); }

Tensor reduce(Counting op, const Tensor& x, unsigned axes) {
    if (x.dtype() == DType::bf16) refuse_bf16();
    return by_groups(op, x, axes);
}

Tensor arg(Extremum op, const Tensor& x, unsigned axes) {
    const Tensor line = as_lines(x, axes, true);  // what cannot be joined group by group
    const int axis = line.rank() - 1;
    const ReduceKernel& kernel = arg_table().kernels[int(op)][int(x.dtype())];
    const Shape shape = with_size(line.shape(), axis, chunks_of(line.shape()[axis], long_chunk));
    const bool chunked = shape[axis] > 1;
    const Tensor index = Tensor::empty(shape, DType::i64),
                 best = chunked ? Tensor::empty(shape, x.dtype()) : Tensor();
    reduce_chunks(kernel, line, axis, long_chunk, index, best);
    // The winner among chunks, and so on up; then the place inside the chunk of each level.
    Tensor at = index;
    if (chunked) {
        const Tensor winner = arg(op, best, 1u << axis);
        at = Tensor::empty(winner.shape(), DType::i64);
        const int64_t chunks = index.shape()[axis];
        const int64_t *w = winner.data<int64_t>(), *i = index.data<int64_t>();
        int64_t* to = static_cast<int64_t*>(at.raw());
        for (int64_t k = 0; k < at.count(); ++k) to[k] = w[k] * long_chunk + i[k * chunks + w[k]];
    }
    return kept_view(at, x, axes);
}

std::array<Tensor, 2> moments(const Tensor& x, unsigned axes, bool with_mean) {
    if (x.count() == 0) {
        const Shape kept = kept_shape(x.shape(), axes);
        return {Tensor::full(kept, NAN, x.dtype()), Tensor::zeros(kept, x.dtype())};
    }
    const Tensor line = as_lines(x, axes, false);  // the last group cut in pieces
    const int axis = line.rank() - 1;
    const int64_t n = line.shape()[axis], chunks = chunks_of(n, variance_chunk);
    const Shape shape = with_size(line.shape(), axis, chunks);
    const Tensor parts = Tensor::empty(shape, x.dtype());
    const int64_t results = count(kept_shape(x.shape(), axes)), pieces = parts.count() / results;
    const bool alone = pieces == 1 && !with_mean;
    const Tensor near = alone ? Tensor() : Tensor::empty({parts.count(), 2}, x.dtype());
    reduce_chunks(variance_table().kernels[x.dtype() == DType::f64], line, axis, variance_chunk,
                  parts, near);
    if (alone) return {Tensor(), kept_view(parts, x, axes)};
    // Σ(x − m)² = Σ_c [Σ(x − m_c)² + n_c (m_c − m)²] with m = Σ n_c m_c / n   (Chan, Golub & LeVeque 1983),
    // all m relative to the first p.
    const Tensor middle = Tensor::empty({results}, x.dtype()),
                 squares = Tensor::empty({results}, x.dtype());
    visit(x.dtype(), [&]<class T>(T) {
        const T* const part = static_cast<const T*>(parts.raw());
        const T(*const mean)[2] = static_cast<const T(*)[2]>(near.raw());
        const double tail = double(n - (chunks - 1) * variance_chunk);
        const auto size = [&](int64_t c) {
            return chunks > 1 && (c + 1) % chunks ? double(variance_chunk) : tail;
        };
        parallel_each(results, grain_for(2 * pieces), [&](int64_t k) {
            const T* const p = part + k * pieces;
            const T(*const m)[2] = mean + k * pieces;
            const double first = double(m[0][0]);
            const auto apart = [&](int64_t c) { return double(m[c][0]) - first + double(m[c][1]); };
            double sum = 0, square = 0;
            for (int64_t c = 0; c < pieces; ++c) sum += size(c) * apart(c);
            const double centre = sum / double(n * (pieces / chunks));
            for (int64_t c = 0; c < pieces; ++c) {
                const double d = apart(c) - centre;
                square += double(p[c]) + size(c) * d * d;
            }
            static_cast<T*>(middle.raw())[k] = T(first + centre);
            static_cast<T*>(squares.raw())[k] = T(square);
        });
    });
    return {kept_view(middle, x, axes), kept_view(squares, x, axes)};
}

}  // namespace cpu
}  // namespace mercer
