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

    /// Rows of 256 to 4096 bytes, as many columns as make `operands` tiles fit the first cache.
    Tiling(const Tensor& x, int axis, int64_t operands)
        : outer(1), n(x.shape()[axis]), inner(1), size(int64_t(size_of(x.dtype()))) {
        for (int a = 0; a < x.rank(); ++a)
            if (a != axis) (a < axis ? outer : inner) *= x.shape()[a];
        const int64_t unit = 64 / size, fit = cpu::caches().l1 * 2 / (n * size * operands),
                      most = std::clamp<int64_t>(fit, 4 * unit, 64 * unit) / unit * unit;
        pieces = (inner + most - 1) / most;
        width = pieces > 1 ? ((inner + pieces - 1) / pieces + unit - 1) / unit * unit : inner;
        pieces = (inner + width - 1) / width;
        planes = std::clamp<int64_t>(most / width, 1, outer);
        count = pieces * ((outer + planes - 1) / planes);
        stream = streams(x, operands) && inner % unit == 0;
    }

    struct Tile {
        int64_t first, width, planes;  // its first element
        int64_t columns() const { return width * planes; }
    };
    Tile tile(int64_t k) const {
        const int64_t i = k % pieces * width, o = k / pieces * planes;
        return {o * n * inner + i, std::min(width, inner - i), std::min(planes, outer - o)};
    }
    /// Runs shorter than that are transposed with the lines: a tile's columns may have any order.
    bool turned() const { return inner < 16; }
    void read(const Tile& t, const Tensor& x, char* to) const {
        const int64_t columns = t.columns();
        cpu::copy_plane(
            size, to, at(x, t.first),
            turned() ? cpu::Plane{n * inner, t.planes, t.planes, 1, 1, n * inner, true, false}
                     : cpu::Plane{n, t.width, columns, 1, inner, 1, false, false, t.planes, t.width,
                                  n * inner});
    }
    void write(const Tile& t, const char* from, const Tensor& y) const {
        const int64_t columns = t.columns();
        cpu::copy_plane(
            size, at(y, t.first), from,
            turned() ? cpu::Plane{t.planes, n * inner, n * inner, 1, 1, t.planes, true, false}
                     : cpu::Plane{n, t.width, inner, 1, columns, 1, false, stream, t.planes,
                                  n * inner, t.width});
    }
};

/// Whether lines of x along `axis` go by tiles: not where rows of the last axis, or what becomes rows
/// without a copy, do as well; with `short_rows` those of at most 24 elements too.
inline bool by_tiles(const Tensor& x, int axis, bool short_rows) {
    const int64_t n = x.shape()[axis];
    if (n == 0 || x.count() < 256 || n * int64_t(size_of(x.dtype())) > 8192) return false;
    if (exchanged(x, axis).is_contiguous()) return short_rows && n <= 24 && axis == x.rank() - 1;
    return true;
}

/// kernel(a tile of each x, its own, n, columns), of lines along `axis`.
template <class Kernel, class... X>
Tensor along_tiles(int axis, Kernel kernel, const X&... x) {
    const std::array<Tensor, sizeof...(X)> in{x.contiguous()...};
    const Tensor out = Tensor::empty(in[0].shape(), in[0].dtype());
    const Tiling tiling(out, axis, sizeof...(X) + 1);
    parallel_each(
        tiling.count, grain_for(tiling.n * tiling.width * tiling.planes / 4), [&](int64_t k) {
            const auto tile = tiling.tile(k);
            Scratch scratch;
            const auto room = [&](const Tensor&) {
                return scratch.take<char>(tiling.n * tile.columns() * tiling.size);
            };
            std::apply(
                [&](const auto&... t) {
                    const std::array<char*, sizeof...(X)> of{room(t)...};
                    char* const to = room(out);
                    size_t i = 0;
                    (tiling.read(tile, t, of[i++]), ...);
                    std::apply([&](auto*... p) { kernel(p..., to, tiling.n, tile.columns()); }, of);
                    tiling.write(tile, to, out);
                },
                in);
        });
    return out;
}

/// along_rows(axis, rows, x…), or by tiles: the same bits.
template <class Rows, class Kernel, class... X>
Tensor along(int axis, bool short_rows, Rows rows, Kernel kernel, const X&... x) {
    const std::array<Tensor, sizeof...(X)> given{x...};
    return by_tiles(given[0], axis, short_rows) ? along_tiles(axis, kernel, x...)
                                                : along_rows(axis, rows, x...);
}

}  // namespace mercer
