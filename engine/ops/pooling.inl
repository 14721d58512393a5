// dx[j] = Σ g over the windows whose largest element stands at j.
#pragma once

#include <type_traits>

#include "engine/ops/pooling.h"

namespace mercer {

template <class X>
void MaxPool2d::vjp(Vjp<X>& c, const Attrs& attrs) {
    if constexpr (std::is_same_v<X, Tensor>) return c.give(0, backward(attrs, c.in(0), c.g()));
    const Tensor at = indices(attrs, c.value(0));
    const Shape x = c.in_shape(0);
    const X rows = reshape(c.g(), {x[0] * x[1], at.size(1)});
    c.give(0, reshape(scatter_add(rows, at, 1, x[2] * x[3]), x));
}

MERCER_VALUE max_pool1d(const MERCER_VALUE& x, int64_t kernel, int64_t stride, const Shape& pads) {
    const CalledAs called("max_pool1d");
    const ConvolutionAttrs windows =
        window_attrs("max_pool1d", 1, x.shape(), {kernel}, {stride ? stride : kernel}, pads);
    return without_row(perform<MaxPool2d>(windows, with_row(x)));
}
MERCER_VALUE max_pool2d(const MERCER_VALUE& x, const Shape& kernel, const Shape& stride,
                        const Shape& pads) {
    return perform<MaxPool2d>(window_attrs("max_pool2d", 2, x.shape(), kernel, stride, pads), x);
}
MERCER_VALUE avg_pool1d(const MERCER_VALUE& x, int64_t kernel, int64_t stride, const Shape& pads,
                        bool count_include_pad) {
    const CalledAs called("avg_pool1d");
    const ConvolutionAttrs windows =
        window_attrs("avg_pool1d", 1, x.shape(), {kernel}, {stride ? stride : kernel}, pads);
    return without_row(average_of_windows(with_row(x), windows, count_include_pad));
}
MERCER_VALUE avg_pool2d(const MERCER_VALUE& x, const Shape& kernel, const Shape& stride,
                        const Shape& pads, bool count_include_pad) {
    return average_of_windows(x, window_attrs("avg_pool2d", 2, x.shape(), kernel, stride, pads),
                              count_include_pad);
}

}  // namespace mercer
