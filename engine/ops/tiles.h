// Lines along one axis by tiles in the caches: kernels that see columns.
#pragma once

#include "engine/cpu/copy.h"
#include "engine/ops/rows.h"
#include "engine/scratch.h"

namespace mercer {

/// A dense tensor as outer × n × inner, cut in tiles: n × columns, dense, whose columns are lines of n elements.
struct Tiling {
    int64_t outer, n, inner, size;  // of an element, in bytes
    int64_t width, planes;          // of one tile: so many of inner, and of outer
    int64_t pieces, count;          // of inner; tiles in all
    bool stream;

    /// Rows of 256 to 4096 bytes, as many columns as make `tiles` of them fill half the first cache. `tensors` like x are
    /// read and written.
    Tiling(const Tensor& x, int axis, int64_t tiles, int64_t tensors)
        : outer(1), n(x.shape()[axis]), inner(1), size(int64_t(size_of(x.dtype()))) {
        for (int a = 0; a < x.rank(); ++a)
            if (a != axis) (a < axis ? outer : inner) *= x.shape()[a];
        const int64_t unit = 64 / size, fit = cpu::caches().l1 / 2 / (n * size * tiles),
                      most = std::clamp<int64_t>(fit, 4 * unit, 64 * unit) / unit * unit;
        pieces = (inner + most - 1) / most;
        width = pieces > 1 ? ((inner + pieces - 1) / pieces + unit - 1) / unit * unit : inner;
        pieces = (inner + width - 1) / width;
        planes = std::clamp<int64_t>(most / width, 1, outer);
        count = pieces * ((outer + planes - 1) / planes);
        stream = streams(x, tensors) && inner % unit == 0;
    }

    struct Tile {
        int64_t o, i, width, planes;  // its first line
        int64_t columns() const { return width * planes; }
    };
    Tile tile(int64_t k) const {
        const int64_t i = k % pieces * width, o = k / pieces * planes;
        return {o, i, std::min(width, inner - i), std::min(planes, outer - o)};
    }
    /// Of t's lines: n, or one where t holds what there is one of for each.
    int64_t length(const Tensor& t) const { return t.count() / (outer * inner); }
    /// Runs shorter than that are transposed with the lines: a tile's columns may have any order.
    bool turned() const { return inner < 16; }
    /// Of a dense matrix the transpose, rows × cols.
    static cpu::Plane transpose(int64_t rows, int64_t cols) {
        if (rows == 1 || cols == 1) return {1, rows * cols, 0, 1, 0, 1, false, false};
        return {rows, cols, cols, 1, 1, rows, true, false};
    }
    /// Where a tile begins in x.
    char* at(const Tile& t, const Tensor& x) const {
        return mercer::at(x, t.o * length(x) * inner + t.i);
    }
    /// A tile from x, or back to it.
    void copy(const Tile& t, const Tensor& x, char* tile, bool back) const {
        const int64_t m = length(x), each = m * inner, columns = t.columns(), w = t.width;
        const cpu::Plane p =
            turned() ? (back ? transpose(t.planes, each) : transpose(each, t.planes))
            : back   ? cpu::Plane{m, w, inner, 1, columns, 1, false, stream, t.planes, each, w}
                     : cpu::Plane{m, w, columns, 1, inner, 1, false, false, t.planes, w, each};
        char* const there = at(t, x);
        cpu::copy_plane(int64_t(size_of(x.dtype())), back ? there : tile, back ? tile : there, p);
    }
};

/// Whether lines of x along `axis` go by tiles: not where rows of the last axis, or what becomes rows
/// without a copy, do as well; those of at most `short_rows` elements too.
inline bool by_tiles(const Tensor& x, int axis, int64_t short_rows) {
    const int64_t n = x.shape()[axis];
    if (n == 0 || x.count() < 256 || n > 8192 / int64_t(size_of(x.dtype()))) return false;
    if (exchanged(x, axis).is_contiguous()) return n <= short_rows && axis == x.rank() - 1;
    return true;
}

/// kernel(a tile of each x, of each y, n, columns, what comes next), of dense tensors; nullptr of a y that is absent.
/// `in_place`: the first y has the tile of the last x.
template <bool in_place = false, class Kernel, size_t in, size_t out>
void over_tiles(const Tiling& tiling, int64_t cost, Kernel kernel, const std::array<Tensor, in>& x,
                const std::array<Tensor, out>& y) {
    constexpr size_t first = in - in_place;  // y's first tile
    const int64_t grain = grain_for(tiling.n * tiling.width * tiling.planes * cost / 4);
    parallel_each(tiling.count, grain, [&](int64_t k) {
        const auto tile = tiling.tile(k), next = tiling.tile(std::min(k + 1, tiling.count - 1));
        Scratch scratch;
        std::array<char*, first + out> of{};
        const auto take = [&](size_t i, const Tensor& t) {
            if (t.defined() && !of[i])
                of[i] = scratch.take<char>(tiling.length(t) * tile.columns() *
                                           int64_t(size_of(t.dtype())));
        };
        cpu::TileAhead ahead;
        ahead.pitch =
            tiling.size * (next.planes > 1 || tiling.turned() ? next.columns() : tiling.inner);
        for (size_t i = 0; i < in; ++i) {
            take(i, x[i]);
            tiling.copy(tile, x[i], of[i], false);
            if (in - i <= 2) ahead.operand[in - i - 1] = tiling.at(next, x[i]);
        }
        for (size_t i = 0; i < out; ++i) take(first + i, y[i]);
        std::apply([&](auto*... p) { kernel(p..., tiling.n, tile.columns(), ahead); }, of);
        for (size_t i = 0; i < out; ++i)
            if (y[i].defined()) tiling.copy(tile, y[i], of[first + i], true);
    });
}
/// The result of such a kernel in place, like each x; of lines along `axis`.
template <class Kernel, class... X>
Tensor along_tiles(int axis, Kernel kernel, const X&... x) {
    const std::array in{x.contiguous()...};
    const Tensor out = Tensor::empty(in[0].shape(), in[0].dtype());
    over_tiles<true>(Tiling(out, axis, sizeof...(X), sizeof...(X) + 1), 1, kernel, in,
                     std::array{out});
    return out;
}

/// along_rows(axis, rows, x…), or by tiles: the same bits.
template <class Rows, class Kernel, class... X>
Tensor along(int axis, int64_t short_rows, Rows rows, Kernel kernel, const X&... x) {
    const std::array<Tensor, sizeof...(X)> given{x...};
    return by_tiles(given[0], axis, short_rows) ? along_tiles(axis, kernel, x...)
                                                : along_rows(axis, rows, x...);
}

}  // namespace mercer
