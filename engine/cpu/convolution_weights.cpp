// The gradient of a convolution's weights.
#include <algorithm>
#include <vector>

#include "engine/cpu/convolution.h"
#include "engine/cpu/correlation.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/instantiate.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer::cpu {
namespace {

/// Depthwise, by lanes, where planes are narrow enough, or taps many.
template <class T>
bool channel_weights(const ConvolutionSizes& s, const T* x, const T* y, T* w) {
    const Reach down = forward_reach(s.axis[0]), across = forward_reach(s.axis[1]);
    const int64_t lanes = gemm_kernels<T>().lanes, taps = s.taps(), columns = across.count,
                  register_bytes = lanes * int64_t(sizeof(T)), plane = s.in() + s.out(),
                  l2 = caches().l2 / 2 / register_bytes;
    if (lanes < 4 || s.groups < lanes || down.step * across.step != 1 ||
        taps * lanes < 20 * columns || columns > weight_lanes / 2 ||
        16 * columns * ((s.groups + lanes - 1) / lanes) >=
            15 * s.groups * ((columns + lanes - 1) / lanes) ||
        plane + taps * columns > l2)
        return false;
    // Planes whose rows that a column's taps meet the first level holds, beside sums that pass.
    const int64_t met = s.axis[0].in * s.axis[1].kernel + 2 * s.axis[0].out,
                  together = std::clamp<int64_t>(std::min(caches().l1 / 2 / register_bytes / met,
                                                          (l2 - taps * columns) / plane),
                                                 1, s.batch);
    const int64_t blocks = (s.groups + lanes - 1) / lanes;
    if (blocks < thread_count()) return false;
    parallel_for(blocks, grain_for(s.batch * s.out() * taps), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        ChannelWalk<T> walk{
            s.axis[0].in,     s.axis[1].in,     down.count,         columns,
            s.axis[0].kernel, s.axis[1].kernel, down.offset.data(), across.offset.data()};
        walk.weights = scratch.take<T>(taps * columns * lanes);
        walk.tile = scratch.take<T>(together * s.in() * lanes);
        walk.plane = scratch.take<T>(together * s.out() * lanes);
        walk.together = together;
        for (int64_t i = begin; i < end; ++i) {
            // As in correlate_channels.
            const int64_t c = std::min(i * lanes, s.groups - lanes);
            convolution_kernels<T>().correlate_channel_weights(
                walk, s.batch, x + c * s.in(), s.groups * s.in(), y + c * s.out(),
                s.groups * s.out(), w + c * taps, lanes - (i * lanes - c));
        }
    });
    return true;
}

/// Depthwise.
template <class T>
void plane_weights(const ConvolutionSizes& s, const T* x, const T* y, T* w) {
    const Reach down = forward_reach(s.axis[0]), across = forward_reach(s.axis[1]);
    const int64_t size[2] = {s.axis[0].in, s.axis[1].in};
    const Area all{{0, 0}, {down.count, across.count}};
    const Tiling tiling(down, across, size, all);
    const int64_t lag = down.lag(across);
    // Channels [begin, end), and of their taps so many from k on, of each weight_lanes those from `left` to `right`.
    const auto compute = [&](int64_t begin, int64_t end, int64_t k, int64_t taps, int64_t left,
                             int64_t right) {
        Scratch scratch;
        int64_t* const offsets = scratch.take<int64_t>(s.taps());
        T* const tile = tiling.take<T>(scratch, 1);
        tiling.offsets(offsets);
        // Planes in the order in which they lie in memory, for as many channels as leave the caches to them.
        const int64_t sums = taps * weight_lanes,
                      most = std::max<int64_t>(1, caches().l2 / 4 / (sums * int64_t(sizeof(T)))),
                      block = std::min(most, end - begin);
        T* const lanes = scratch.take<T>(block * sums);
        const int64_t rows = all.rows(), columns = all.columns();
        PlaneWalk<T> walk{tile, tiling.row_step(), rows, columns, offsets + k, taps, {}, lag};
        for (int64_t from = begin; from < end; from += block) {
            const int64_t count = std::min(block, end - from);
            std::fill_n(lanes, count * sums, T(0));
            const auto at = [&](int64_t i) { return i / count * s.groups + from + i % count; };
            for (int64_t i = 0; i < s.batch * count; ++i) {
                const int64_t plane = at(i);
                const T* const next = i + 1 < s.batch * count ? x + at(i + 1) * s.in() : nullptr;
                walk.soon = tiling.soon(next, s.batch * s.groups, rows);
                walk.soon_g = walk.soon.each
                                  ? Soon{reinterpret_cast<const char*>(y + at(i + 1) * s.out()),
                                         columns * int64_t(sizeof(T))}
                                  : Soon();
                tiling.fill(x + plane * s.in(), 1, T(0), tile);
                convolution_kernels<T>().correlate_weights(walk, y + plane * s.out(), columns,
                                                           lanes + i % count * sums, left,
                                                           lag ? lag : right);
            }
            for (int64_t c = 0; c < count; ++c)
                for (int64_t i = left; i < taps; i += weight_lanes)
                    convolution_kernels<T>().join_lanes(lanes + c * sums + i * weight_lanes,
                                                        std::min(right - left, taps - i),
                                                        w + (from + c) * s.taps() + k + i);
        }
    };
    // Threads share the channels; of few of them, the rows of taps, or columns of the one row by weight_lanes: it counts as
    // rows of so many, which are best met together.
    const int64_t taps = s.taps(), row = s.axis[1].kernel, wide = std::min(row, weight_lanes),
                  cost = s.batch * s.out() * (taps + 4) / 16,
                  per_channel = (thread_count() - 1) / s.groups + 1;
    const bool one = s.axis[0].kernel == 1;
    const int64_t shares = std::min({per_channel, taps / 16 + 1, one ? wide / 4 + 1 : taps / row});
    parallel_for(s.groups * shares, grain_for(cost / shares), [&](int64_t begin, int64_t end) {
        if (shares == 1) return compute(begin, end, 0, taps, 0, weight_lanes);
        for (int64_t i = begin, c = i / shares; i < end; c = ++i / shares) {
            const int64_t n = one ? wide : taps / row, from = i % shares * n / shares,
                          to = (i % shares + 1) * n / shares;
            if (one)
                compute(c, c + 1, 0, taps, from, to);
            else
                compute(c, c + 1, from * row, (to - from) * row, 0, weight_lanes);
        }
    });
}

}  // namespace

template <class T>
void convolve_weights(const ConvolutionSizes& s, const T* x, const T* y, T* w) {
    const int64_t row = s.from * s.taps();  // of w
    if (s.batch * s.out() == 0 || s.groups * s.to * row == 0)
        return void(std::fill_n(w, s.groups * s.to * row, T(0)));
    // Small planes are better met together; but sums in lanes are gemm's.
    if (s.is_product() && (s.out() >= 128 || s.from <= few_columns)) {
        for (int64_t n = 0; n < s.batch; ++n)
            gemm<T>(s.to, s.from, s.out(), {y + n * s.to * s.out(), s.out(), 1},
                    {x + n * s.from * s.in(), 1, s.in()}, {w, s.from, 1}, n > 0);
        return;
    }
    if (s.from == 1 && s.to == 1) {
        if (!channel_weights(s, x, y, w)) plane_weights(s, x, y, w);
        return;
    }
    const GemmTable<T>& table = gemm_kernels<T>();
    const Reach down = forward_reach(s.axis[0]), across = forward_reach(s.axis[1]);
    const int64_t size[2] = {s.axis[0].in, s.axis[1].in}, nr = table.nr, threads = thread_count();
    // Threads share the channels of x (each copies and packs its own), and then those of y.
    const auto divided = [](int64_t n, int64_t d) { return (n + d - 1) / d; };
    const int64_t chunks =
        std::clamp<int64_t>(std::min(divided(threads, s.groups), row / (4 * nr)), 1, s.from);
    const int64_t strips = std::min(divided(s.to, table.mr), divided(threads, s.groups * chunks));
    const auto compute = [&](int64_t group, int64_t c0, int64_t c1, int64_t o0, int64_t o1) {
        const int64_t channels = c1 - c0, columns = channels * s.taps();
        const std::vector<Area> areas =
            cut(down, across, size, channels, 0, 1, tile_bytes / int64_t(sizeof(T)));
        Scratch scratch;
        int64_t* const offsets = scratch.take<int64_t>(columns);
        const int64_t most = std::max<int64_t>(8, panel_bytes / (nr * int64_t(sizeof(T))));
        T* const strip = scratch.take<T>((o1 - o0) * most + table.lanes);
        T* const panel = scratch.take<T>(most * nr + patch_slack);
        std::fill_n(panel, most * nr, T(0));  // lanes of no output: subnormal numbers would be slow
        Run* const runs = scratch.take<Run>(most);
        // Images of narrow planes together: w is then read and written less often.
        const int64_t room = std::min(most / s.out(), tile_bytes / (channels * s.in() + 1)),
                      together = areas.size() == 1 ? std::max<int64_t>(1, room) : 1;
        for (int64_t n = 0; n < s.batch; n += together) {
            const int64_t images = std::min(together, s.batch - n);
            for (const Area& area : areas) {
                Scratch inner;
                const Tiling tiling(down, across, size, area);
                const int64_t apart = channels * tiling.plane();
                T* const tile = tiling.take<T>(inner, images * channels);
                for (int64_t i = 0; i < images; ++i)
                    tiling.fill(x + (((n + i) * s.groups + group) * s.from + c0) * s.in(), channels,
                                T(0), tile + i * apart);
                tiling.offsets(offsets);
                for (int64_t i = s.taps(); i < columns; ++i)
                    offsets[i] = offsets[i - s.taps()] + tiling.plane();
                const int64_t first = area.begin[0] * across.count + area.begin[1];
                const int64_t depth = panel_depth<T>(area.count(), int(nr));
                for (int64_t p = 0; p < area.count(); p += depth) {
                    const int64_t each = std::min(depth, area.count() - p), steps = images * each,
                                  run_count = tiling.runs(p, steps, runs, apart);
                    for (int64_t o = o0, rows; o < o1; o += rows) {
                        rows = strip_rows(table.mr, o1 - o);
                        for (int64_t i = 0; i < images; ++i)
                            table.pack_rows(
                                rows, each,
                                y + (((n + i) * s.groups + group) * s.to + o) * s.out() + first + p,
                                s.out(), 1, strip + (o - o0) * steps + i * each * rows);
                    }
                    for (int64_t j = 0; j < columns; j += nr) {
                        const int64_t across_panel = std::min(nr, columns - j);
                        convolution_kernels<T>().pack_rows(
                            tile, offsets + j, int(across_panel), runs, run_count,
                            int(panel_width(table, across_panel)), panel);
                        multiply_panel(table, o1 - o0, across_panel, steps, strip, panel,
                                       w + (group * s.to + o0) * row + c0 * s.taps() + j, row,
                                       n + p + first > 0);
                    }
                }
            }
        }
    };
    const int64_t cost = s.batch * s.out() * s.to * row / (chunks * strips * 16);
    parallel_each(s.groups * chunks * strips, grain_for(cost), [&](int64_t i) {
        const int64_t group = i / (chunks * strips), c = i / strips % chunks, o = i % strips;
        compute(group, c * s.from / chunks, (c + 1) * s.from / chunks, o * s.to / strips,
                (o + 1) * s.to / strips);
    });
}

MERCER_F32_F64(convolve_weights)

}  // namespace mercer::cpu
