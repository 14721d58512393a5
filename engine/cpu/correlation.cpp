#include "engine/cpu/correlation.h"

#include <optional>
#include <vector>

#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/instantiate.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer::cpu {
namespace {

/// Weights packed as the kernels read them: for each group and each block of `depth` steps.
template <class T>
struct PackedWeights {
    int64_t rows, k, depth, blocks, size;
    T* data;

    PackedWeights(Scratch& scratch, const GemmTable<T>& table, const Correlation<T>& x)
        : rows(x.rows()), k(x.from * x.taps()), depth(panel_depth<T>(k, table.nr)) {
        blocks = (k + depth - 1) / depth;
        size = rows * depth + table.lanes;
        const int64_t row = x.turned ? 1 : k, step = x.turned ? rows : 1;
        data = scratch.take<T>(x.groups * blocks * size);
        parallel_each(x.groups * blocks, grain_for(rows * depth), [&](int64_t i) {
            const int64_t p = i % blocks * depth;
            table.pack_rows(rows, std::min(depth, k - p),
                            x.weights + i / blocks * rows * k + p * step, row, step,
                            data + i * size);
        });
    }
    const T* at(int64_t group, int64_t block) const {
        return data + (group * blocks + block) * size;
    }
};

}  // namespace

template <class T>
void part_line(Correlation<T>& x) {
    Reach& a = x.across;
    const int64_t taps = x.taps(), first = a.offset.empty() ? 0 : a.offset[0];
    if (x.to != 1 || x.down.count * x.down.offset.size() * x.first[0].size() != 1 || a.every != 1 ||
        a.step != 1 || a.count < 16 * rows_together || taps < 3 * rows_together ||
        a.high() - a.low() != taps - 1)
        return;
    const bool back = a.offset[1] < first;
    a = {rows_together, (a.count + rows_together - 1) / rows_together, rows_together, {}};
    for (int64_t t = 0; t < taps + rows_together - 1; ++t)
        a.offset.push_back(back ? first + rows_together - 1 - t : first + t);
    x.first[1] = {0, 1, 2, 3};
    x.line = true;
}

namespace {

/// One plane to one plane of each channel by lanes, if they are narrow enough, or taps many.
template <class T>
bool correlate_channels(const Correlation<T>& x) {
    const bool line = x.source_size[0] * x.down.count * int64_t(x.down.offset.size()) == 1;
    // A line stands: its outputs then take each sample together.
    const Reach &down = line ? x.across : x.down, &across = line ? x.down : x.across;
    const int64_t rows = x.source_size[line], columns = x.source_size[!line], in = rows * columns,
                  lanes = gemm_kernels<T>().lanes, taps = x.taps(), count = x.across.count,
                  blocks = (x.groups + lanes - 1) / lanes, registers = (count + lanes - 1) / lanes,
                  u = int64_t(down.offset.size()), v = int64_t(across.offset.size());
    if (lanes < 4 || x.groups < lanes || !x.in_place() || x.down.step * x.across.step != 1 ||
        x.line || taps * lanes < 20 * count)
        return false;
    // Lanes of channels that are kept, against those of columns, of which a row may fill its registers.
    if (16 * count * blocks >= 15 * x.groups * registers || blocks * x.batch < thread_count() ||
        (2 * taps + in + x.plane()) * lanes * int64_t(sizeof(T)) > caches().l2 / 2)
        return false;
    // Few channels by one plane at a time, many by all planes.
    const int64_t each = blocks < 4 * thread_count() ? 1 : x.batch;
    const auto planes = [&](int64_t begin, int64_t end) {
        Scratch scratch;
        ChannelWalk<T> walk{rows, columns, down.count,         across.count,
                            u,    v,       down.offset.data(), across.offset.data()};
        walk.weights = scratch.take<T>((2 * taps + 1) * lanes);
        walk.tile = scratch.take<T>(in * lanes);
        walk.plane = scratch.take<T>(x.plane() * lanes);
        begin *= each, end *= each;
        for (int64_t i = begin; i < end; ++i) {
            // The last lanes begin where they still have channels: of those before, they keep none.
            const int64_t n = i % x.batch, from = i / x.batch * lanes,
                          c = std::min(from, x.groups - lanes);
            // Of its rows of outputs, each asks for some of the next planes.
            const int64_t beyond = n + 1 < x.batch ? x.groups * in : 0;
            walk.soon = {reinterpret_cast<const char*>(x.source + (n * x.groups + c) * in + beyond),
                         beyond ? in * lanes * int64_t(sizeof(T)) / down.count : 0};
            convolution_kernels<T>().correlate_channels(
                walk, x.source + (n * x.groups + c) * in,
                n == 0 || i == begin ? x.weights + c * taps : nullptr,
                x.bias ? x.bias + c : nullptr, x.out_plane(n, c), lanes - (from - c));
        }
    };
    parallel_for(blocks * x.batch / each, grain_for(x.plane() * taps * each / 4), planes);
    return true;
}

}  // namespace

template <class T>
void correlate_planes(std::span<const Correlation<T>> parts) {
    const Correlation<T>& first = parts[0];
    if (first.plane() == 0 || (parts.size() == 1 && correlate_channels(first))) return;
    std::vector<const Reach*> downs, acrosses;
    int64_t cost = 0;
    for (const Correlation<T>& x : parts) {
        downs.push_back(&x.down), acrosses.push_back(&x.across);
        cost += x.rows() * x.all().count() * (x.taps() + 8) / 16;
    }
    const Reach down = joint_reach(downs), across = joint_reach(acrosses);
    const Tiling tiling(down, across, first.source_size, {{0, 0}, {down.count, across.count}});
    const int64_t step = first.across.every, width = first.out_size[1],
                  group = std::min(step, width), row = first.across.count,
                  part = row * first.down.count,
                  source = first.source_size[0] * first.source_size[1];
    parallel_for(first.batch * first.groups, grain_for(cost), [&](int64_t begin, int64_t end) {
        const ConvolutionTable<T>& table = convolution_kernels<T>();
        Scratch scratch;
        T* const tile = tiling.take<T>(scratch, 1);
        T* const apart = step > 1 ? scratch.take<T>(group * part) : nullptr;
        const T zero = 0;
        std::vector<PlaneWalk<T>> walks;
        for (const Correlation<T>& x : parts)
            walks.push_back(x.walk(tiling, x.all(), tile, scratch));
        for (int64_t i = begin; i < end; ++i) {
            const int64_t channel = i % first.groups;
            const T *const plane = first.source + i * source, *const next = plane + source;
            tiling.fill(plane, 1, T(0), tile);
            for (int64_t p = 0; p < int64_t(parts.size()); ++p) {
                const Correlation<T>& x = parts[size_t(p)];
                const int64_t q = p % group, below = x.down.every * width;
                T* const to = x.out_plane(i / x.groups, channel) + x.first[0][0] * width;
                walks[size_t(p)].soon = tiling.soon(p == 0 && i + 1 < end ? next : nullptr,
                                                    x.batch * x.groups, walks[size_t(p)].rows);
                table.correlate(walks[size_t(p)], x.weights + channel * x.taps(),
                                x.bias ? x.bias + channel : &zero, apart ? apart + q * part : to,
                                apart ? row : below);
                for (int64_t r = 0; apart && (x.line || q + 1 == group) && r < x.down.count; ++r)
                    table.interleave(apart + r * row, step, width, part, to + r * below);
            }
        }
    });
}

template <class T>
void correlate(const Correlation<T>& x) {
    const int64_t k = x.from * x.taps(), m = x.rows(), each = m / std::max<int64_t>(x.to, 1),
                  channels = x.groups * x.to;
    if (x.batch * channels * x.down.count * x.across.count == 0) return;
    if (k == 0) return fill_planes(x.batch * channels, channels, x.plane(), x.bias, x.out);
    const GemmTable<T>& table = gemm_kernels<T>();
    // Of one row no panel pays: its planes are added up one by one.
    const bool one = m == 1 || x.line;
    Scratch shared;
    std::optional<const PackedWeights<T>> weights;
    if (!one) weights.emplace(shared, table, x);
    const int64_t threads = thread_count(), nr = table.nr, most = tile_bytes / int64_t(sizeof(T)),
                  all = x.all().count();
    // Images of narrow planes together fill panels, and meet the weights once.
    const bool pays = !one && all < 64 && all % nr != 0;
    const int64_t widest = std::max(m * all, x.from * x.source_size[0] * x.source_size[1]),
                  together = std::min({256 / all, x.batch * x.groups / threads, 4 * most / widest}),
                  parts = (x.batch - 1) / (pays ? std::max<int64_t>(1, together) : 1) + 1,
                  pairs = parts * x.groups, tasks = (4 * threads + pairs - 1) / pairs;
    // Each thread has some; but areas less than a panel wide read all weights for few outputs.
    const int64_t wanted = threads == 1 || parts < x.batch
                               ? 1
                               : std::clamp(all / nr, (threads + pairs - 1) / pairs, tasks);
    const std::vector<Area> areas =
        cut(x.down, x.across, x.source_size, one ? 1 : x.from, x.in_place() ? 0 : m, wanted, most);
    const auto compute = [&](int64_t part, int64_t group, const Area& area) {
        Scratch scratch;
        const Tiling tiling(x.down, x.across, x.source_size, area);
        const int64_t entry = part * x.batch / parts, images = (part + 1) * x.batch / parts - entry,
                      each_count = area.count();
        T* const tile = tiling.take<T>(scratch, one ? 1 : images * x.from);
        const int64_t plane = x.source_size[0] * x.source_size[1], count = images * each_count;
        const T* const source = x.source + (entry * x.groups + group) * x.from * plane;
        T* const outputs = x.in_place() && images == 1 ? nullptr : scratch.take<T>(m * count);
        T* const first = x.out_plane(entry, group * x.to);
        T* const out = outputs ? outputs : first + area.begin[0] * x.out_size[1] + area.begin[1];
        if (one) {
            const PlaneWalk<T> walk = x.walk(tiling, area, tile, scratch);
            const T zero = 0, *start = x.bias ? x.bias + group : &zero;
            for (int64_t f = 0; f < x.from; ++f, start = nullptr) {
                tiling.fill(source + f * plane, 1, T(0), tile);
                convolution_kernels<T>().correlate(
                    walk, x.weights + (group * x.from + f) * x.taps(), start, out,
                    outputs ? area.columns() : x.out_size[1]);
            }
        } else {
            const int64_t apart = x.from * tiling.plane();
            for (int64_t i = 0; i < images; ++i)
                tiling.fill(source + i * x.groups * x.from * plane, x.from, T(0), tile + i * apart);
            int64_t* const offsets = scratch.take<int64_t>(k);
            tiling.offsets(offsets);
            for (int64_t i = x.taps(); i < k; ++i)
                offsets[i] = offsets[i - x.taps()] + tiling.plane();
            const int64_t c_row = outputs ? count : x.plane();
            T* const panel = scratch.take<T>(weights->depth * nr + patch_slack);
            // Lanes that no output has are multiplied all the same: slowly, where memory held subnormal numbers.
            std::fill_n(panel, weights->depth * nr, T(0));
            Run* const runs = scratch.take<Run>(nr);
            for (int64_t b = 0; b < weights->blocks; ++b) {
                const int64_t depth = std::min(weights->depth, k - b * weights->depth);
                for (int64_t p = 0; p < count; p += nr) {
                    const int64_t n = std::min(nr, count - p);
                    T* const c = out + p;
                    if (b == 0 && x.bias)
                        for (int64_t i = 0; i < m; ++i)
                            std::fill_n(c + i * c_row, n, x.bias[group * x.to + i / each]);
                    const int64_t run_count = tiling.runs(p, n, runs, apart);
                    convolution_kernels<T>().pack_columns(tile, offsets + b * weights->depth, depth,
                                                          runs, run_count,
                                                          int(panel_width(table, n)), panel);
                    multiply_panel(table, m, n, depth, weights->at(group, b), panel, c, c_row,
                                   b > 0 || x.bias);
                }
            }
        }
        for (int64_t i = 0; outputs && i < images; ++i)
            x.scatter(area, outputs + i * each_count, count, x.out_plane(entry + i, group * x.to));
    };
    const int64_t cost = m * k * areas[0].count() * (x.batch / parts) / 16;
    parallel_each(pairs * int64_t(areas.size()), grain_for(cost), [&](int64_t i) {
        const int64_t pair = i / int64_t(areas.size());
        compute(pair / x.groups, pair % x.groups, areas[size_t(i) % areas.size()]);
    });
}

MERCER_F32_F64(part_line)
MERCER_F32_F64(correlate_planes)
MERCER_F32_F64(correlate)

}  // namespace mercer::cpu
