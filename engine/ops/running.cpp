// Running extrema, and where they stood.
#include <algorithm>
#include <limits>
#include <vector>

#include "engine/functions.h"
#include "engine/ops/scan_lines.h"
#include "engine/scratch.h"

namespace mercer {
namespace {

std::array<Tensor, 2> run_side_by_side(cpu::Scan op, const SideBySide& x, bool reverse) {
    const Tensor y = Tensor::empty(x.x.shape(), x.x.dtype()),
                 index = Tensor::empty(x.x.shape(), DType::i64);
    const auto kernel = scan_table().running_turned[op == cpu::Scan::min][int(y.dtype())];
    const bool stream = streams_columns(y, x.n);
    x.for_blocks([&](int64_t first, int64_t rows) {
        kernel({x.at(first, 0), x.n, x.apart, rows, reverse,
                static_cast<char*>(y.raw()) + first * x.n * x.element,
                static_cast<int64_t*>(index.raw()) + first * x.n, stream, x.n});
    });
    return {y, index};
}

// Running extrema along rows, and where they stood: the last t at which x_t is the extremum, for a new one and an equal
// one are it at their place. That is a running extremum of places.
std::array<Tensor, 2> running_rows(const Lines& l, cpu::Scan op, const RunningAttrs& attrs,
                                   const Tensor& x) {
    const bool reverse = attrs.reverse;
    constexpr int64_t piece = 2048;
    const int64_t n = l.n, together = std::max<int64_t>(1, piece / n);
    // A few long rows are cut, each for several threads.
    const bool few = l.outer < 2 * thread_count();
    const Tensor y = few ? scanned(op, {attrs.axis, false, reverse}, x)
                         : Tensor::empty(x.shape(), x.dtype()),
                 index = Tensor::empty(x.shape(), DType::i64);
    const auto extrema = scan_table().rows[int(op)][int(x.dtype())],
               last = scan_table()
                          .rows[int(reverse ? cpu::Scan::min : cpu::Scan::max)][int(DType::i64)];
    const auto dense = scan_table().running_dense[op == cpu::Scan::min][int(x.dtype())];
    const auto mark = scan_table().standing[int(x.dtype())];
    const int64_t none = reverse ? std::numeric_limits<int64_t>::max() : 0;
    std::vector<int64_t> place(size_t(std::min(piece, x.count())));  // within rows
    for (int64_t k = 0; k < int64_t(place.size()); ++k)
        place[size_t(k)] = k < n ? k : place[size_t(k - n)];
    parallel_for(l.outer, grain_for(n), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        int64_t* const near = n <= piece ? scratch.take<int64_t>(piece) : nullptr;
        if (!few)
            begin += dense({at(x, begin * n), n, 1, end - begin, reverse, at(y, begin * n),
                            static_cast<int64_t*>(index.raw()) + begin * n, false});
        for (; begin < end; begin += together) {
            const int64_t count = std::min(together, end - begin), first = begin * n;
            int64_t* const out = static_cast<int64_t*>(index.raw()) + first;
            int64_t* const marks = near ? near : out;
            if (!few)
                extrema({at(x, first), n, 1, count, false, reverse, at(y, first), nullptr, true});
            for (int64_t k = 0; k < count * n; k += piece)
                mark(at(x, first + k), at(y, first + k), std::min(piece, count * n - k), k,
                     place.data(), none, marks + k);
            last({marks, n, 1, count, false, reverse, out, nullptr, true});
        }
    });
    return {y, index};
}

std::array<Tensor, 2> running_columns(const Lines& l, cpu::Scan op, const RunningAttrs& attrs,
                                      const Tensor& x) {
    const Tensor y = Tensor::empty(x.shape(), x.dtype()),
                 index = Tensor::empty(x.shape(), DType::i64);
    const auto kernel = scan_table().running[op == cpu::Scan::min][int(x.dtype())];
    const bool stream = streams_columns(y, l.inner);
    l.for_blocks(cpu::running_columns, 1, [&](int64_t first, int64_t count) {
        kernel({at(x, first), l.n, l.inner, count, attrs.reverse, at(y, first),
                static_cast<int64_t*>(index.raw()) + first, stream});
    });
    return {y, index};
}

std::array<Tensor, 2> running(const char* name, cpu::Scan op, const RunningAttrs& attrs,
                              const Tensor& in) {
    const OperationScope scope(name, {&in});
    require_numbers(name, in);
    if (attrs.axis == in.rank() - 1 && SideBySide::fit(in))
        return run_side_by_side(op, SideBySide(in), attrs.reverse);
    const Tensor x = in.contiguous();
    if (x.count() == 0)
        return {Tensor::empty(x.shape(), x.dtype()), Tensor::empty(x.shape(), DType::i64)};
    const Lines l(x.shape(), attrs.axis);
    return (l.inner == 1 ? running_rows : running_columns)(l, op, attrs, x);
}

}  // namespace

std::array<Tensor, 2> Cummax::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return running(name, cpu::Scan::max, attrs, x[0]);
}
std::array<Tensor, 2> Cummin::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return running(name, cpu::Scan::min, attrs, x[0]);
}

std::pair<Tensor, Tensor> cummax(const Tensor& x, int axis, bool reverse) {
    return paired(compute_along<Cummax>(axis, x, reverse));
}
std::pair<Tensor, Tensor> cummin(const Tensor& x, int axis, bool reverse) {
    return paired(compute_along<Cummin>(axis, x, reverse));
}
}  // namespace mercer
