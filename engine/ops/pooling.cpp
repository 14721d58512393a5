// Max pooling: the tile of a plane, padded with −∞, is read once for each tap. Traffic: x once, y once; backward x and
// g once, dx twice.
#include <algorithm>
#include <limits>
#include <vector>

#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/patches.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/convolution.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
namespace {

/// How windows lie in the tile of a plane.
struct Tile {
    explicit Tile(const ConvolutionAttrs& windows)
        : down(cpu::forward_reach(windows.axis[0])),
          across(cpu::forward_reach(windows.axis[1])),
          in{windows.axis[0].in, windows.axis[1].in},
          all{{0, 0}, {down.count, across.count}},
          tiling(down, across, in, all) {}
    Tile(const Tile&) = delete;
    cpu::Reach down, across;
    int64_t in[2];
    cpu::Area all;
    cpu::Tiling tiling;
    /// The tile's.
    int64_t row() const { return tiling.row_step() / down.step; }
    int64_t height() const { return tiling.plane() / row(); }
    /// Its rows before and up to the end of the plane.
    int64_t first() const { return std::clamp<int64_t>(-down.low(), 0, height()); }
    int64_t last() const { return std::clamp<int64_t>(in[0] - down.low(), first(), height()); }
};

/// Offsets by which windows grow pass by pass, along rows and then down columns: up to four make a wider one, at every place;
/// of a few taps, more where windows skip places, all make one at once. The first of equals comes first, the last one last.
/// From pass `narrow` on (0: none) rows are as long as those of the results.
struct Passes {
    std::vector<std::vector<int64_t>> offsets;
    size_t narrow = 0;
};
Passes passes_of(const Tile& t, const ConvolutionAttrs& windows) {
    Passes p;
    const auto widen = [&](int64_t kernel, int64_t most, auto at) {
        for (int64_t has = 1, wide; has < kernel; has = wide) {
            wide = std::min(kernel, most * has);
            auto& offsets = p.offsets.emplace_back();
            for (int64_t k = 0; k < wide; k += has) offsets.push_back(at(std::min(k, wide - has)));
        }
    };
    const int64_t high = windows.axis[0].kernel, wide = windows.axis[1].kernel;
    if (high * wide <= (t.across.step > 1 ? 16 : 8)) {
        t.tiling.offsets(p.offsets.emplace_back(size_t(high * wide)).data());
        return p;
    }
    widen(wide, t.across.step > 1 ? wide : 4, [&](int64_t k) { return t.tiling.at(0, k); });
    if (high == 1) return p;
    if (wide == 1) p.offsets.push_back({0});
    p.narrow = p.offsets.size();
    widen(high, t.down.step > 1 ? high : 4, [&](int64_t k) { return k * t.all.columns(); });
    return p;
}
/// pass(walk, out, its row) for each but the last, over as many places as still have what they read; once rows are narrow,
/// edge(its places) for the padding above, which passes leave alone. The last one's walk.
template <class T, class Pass, class Edge>
cpu::PlaneWalk<T> grow(const Tile& t, const Passes& p, T* tile, cpu::Soon soon, Pass pass,
                       Edge edge) {
    const int64_t first = t.first(), last = t.last(), columns = t.all.columns();
    int64_t row = t.row(), left = (last - first) * row;
    T* at = tile + first * row;
    const auto walk = [&](size_t k, int64_t step, int64_t rows, int64_t n) {
        const auto& o = p.offsets[k];
        return cpu::PlaneWalk<T>{at, step, rows, n, o.data(), int64_t(o.size())};
    };
    for (size_t k = 0; k + 1 < p.offsets.size(); ++k) {
        if (k + 1 != p.narrow) {
            left -= *std::max_element(p.offsets[k].begin(), p.offsets[k].end());
            pass(walk(k, 0, 1, left), at, 0);
            continue;
        }
        pass(walk(k, row, last - first, columns), tile + first * columns, columns);
        row = columns, at = tile, left = t.height() * row;
        std::fill(tile + last * row, tile + left, -std::numeric_limits<T>::infinity());
        edge(first * row);
    }
    const int64_t rows = t.all.rows(), together = row * t.down.step == columns ? rows : 1;
    at = tile, soon.each *= together;
    auto all = walk(p.offsets.size() - 1, row * t.down.step, rows / together, columns * together);
    all.soon = soon;
    return all;
}

/// body(i, tile, soon) for every plane i of x, which the tile holds, shared out among threads.
template <class T, class Body>
void for_planes(const Tile& t, const Tensor& x, Body body) {
    const int64_t taps = int64_t(t.down.offset.size() * t.across.offset.size()),
                  plane = t.in[0] * t.in[1], planes = x.size(0) * x.size(1);
    parallel_for(planes, grain_for(plane / 8 + t.all.count() * taps / 4),
                 [&](int64_t begin, int64_t end) {
                     Scratch scratch;
                     T* const tile = t.tiling.take<T>(scratch, 1);
                     for (int64_t i = begin; i < end; ++i) {
                         const T *const from = static_cast<const T*>(x.raw()) + i * plane,
                                        *const next = i + 1 < end ? from + plane : nullptr;
                         t.tiling.fill(from, 1, -std::numeric_limits<T>::infinity(), tile);
                         body(i, tile, t.tiling.soon(next, planes, t.all.rows()));
                     }
                 });
}

/// As many planes together as a register has lanes, where that is less work than passes over registers of columns: the largest
/// of each window to `out`; or, without, visit as below.
template <class T, class Visit>
bool by_lanes(const ConvolutionAttrs& a, const Passes& passes, const Tensor& x, T* out,
              Visit visit) {
    using Place = cpu::NameOf<T>;
    const cpu::ConvolutionAxis &down = a.axis[0], &across = a.axis[1];
    const int64_t lanes = cpu::gemm_kernels<T>().lanes, planes = x.size(0) * x.size(1),
                  in = down.in * across.in, outs = down.out * across.out,
                  most = std::max(down.in, down.out) * across.out,
                  line = cpu::lines_together * std::max(down.in, across.in),
                  blocks = (planes + lanes - 1) / lanes, bytes = lanes * int64_t(sizeof(T)),
                  wide = (across.out + lanes - 1) / lanes * lanes;
    // An element takes as long as so many taps: measured. Where strides leave some out, all are met, which pays for
    // gradients, by turns, at strides of 2 at most.
    const bool half = bytes <= 32;
    const int64_t strides = down.stride * across.stride, least = strides > 4 || (out && strides > 1)
                                                                     ? (half ? 18 : 12)
                                                                 : strides > 1 ? (half ? 10 : 8)
                                                                 : out         ? (half ? 10 : 8)
                                                                               : (half ? 6 : 5);
    int64_t taps = 0;
    for (const auto& offsets : passes.offsets) taps += int64_t(offsets.size());
    if (lanes < 4 || planes < lanes || blocks < thread_count() ||
        taps * wide < least * across.out ||
        (in + (out ? 1 : 2) * most) * bytes > cpu::caches().l2 / 2)
        return false;
    const cpu::ConvolutionTable<T>& table = convolution_kernels<T>();
    parallel_for(blocks, grain_for((in + outs) * lanes), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        cpu::WindowRoom<T> room{scratch.take<T>(in * lanes), scratch.take<T>(line * lanes),
                                scratch.take<T>(most * lanes)};
        if (!out) {
            room.end_names = scratch.take<Place>(line * lanes);
            room.names = scratch.take<Place>(most * lanes);
        }
        for (int64_t i = begin; i < end; ++i) {
            // The last lanes begin where they still have planes: of those before, they keep none.
            const int64_t first = std::min(i * lanes, planes - lanes),
                          kept = lanes - (i * lanes - first);
            const T* const from = static_cast<const T*>(x.raw()) + first * in;
            room.soon = {reinterpret_cast<const char*>(from + lanes * in),
                         i + 1 < end ? bytes * across.in : 0};
            if (out) {
                table.largest_channels(a.axis, from, room, kept, out + i * lanes * outs);
            } else {
                table.largest_named_channels(a.axis, from, room, kept, nullptr);
                visit(first, lanes - kept, lanes, room.names);
            }
        }
    });
    return true;
}

/// visit(i, begin, end, places) for planes from i + begin to i + end: where, from plane i's beginning on, the largest element
/// of window k of plane i + j stands, places[k·end + j].
template <class T, class Visit>
void for_largest(const ConvolutionAttrs& windows, const Tensor& x, Visit visit) {
    using Place = cpu::NameOf<T>;
    if (x.size(0) * x.size(1) == 0) return;
    const Tile t(windows);
    const Passes passes = passes_of(t, windows);
    if (by_lanes<T>(windows, passes, x, nullptr, visit)) return;
    const int64_t size = t.tiling.plane(), row = t.row(), columns = t.all.columns();
    if (t.in[0] * t.in[1] > std::numeric_limits<Place>::max())
        throw ShapeError(windows.operation, "planes too large: ", x.shape());
    // Where there is nothing above −∞ the first place stands for all: in padding, the first one inside.
    Scratch scratch;
    Place* const own = scratch.take<Place>(size + cpu::patch_slack);
    Place* const narrow = scratch.take<Place>(t.height() * columns);
    for (int64_t y = 0; y < t.height(); ++y) {
        const int64_t top = std::clamp<int64_t>(y + t.down.low(), 0, t.in[0] - 1) * t.in[1];
        for (int64_t z = 0, c = t.across.low(); z < row; ++z, ++c)
            own[t.tiling.at(y, z)] = Place(top + std::clamp<int64_t>(c, 0, t.in[1] - 1));
        std::copy_n(own + y * row, columns, narrow + y * columns);
    }
    const auto kernel = convolution_kernels<T>().largest_named;
    for_planes<T>(t, x, [&](int64_t i, T* tile, cpu::Soon soon) {
        Scratch scratch;
        Place* const places = scratch.take<Place>(size + cpu::patch_slack);
        const Place* named = own;
        const auto pass = [&](const cpu::PlaneWalk<T>& walk, T* out, int64_t out_row) {
            kernel(walk, named + (walk.tile - tile), out, places + (out - tile), out_row);
            named = places;
        };
        const auto edge = [&](int64_t n) { std::copy_n(narrow, n, places); };
        pass(grow<T>(t, passes, tile, soon, pass, edge), tile, columns);
        visit(i, 0, 1, places);
    });
}

/// Whether windows lie side by side, none over the border.
bool apart(const cpu::ConvolutionAxis& a) {
    return a.stride == a.kernel && a.before == 0 && a.out * a.kernel <= a.in;
}

/// Whether one window is all of each plane.
bool whole(const ConvolutionAttrs& windows) {
    for (const cpu::ConvolutionAxis& a : windows.axis)
        if (a.out != 1 || a.kernel - a.before < a.in) return false;
    return true;
}

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
            convolution_kernels<T>().pair_gradient(across.out, down.kernel, from, across.in, row,
                                                   to);
            for (int64_t y = 0; y < down.kernel; ++y)
                std::fill(to + y * across.in + 2 * across.out, to + (y + 1) * across.in, T(0));
        }
        std::fill(to, last, T(0));
    });
}

/// into[places[k·end + j]] += g[j·windows + k] for planes j from begin on, each in the order of its windows. Those add to one
/// place after the other, which takes long: planes do it by turns, no more of them than L1 has room for.
template <int turns, class T, class Place>
void add_by_turns(int64_t windows, int64_t begin, int64_t end, const Place* places, const T* g,
                  T* into) {
    for (; begin + turns <= end; begin += turns) {
        const T* const of = g + begin * windows;
        const Place* at = places + begin;
        for (int64_t k = 0; k < windows; ++k, at += end)
#pragma GCC unroll 8
            for (int64_t t = 0; t < turns; ++t) into[at[t]] += of[t * windows + k];
    }
    if constexpr (turns > 1)
        if (begin < end) add_by_turns<turns / 2>(windows, begin, end, places, g, into);
}

}  // namespace

ConvolutionAttrs window_attrs(const char* operation, int axes, const Shape& x, const Shape& kernel,
                              const Shape& stride, const Shape& pads) {
    if (x.rank() != axes + 2) throw ShapeError(operation, "x needs ", axes + 2, " axes, got ", x);
    for (int a = 0; a < axes; ++a)
        if (x[a + 2] == 0) throw ShapeError(operation, "nothing to pool over in ", x);
    const Shape size = for_each_axis(operation, "kernel", kernel, axes, 1),
                ends = pads_for_axes(operation, pads, axes);
    for (int a = 0; a < 2 * axes; ++a)
        if (ends[a] >= size[a / 2])
            throw ValueError(operation, "pads ", pads, " must be less than the kernel ", kernel,
                             ", or windows hold padding only");
    return convolution_attrs(operation, axes, x, joined({1, x[1]}, size),
                             stride.rank() ? stride : size, Padding::valid, {1}, 1, pads);
}

Tensor MaxPool2d::forward(const Attrs& a, TensorRefs in) {
    require_floating(a.operation, in[0]);
    const Tensor x = in[0].contiguous();
    const int64_t rows = a.axis[0].out, columns = a.axis[1].out;
    if (whole(a)) {
        const Tensor planes = reshape(x, {x.size(0) * x.size(1), x.size(2) * x.size(3)});
        return reshape(gather(planes, argmax(planes, 1, true), 1), {x.size(0), x.size(1), 1, 1});
    }
    Tensor y = Tensor::empty({x.size(0), x.size(1), rows, columns}, x.dtype());
    if (y.count() == 0) return y;  // of kernels however large
    visit_floating(x.dtype(), [&]<class T>(T) {
        T* const out = static_cast<T*>(y.raw());
        const Tile t(a);
        const Passes passes = passes_of(t, a);
        if (by_lanes<T>(a, passes, x, out, [](auto...) {})) return;
        const auto kernel = convolution_kernels<T>().largest;
        for_planes<T>(t, x, [&](int64_t i, T* tile, cpu::Soon soon) {
            kernel(grow<T>(t, passes, tile, soon, kernel, [](int64_t) {}), out + i * rows * columns,
                   columns);
        });
    });
    return y;
}

Tensor MaxPool2d::indices(const Attrs& a, const Tensor& in) {
    const Tensor x = in.contiguous();
    const int64_t windows = a.axis[0].out * a.axis[1].out, plane = a.axis[0].in * a.axis[1].in;
    Tensor index = Tensor::empty({x.size(0) * x.size(1), windows}, DType::i64);
    int64_t* const to = static_cast<int64_t*>(index.raw());
    visit_floating(x.dtype(), [&]<class T>(T) {
        for_largest<T>(a, x, [&](int64_t i, int64_t begin, int64_t end, const auto* places) {
            for (int64_t j = begin; j < end; ++j)
                for (int64_t k = 0; k < windows; ++k)
                    to[(i + j) * windows + k] = places[k * end + j] - j * plane;
        });
    });
    return index;
}

Tensor MaxPool2d::backward(const Attrs& a, const Tensor& in, const Tensor& cotangent) {
    const OperationScope scope(name, {&in, &cotangent});
    const Tensor x = in.contiguous(), g = cotangent.contiguous();
    const int64_t windows = a.axis[0].out * a.axis[1].out, plane = a.axis[0].in * a.axis[1].in;
    const int64_t planes = x.size(0) * x.size(1);
    if (whole(a))
        return reshape(scatter_add(reshape(g, {planes, 1}),
                                   argmax(reshape(x, {planes, plane}), 1, true), 1, plane),
                       x.shape());
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    const cpu::ConvolutionAxis &down = a.axis[0], &across = a.axis[1];
    const bool pairs = apart(down) && apart(across) && across.kernel == 2;
    visit_floating(x.dtype(), [&]<class T>(T) {
        const T* const from = static_cast<const T*>(g.raw());
        T* const to = static_cast<T*>(dx.raw());
        if (pairs) return pair_gradients(a, static_cast<const T*>(x.raw()), from, planes, to);
        for_largest<T>(a, x, [&](int64_t i, int64_t begin, int64_t end, const auto* places) {
            const T* of = from + i * windows;
            T* const into = to + i * plane;
            std::fill_n(into + begin * plane, (end - begin) * plane, T(0));
            add_by_turns<8>(windows, begin, end, places, of, into);
        });
    });
    return dx;
}

}  // namespace mercer
