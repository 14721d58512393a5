// Max pooling: the tile of a plane, padded with −∞, is read once for each tap. Traffic: x once, y once; backward x and
// g once, dx twice.
#include "engine/ops/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/cpu/patches.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
namespace {

/// body(i, walk) for every plane i of x, shared out among threads.
template <class T, class Body>
void for_planes(const ConvolutionAttrs& windows, const Tensor& x, Body body) {
    if (x.size(0) * x.size(1) == 0) return;
    const cpu::Reach down = cpu::forward_reach(windows.axis[0]),
                     across = cpu::forward_reach(windows.axis[1]);
    const int64_t size[] = {windows.axis[0].in, windows.axis[1].in};
    const cpu::Area all{{0, 0}, {down.count, across.count}};
    const cpu::Tiling tiling(down, across, size, all);
    const int64_t taps = int64_t(down.offset.size() * across.offset.size());
    const int64_t cost = size[0] * size[1] / 8 + all.count() * taps / 4;
    parallel_for(x.size(0) * x.size(1), grain_for(cost), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        int64_t* const offsets = scratch.take<int64_t>(taps);
        T* const tile = tiling.take<T>(scratch, 1);
        tiling.offsets(offsets);
        for (int64_t i = begin; i < end; ++i) {
            const T *const plane = static_cast<const T*>(x.raw()) + i * size[0] * size[1],
                           *const next = i + 1 < end ? plane + size[0] * size[1] : nullptr;
            tiling.fill(plane, 1, -std::numeric_limits<T>::infinity(), tile);
            body(i, cpu::PlaneWalk<T>{tile, tiling.row_step(), all.rows(), all.columns(), offsets,
                                      taps, tiling.soon(next, x.size(0) * x.size(1), all.rows())});
        }
    });
}

/// start(i) for every plane i, then visit(i, r, taps) for its rows r of windows: which tap is the largest of each.
template <class T, class Start, class Visit>
void for_largest(const ConvolutionAttrs& windows, const Tensor& x, Start start, Visit visit) {
    for_planes<T>(windows, x, [&](int64_t i, cpu::PlaneWalk<T> walk) {
        Scratch scratch;
        auto* const taps = scratch.take<cpu::TapOf<T>>(walk.columns);
        start(i);
        const int64_t rows = walk.rows;
        walk.rows = 1;
        for (int64_t r = 0; r < rows; ++r, walk.tile += walk.row_step) {
            cpu::convolution_kernels<T>().largest_tap(walk, taps);
            walk.soon.at += walk.soon.each;
            visit(i, r, taps);
        }
    });
}

/// Where the largest elements of a row of windows stand: at(taps, c) for window c.
class LargestPlaces {
public:
    explicit LargestPlaces(const ConvolutionAttrs& windows)
        : down_(windows.axis[0]), across_(windows.axis[1]) {
        for (int64_t y = 0; y < down_.kernel; ++y)
            for (int64_t z = 0; z < across_.kernel; ++z) place_.push_back(y * across_.in + z);
    }
    /// visit(c, j) for the windows c of row r, whose largest elements stand at j of the plane.
    /// A function of its own, for which the compiler has registers enough.
    template <class Tap, class Visit>
    [[gnu::noinline]] void each(int64_t r, const Tap* taps, Visit visit) const {
        const int64_t top = r * down_.stride - down_.before, stride = across_.stride,
                      first = top * across_.in - across_.before, columns = across_.out,
                      edge = top < 0 ? columns
                                     : std::min(columns, (across_.before + stride - 1) / stride);
        const int64_t* const place = place_.data();
        int64_t c = 0;
        for (; c < edge; ++c) {
            const int64_t left = c * stride - across_.before;
            int64_t at = first + c * stride + place[taps[c]];
            // Tap 0 in the padding: nothing is above −∞, the first element inside stands for all.
            if ((top < 0 || left < 0) && taps[c] == 0)
                at = std::max<int64_t>(top, 0) * across_.in + std::max<int64_t>(left, 0);
            visit(c, at);
        }
        for (; c < columns; ++c) visit(c, first + c * stride + place[taps[c]]);
    }

private:
    cpu::ConvolutionAxis down_, across_;
    std::vector<int64_t> place_;  // of each tap, from the window's first
};

/// Windows two wide, apart from each other and from padding: every element is written once.
template <class T>
void pair_gradients(const ConvolutionAttrs& windows, const T* x, const T* g, int64_t planes,
                    T* dx) {
    const cpu::ConvolutionAxis &down = windows.axis[0], &across = windows.axis[1];
    const int64_t step = down.kernel * across.in, plane = down.in * across.in;
    parallel_each(planes, grain_for(plane / 4), [&](int64_t i) {
        const T *from = x + i * plane, *row = g + i * down.out * across.out;
        T *to = dx + i * plane, *const last = to + plane;
        for (int64_t r = 0; r < down.out; ++r, from += step, to += step, row += across.out) {
            cpu::convolution_kernels<T>().pair_gradient(across.out, down.kernel, from, across.in,
                                                        row, to);
            for (int64_t y = 0; y < down.kernel; ++y)
                std::fill(to + y * across.in + 2 * across.out, to + (y + 1) * across.in, T(0));
        }
        std::fill(to, last, T(0));
    });
}

}  // namespace

ConvolutionAttrs window_attrs(const char* operation, int axes, const Shape& x, const Shape& kernel,
                              const Shape& stride, const Shape& pads) {
    if (x.rank() != axes + 2)
        throw ShapeError(operation,
                         "x needs " + std::to_string(axes + 2) + " axes, got " + to_string(x));
    for (int a = 0; a < axes; ++a)
        if (x[a + 2] == 0) throw ShapeError(operation, "nothing to pool over in " + to_string(x));
    const Shape size = for_each_axis(operation, "kernel", kernel, axes, 1),
                ends = pads_for_axes(operation, pads, axes);
    for (int a = 0; a < 2 * axes; ++a)
        if (ends[a] >= size[a / 2])
            throw ValueError(operation, "pads " + to_string(pads) +
                                            " must be less than the kernel " + to_string(kernel) +
                                            ", or windows hold padding only");
    return convolution_attrs(operation, axes, x, joined({1, x[1]}, size),
                             stride.rank() ? stride : size, Padding::valid, {1}, 1, pads);
}

Tensor MaxPool2d::forward(const Attrs& a, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    require_floating(a.operation, in[0]);
    const Tensor x = in[0].contiguous();
    const int64_t rows = a.axis[0].out, columns = a.axis[1].out;
    Tensor y = Tensor::empty({x.size(0), x.size(1), rows, columns}, x.dtype());
    visit_floating(x.dtype(), [&]<class T>(T) {
        for_planes<T>(a, x, [&](int64_t i, const cpu::PlaneWalk<T>& walk) {
            cpu::convolution_kernels<T>().largest(
                walk, static_cast<T*>(y.raw()) + i * rows * columns, columns);
        });
    });
    return y;
}

Tensor MaxPool2d::indices(const Attrs& a, const Tensor& in) {
    const Tensor x = in.contiguous();
    const int64_t windows = a.axis[0].out * a.axis[1].out;
    Tensor index = Tensor::empty({x.size(0) * x.size(1), windows}, DType::i64);
    int64_t* const to = static_cast<int64_t*>(index.raw());
    const LargestPlaces places(a);
    visit_floating(x.dtype(), [&]<class T>(T) {
        for_largest<T>(
            a, x, [](int64_t) {},
            [&](int64_t i, int64_t r, const cpu::TapOf<T>* taps) {
                int64_t* const row = to + i * windows + r * a.axis[1].out;
                places.each(r, taps, [=](int64_t c, int64_t j) { row[c] = j; });
            });
    });
    return index;
}

Tensor MaxPool2d::backward(const Attrs& a, const Tensor& in, const Tensor& cotangent) {
    const OperationScope scope(name, {&in, &cotangent});
    const Tensor x = in.contiguous(), g = cotangent.contiguous();
    const int64_t windows = a.axis[0].out * a.axis[1].out, plane = a.axis[0].in * a.axis[1].in;
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    const int64_t planes = x.size(0) * x.size(1);
    const LargestPlaces places(a);
    const cpu::ConvolutionAxis &down = a.axis[0], &across = a.axis[1];
    const auto apart = [](const cpu::ConvolutionAxis& axis) {
        return axis.stride == axis.kernel && axis.before == 0 && axis.out * axis.kernel <= axis.in;
    };
    const bool pairs = apart(down) && apart(across) && across.kernel == 2;
    visit_floating(x.dtype(), [&]<class T>(T) {
        const T* const from = static_cast<const T*>(g.raw());
        T* const to = static_cast<T*>(dx.raw());
        if (pairs) return pair_gradients(a, static_cast<const T*>(x.raw()), from, planes, to);
        for_largest<T>(
            a, x, [&](int64_t i) { std::fill_n(to + i * plane, plane, T(0)); },
            [&](int64_t i, int64_t r, const cpu::TapOf<T>* taps) {
                const T* const row = from + i * windows + r * across.out;
                T* const into = to + i * plane;
                places.each(r, taps, [=](int64_t c, int64_t j) { into[j] += row[c]; });
            });
    });
    return dx;
}

Tensor largest_of_windows(const Tensor& x, const ConvolutionAttrs& windows) {
    return MaxPool2d::forward(windows, {&x, 1});
}

#define MERCER_VALUE Tensor
#include "engine/ops/pooling.inc"

}  // namespace mercer
