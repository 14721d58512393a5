#include "engine/ops/convolution.h"

#include <algorithm>
#include <limits>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/rows.h"

namespace mercer {
namespace {

std::string operands(const Shape& x, const Shape& w) {
    return ": x " + to_string(x) + ", w " + to_string(w);
}

// Channels that x and w must share, before the axes are looked at.
void check_channels(const char* operation, int axes, const Shape& x, const Shape& w,
                    int64_t channels_of_w, int64_t channels_of_x, int64_t groups) {
    if (x.rank() != axes + 2 || w.rank() != axes + 2)
        throw ShapeError(operation, "x and w need ", axes + 2, " axes", operands(x, w));
    if (groups < 1 || groups > std::max<int64_t>(w[0], 1) || x[1] % groups || w[0] % groups)
        throw ShapeError(operation, groups, " groups must divide x's channels and w's",
                         operands(x, w));
    if (channels_of_w != channels_of_x)
        throw ShapeError(operation, "channels differ, w has ", channels_of_w, " where x in ",
                         groups, " groups has ", channels_of_x, operands(x, w));
    for (int a = 2; a < w.rank(); ++a)
        if (w[a] < 1) throw ShapeError(operation, "the kernel is empty", operands(x, w));
}

// Larger ones fit no tensor, and their products no int64_t.
void check_range(const char* operation, const char* what, const Shape& numbers, int64_t least) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    for (int64_t n : numbers)
        if (n < least || n > most)
            throw ValueError(operation, what, " ", numbers,
                             n < least ? " must be at least " : " must be at most ",
                             n < least ? least : most);
}

void check_types(const char* operation, const Tensor& a, const Tensor& b, const Tensor& bias,
                 int64_t channels) {
    require_floating(operation, a);
    require_same_dtype(operation, a, b);
    if (bias.defined()) require_same_dtype(operation, a, bias, "", "bias");
    if (bias.defined() && !(bias.shape() == Shape{channels}))
        throw ShapeError(operation, "bias ", bias.shape(), " must have shape (", channels, ")");
}

// Of taps farther apart than one output of all reaches beyond x, but one meets padding alone: as near as they still do.
cpu::ConvolutionAxis near(cpu::ConvolutionAxis a) {
    const int64_t steps = (a.out - 1) * a.stride;
    if (a.out < 1 || a.dilation - 1 - steps <= a.in) return a;
    const int64_t k = std::clamp<int64_t>((a.before - steps + a.dilation - 1) / a.dilation, 0,
                                          a.kernel),
                  at = std::min(k * a.dilation - a.before, a.in);
    a.dilation = a.in + steps + 1;
    a.before = k * a.dilation - at;
    return a;
}

constexpr cpu::ConvolutionAxis trivial{1, 1, 1, 1, 1, 0};

cpu::ConvolutionSizes sizes(const ConvolutionAttrs& a, int64_t batch, int64_t from, int64_t outs) {
    return {batch, a.groups, from, outs / a.groups, {a.axis[0], a.axis[1]}};
}

/// convolve(sizes, x, w, bias, result), each result of the batch being (channels, rows, columns).
template <class Convolve>
Tensor convolved(const ConvolutionAttrs& a, TensorRefs in, const Shape& each, Convolve convolve) {
    check_types(a.operation, in[0], in[1], in[2], each[0]);
    const Tensor x = in[0].contiguous(), w = in[1].contiguous(), bias = dense(in[2]),
                 y = Tensor::empty(joined({x.size(0)}, each), x.dtype());
    if (y.count() == 0) return y;
    visit_floating(x.dtype(), [&]<class T>(T) {
        convolve(sizes(a, x.size(0), w.size(1), w.size(0)), elements<const T>(x),
                 elements<const T>(w), elements<const T>(bias), elements<T>(y));
    });
    return y;
}

}  // namespace

Shape for_each_axis(const char* operation, const char* what, const Shape& numbers, int axes,
                    int64_t least) {
    Shape all = numbers.rank() == 1 ? Shape::filled(axes, numbers[0]) : numbers;
    check_range(operation, what, numbers, least);
    if (all.rank() != axes)
        throw ShapeError(operation, what, " ", numbers, " must be one number or ", axes);
    return all;
}

Shape pads_for_axes(const char* operation, const Shape& pads, int axes) {
    Shape both = Shape::filled(2 * axes, 0);
    if (pads.rank() > 1 && pads.rank() != axes && pads.rank() != 2 * axes)
        throw ShapeError(operation, "pads ", pads, " must be one number, one for each of ", axes,
                         " axes, or two");
    for (int i = 0; i < 2 * axes && pads.rank(); ++i)
        both[i] = pads[pads.rank() == 1 ? 0 : pads.rank() == axes ? i / 2 : i];
    check_range(operation, "pads", pads, 0);
    return both;
}

ConvolutionAttrs convolution_attrs(const char* operation, int axes, const Shape& x, const Shape& w,
                                   const Shape& stride, Padding padding, const Shape& dilation,
                                   int64_t groups, const Shape& pads) {
    const bool ranked = x.rank() > 1 && w.rank() > 1 && groups > 0;
    check_channels(operation, axes, x, w, ranked ? w[1] : 0, ranked ? x[1] / groups : 0, groups);
    if (padding == Padding::same && pads.rank())
        throw ValueError(operation, "give padding or pads, not both");
    const Shape steps = for_each_axis(operation, "stride", stride, axes, 1),
                apart = for_each_axis(operation, "dilation", dilation, axes, 1),
                ends = pads_for_axes(operation, pads, axes);
    ConvolutionAttrs attrs{{trivial, trivial}, groups, operation};
    for (int a = 0; a < axes; ++a) {
        const int64_t in = x[a + 2], span = (w[a + 2] - 1) * apart[a] + 1;
        int64_t out = (in + steps[a] - 1) / steps[a], before = ends[2 * a];
        if (padding == Padding::same) {
            before = std::max<int64_t>(0, (out - 1) * steps[a] + span - in) / 2;
        } else {
            const int64_t room = in + before + ends[2 * a + 1] - span;
            if (room < 0)
                throw ShapeError(operation, "the kernel reaches over ", span,
                                 " places where x with its padding has ", room + span,
                                 operands(x, w));
            out = room / steps[a] + 1;
        }
        attrs.axis[2 - axes + a] = near({in, out, w[a + 2], steps[a], apart[a], before});
    }
    return attrs;
}

ConvolutionAttrs transposed_attrs(const char* operation, int axes, const Shape& x, const Shape& w,
                                  const Shape& stride, const Shape& pads, const Shape& dilation,
                                  int64_t groups, const Shape& output_padding) {
    const bool ranked = x.rank() > 1 && w.rank() > 1;
    check_channels(operation, axes, x, w, ranked ? w[0] : 0, ranked ? x[1] : 0, groups);
    const Shape steps = for_each_axis(operation, "stride", stride, axes, 1),
                apart = for_each_axis(operation, "dilation", dilation, axes, 1),
                more = for_each_axis(operation, "output_padding", output_padding, axes, 0),
                ends = pads_for_axes(operation, pads, axes);
    ConvolutionAttrs attrs{{trivial, trivial}, groups, operation};
    for (int a = 0; a < axes; ++a) {
        const int64_t out = x[a + 2], before = ends[2 * a];
        const int64_t in = (out - 1) * steps[a] - before - ends[2 * a + 1] +
                           (w[a + 2] - 1) * apart[a] + 1 + more[a];
        if (more[a] >= steps[a])
            throw ValueError(operation, "output_padding ", output_padding,
                             " must be less than the stride ", stride);
        if (in < 1 || out < 1)
            throw ShapeError(operation, "nothing is left of axis ", a + 2, operands(x, w));
        attrs.axis[2 - axes + a] = near({in, out, w[a + 2], steps[a], apart[a], before});
    }
    return attrs;
}

Tensor Conv2d::forward(const Attrs& a, TensorRefs in) {
    return convolved(a, in, {in[1].size(0), a.axis[0].out, a.axis[1].out},
                     [](const auto&... x) { cpu::convolve(x...); });
}

Tensor ConvTranspose2d::forward(const Attrs& a, TensorRefs in) {
    return convolved(a, in, {in[1].size(1) * a.groups, a.axis[0].in, a.axis[1].in},
                     [](const auto&... x) { cpu::convolve_transpose(x...); });
}

Tensor Conv2dWeights::forward(const Attrs& a, TensorRefs in) {
    check_types(a.operation, in[0], in[1], {}, 0);
    const Tensor x = in[0].contiguous(), y = in[1].contiguous();
    const int64_t from = x.size(1) / a.groups;
    Tensor w = Tensor::empty({y.size(1), from, a.axis[0].kernel, a.axis[1].kernel}, x.dtype());
    visit_floating(x.dtype(), [&]<class T>(T) {
        cpu::convolve_weights(sizes(a, x.size(0), from, y.size(1)), elements<const T>(x),
                              elements<const T>(y), static_cast<T*>(w.raw()));
    });
    return w;
}

}  // namespace mercer
