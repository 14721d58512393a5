// Running extrema, and where they stood.
#include <algorithm>
#include <limits>

#include "engine/ops/scan_lines.h"

namespace mercer {
namespace {

// A few long rows are cut, each for several threads. They stand at the last t at which x_t is the extremum, for a new one
// and an equal one are it at their place: that is a running extremum of places.
std::array<Tensor, 2> run_long_rows(const Lines& l, cpu::Scan op, const RunningAttrs& attrs,
                                    const Tensor& x) {
    constexpr int64_t piece = 4096;
    const bool reverse = attrs.reverse;
    const Tensor y = scanned(op, {attrs.axis, false, reverse}, x),
                 places = Tensor::empty(x.shape(), DType::i64);
    const auto mark = scan_table().standing[int(x.dtype())];
    const int64_t none = reverse ? std::numeric_limits<int64_t>::max() : 0,
                  pieces = (l.n + piece - 1) / piece;
    parallel_each(l.outer * pieces, 1, [&](int64_t i) {
        const int64_t t = i % pieces * piece, first = i / pieces * l.n + t;
        mark(at(x, first), at(y, first), std::min(piece, l.n - t), t, none,
             static_cast<int64_t*>(places.raw()) + first);
    });
    return {y, scanned(reverse ? cpu::Scan::min : cpu::Scan::max, {attrs.axis, false, reverse},
                       places)};
}

std::array<Tensor, 2> running(const char* name, cpu::Scan op, const RunningAttrs& attrs,
                              const Tensor& in) {
    require_numbers(name, in);
    // In registers places have at least 32 bits; rows longer than that are cut.
    const int last = in.rank() - 1;
    const bool longest = in.size(attrs.axis) > std::numeric_limits<int32_t>::max();
    if (longest && attrs.axis != last) {
        const auto [y, index] = running(name, op, {last, attrs.reverse}, as_rows(in, attrs.axis));
        return {as_rows(y, attrs.axis), as_rows(index, attrs.axis)};
    }
    const bool beside = attrs.axis == last && !longest && SideBySide::fit(in);
    const Tensor x = beside ? in : in.contiguous();
    const Lines l(x.shape(), attrs.axis);
    if (!beside && x.count() && l.inner == 1 &&
        (longest || (l.n >= 1024 && l.outer < 16 * thread_count())))
        return run_long_rows(l, op, attrs, x);
    const Tensor y = Tensor::empty(x.shape(), x.dtype()),
                 index = Tensor::empty(x.shape(), DType::i64);
    const cpu::ScanSteps& steps = scan_table().running[op == cpu::Scan::min][int(x.dtype())];
    const auto places = [&](cpu::ScanArgs& args, int64_t first) {
        args.index = static_cast<int64_t*>(index.raw()) + first;
    };
    if (beside)
        SideBySide(x).run(y, attrs.reverse, [&](cpu::ScanArgs args, int64_t row) {
            places(args, row * l.n);
            steps.turned(args);
        });
    else if (x.count())
        l.run(steps, x, y, attrs.reverse, 1, places, 2 + 8 / int64_t(size_of(y.dtype())));
    return {y, index};
}

}  // namespace

std::array<Tensor, 2> Cummax::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return running(name, cpu::Scan::max, attrs, x[0]);
}
std::array<Tensor, 2> Cummin::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return running(name, cpu::Scan::min, attrs, x[0]);
}

}  // namespace mercer
