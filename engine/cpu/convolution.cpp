#include "engine/cpu/convolution.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/patches.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_DISPATCH(cpu::ConvolutionTable<float>, convolution_f32)
MERCER_DISPATCH(cpu::ConvolutionTable<double>, convolution_f64)

namespace cpu {

template <>
const ConvolutionTable<float>& convolution_kernels<float>() {
    return convolution_f32();
}
template <>
const ConvolutionTable<double>& convolution_kernels<double>() {
    return convolution_f64();
}

namespace {

constexpr int64_t panel_bytes = 40 << 10;
constexpr int64_t tile_bytes = 512 << 10;  // of an L2 of 1 MiB or more

template <class T>
int64_t panel_depth(int64_t k, int width) {
    const int64_t most = std::max<int64_t>(8, panel_bytes / (width * int64_t(sizeof(T))));
    const int64_t blocks = (k + most - 1) / most;
    return (k + blocks - 1) / blocks;
}

/// in[first + t·stride] is read by out[t + (first + before − k·dilation)/stride] where that is whole.
Reach transposed_reach(const ConvolutionAxis& a, int64_t first) {
    Reach r{first, a.stride, (a.in - first + a.stride - 1) / a.stride, 1, {}, {}};
    for (int64_t k = 0; k < a.kernel; ++k)
        if (const int64_t at = first + a.before - k * a.dilation; at % a.stride == 0)
            r.tap.push_back(k), r.offset.push_back(at / a.stride);
    return r;
}

/// out = bias + Σ_(channel, tap) weights·source: what convolve does once, and convolve_transpose for each remainder
/// of the outputs modulo the stride.
template <class T>
struct Correlation {
    int64_t batch, groups, from, to;  // channels for each group
    Reach down, across;
    int64_t source_size[2], out_size[2];
    const T* source;
    const T* weights;  // (groups, to, from, taps of the reach), row-major
    const T* bias;     // (groups·to), or null for zeros
    T* out;

    int64_t taps() const { return int64_t(down.tap.size() * across.tap.size()); }
    bool in_place() const { return down.every == 1 && across.every == 1; }
    T* out_plane(int64_t entry, int64_t channel) const {
        return out + (entry * groups * to + channel) * out_size[0] * out_size[1];
    }
    /// The area's first output within a plane.
    int64_t origin(const Area& area) const {
        return (down.first + area.begin[0] * down.every) * out_size[1] + across.first +
               area.begin[1] * across.every;
    }
    Area all() const { return {{0, 0}, {down.count, across.count}}; }
    /// Outputs of one channel from their tile (rows of the area, so far apart) to where they belong.
    void scatter(const Area& area, const T* tile, T* plane) const {
        scatter(area, tile, area.columns(), 1, plane);
    }
    void scatter(const Area& area, const T* tile, int64_t row, int64_t column, T* plane) const {
        for (int64_t r = 0; r < area.rows(); ++r) {
            T* const to_row = plane + origin(area) + r * down.every * out_size[1];
            for (int64_t c = 0; c < area.columns(); ++c)
                to_row[c * across.every] = tile[r * row + c * column];
        }
    }
    /// All outputs of a channel that no tap reaches.
    void fill_bias(int64_t channel, T* plane) const {
        const T value = bias ? bias[channel] : T(0);
        scatter(all(), &value, 0, 0, plane);
    }
};

/// One plane to one plane of each channel: all parts from one tile, for each remainder of the rows those of the columns,
/// in order.
template <class T>
void correlate_planes(std::span<const Correlation<T>> parts) {
    const Correlation<T>& first = parts[0];
    if (first.out_size[0] * first.out_size[1] == 0) return;
    std::vector<const Reach*> downs, acrosses;
    int64_t cost = 0;
    for (const Correlation<T>& x : parts) {
        downs.push_back(&x.down), acrosses.push_back(&x.across);
        cost += x.all().count() * (x.taps() + 8) / 16;
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
        T* const tile = scratch.take<T>(tiling.plane() + patch_slack);
        T* const apart = step > 1 ? scratch.take<T>(group * part) : nullptr;
        std::vector<const int64_t*> offsets;
        for (const Correlation<T>& x : parts) {
            int64_t* const to = scratch.take<int64_t>(x.taps());
            tiling.offsets(x.down, x.across, to);
            offsets.push_back(to);
        }
        for (int64_t i = begin; i < end; ++i) {
            const int64_t channel = i % first.groups;
            tiling.fill(first.source + i * source, 1, T(0), tile);
            for (int64_t p = 0; p < int64_t(parts.size()); ++p) {
                const Correlation<T>& x = parts[size_t(p)];
                const int64_t q = p % group, below = x.down.every * width;
                T* const to = x.out_plane(i / x.groups, channel) + x.down.first * width;
                table.correlate({tile, tiling.row_step(), x.down.count, x.across.count,
                                 offsets[size_t(p)], x.taps()},
                                x.weights + channel * x.taps(), x.bias ? x.bias[channel] : T(0),
                                apart ? apart + q * part : to, apart ? row : below);
                for (int64_t r = 0; apart && q + 1 == group && r < x.down.count; ++r)
                    table.interleave(apart + r * row, part, step, width, to + r * below);
            }
        }
    });
}

/// Weights packed as the kernels read them: for each group and each block of `depth` steps.
template <class T>
struct PackedWeights {
    int64_t rows, k, depth, blocks, size;
    T* data;

    PackedWeights(Scratch& scratch, const GemmTable<T>& table, const T* weights, int64_t groups,
                  int64_t m, int64_t steps)
        : rows(m), k(steps), depth(panel_depth<T>(steps, table.nr)) {
        blocks = (k + depth - 1) / depth;
        size = rows * depth + table.lanes;
        data = scratch.take<T>(groups * blocks * size);
        parallel_for(groups * blocks, grain_for(rows * depth), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t p = i % blocks * depth;
                table.pack_rows(rows, std::min(depth, k - p), weights + i / blocks * rows * k + p,
                                k, 1, data + i * size);
            }
        });
    }
    const T* at(int64_t group, int64_t block) const {
        return data + (group * blocks + block) * size;
    }
};

template <class T>
void correlate(const Correlation<T>& x) {
    const int64_t k = x.from * x.taps();
    if (x.batch * x.groups * x.to * x.down.count * x.across.count == 0) return;
    if (k == 0) {
        for (int64_t n = 0; n < x.batch; ++n)
            for (int64_t channel = 0; channel < x.groups * x.to; ++channel)
                x.fill_bias(channel, x.out_plane(n, channel));
        return;
    }
    const GemmTable<T>& table = gemm_kernels<T>();
    Scratch shared;
    const PackedWeights<T> weights(shared, table, x.weights, x.groups, x.to, k);
    const int64_t threads = thread_count(), pairs = x.batch * x.groups;
    const std::vector<Area> areas =
        cut(x.down, x.across, x.source_size, x.from,
            threads == 1 ? 1 : (4 * threads + pairs - 1) / pairs, tile_bytes / int64_t(sizeof(T)));
    const int64_t out_plane = x.out_size[0] * x.out_size[1], nr = table.nr;
    const auto compute = [&](int64_t entry, int64_t group, const Area& area) {
        Scratch scratch;
        const Tiling tiling(x.down, x.across, x.source_size, area);
        T* const tile = scratch.take<T>(x.from * tiling.plane() + patch_slack);
        tiling.fill(
            x.source + (entry * x.groups + group) * x.from * x.source_size[0] * x.source_size[1],
            x.from, T(0), tile);
        int64_t* const offsets = scratch.take<int64_t>(k);
        tiling.offsets(offsets);
        for (int64_t i = x.taps(); i < k; ++i) offsets[i] = offsets[i - x.taps()] + tiling.plane();
        const int64_t count = area.count();
        T* const outputs = x.in_place() ? nullptr : scratch.take<T>(x.to * count);
        T* const first = x.out_plane(entry, group * x.to);
        const int64_t c_row = outputs ? count : out_plane;
        T* const panel = scratch.take<T>(weights.depth * nr + patch_slack);
        Run* const runs = scratch.take<Run>(nr);
        for (int64_t b = 0; b < weights.blocks; ++b) {
            const int64_t depth = std::min(weights.depth, k - b * weights.depth);
            for (int64_t p = 0; p < count; p += nr) {
                const int64_t n = std::min(nr, count - p);
                T* const c = (outputs ? outputs : first + x.origin(area)) + p;
                if (b == 0 && x.bias)
                    for (int64_t i = 0; i < x.to; ++i)
                        std::fill_n(c + i * c_row, n, x.bias[group * x.to + i]);
                const int64_t run_count = tiling.runs(p, n, runs);
                convolution_kernels<T>().pack_columns(tile, offsets + b * weights.depth, depth,
                                                      runs, run_count, int(panel_width(table, n)),
                                                      panel);
                multiply_panel(table, x.to, n, depth, weights.at(group, b), panel, c, c_row,
                               b > 0 || x.bias);
            }
        }
        if (outputs)
            for (int64_t i = 0; i < x.to; ++i)
                x.scatter(area, outputs + i * count, first + i * out_plane);
    };
    const int64_t cost = x.to * k * areas[0].count() / 16;
    parallel_for(pairs * int64_t(areas.size()), grain_for(cost), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t pair = i / int64_t(areas.size());
            compute(pair / x.groups, pair % x.groups, areas[size_t(i) % areas.size()]);
        }
    });
}

template <class T>
void correlate_all(std::span<const Correlation<T>> parts) {
    if (!parts.empty() && parts[0].from == 1 && parts[0].to == 1) return correlate_planes(parts);
    for (const Correlation<T>& x : parts) correlate(x);
}

/// Whether y is x times a matrix, pixel by pixel.
bool is_product(const ConvolutionSizes& s) {
    for (const ConvolutionAxis& a : s.axis)
        if (a.kernel != 1 || a.stride != 1 || a.before != 0 || a.in != a.out) return false;
    return s.groups == 1 && s.from > 1 && s.to > 1;
}
/// out[n] = bias + w·x[n], w (m×k).
template <class T>
void multiply_planes(int64_t batch, int64_t m, int64_t k, int64_t plane, MatrixView<const T> w,
                     const T* x, const T* bias, T* out) {
    std::vector<int64_t> at_w(size_t(batch), 0), at_x, at_out;
    for (int64_t n = 0; n < batch; ++n)
        at_x.push_back(n * k * plane), at_out.push_back(n * m * plane);
    if (bias)
        parallel_for(batch * m, grain_for(plane / 8 + 1), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) std::fill_n(out + i * plane, plane, bias[i % m]);
        });
    gemm_batched<T>(batch, m, plane, k, w, at_w.data(), {x, plane, 1}, at_x.data(), {out, plane, 1},
                    at_out.data(), bias != nullptr);
}

/// Depthwise.
template <class T>
void plane_weights(const ConvolutionSizes& s, const T* x, const T* y, T* w) {
    const Reach down = forward_reach(s.axis[0]), across = forward_reach(s.axis[1]);
    const int64_t size[2] = {s.axis[0].in, s.axis[1].in};
    const Area all{{0, 0}, {down.count, across.count}};
    const Tiling tiling(down, across, size, all);
    const int64_t taps = s.taps(), cost = s.batch * s.out() * (taps + 4) / 16;
    parallel_for(s.groups, grain_for(cost), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        int64_t* const offsets = scratch.take<int64_t>(taps);
        T* const tile = scratch.take<T>(tiling.plane() + patch_slack);
        T* const lanes = scratch.take<T>(taps * weight_lanes);
        tiling.offsets(offsets);
        for (int64_t channel = begin; channel < end; ++channel) {
            std::fill_n(lanes, taps * weight_lanes, T(0));
            for (int64_t n = 0; n < s.batch; ++n) {
                const int64_t i = n * s.groups + channel;
                tiling.fill(x + i * s.in(), 1, T(0), tile);
                convolution_kernels<T>().correlate_weights(
                    {tile, tiling.row_step(), all.rows(), all.columns(), offsets, taps},
                    y + i * s.out(), all.columns(), lanes);
            }
            convolution_kernels<T>().join_lanes(lanes, taps, w + channel * taps);
        }
    });
}

}  // namespace

template <class T>
void convolve(const ConvolutionSizes& s, const T* x, const T* w, const T* bias, T* y) {
    if (is_product(s))
        return multiply_planes<T>(s.batch, s.to, s.from, s.in(), {w, s.from, 1}, x, bias, y);
    correlate_all<T>(std::array{Correlation<T>{s.batch,
                                               s.groups,
                                               s.from,
                                               s.to,
                                               forward_reach(s.axis[0]),
                                               forward_reach(s.axis[1]),
                                               {s.axis[0].in, s.axis[1].in},
                                               {s.axis[0].out, s.axis[1].out},
                                               x,
                                               w,
                                               bias,
                                               y}});
}

template <class T>
void convolve_transpose(const ConvolutionSizes& s, const T* y, const T* w, const T* bias, T* x) {
    if (is_product(s))
        return multiply_planes<T>(s.batch, s.from, s.to, s.in(), {w, 1, s.from}, y, bias, x);
    Scratch scratch;
    std::vector<Correlation<T>> parts;
    for (int64_t r = 0; r < std::min(s.axis[0].stride, s.axis[0].in); ++r)
        for (int64_t q = 0; q < std::min(s.axis[1].stride, s.axis[1].in); ++q) {
            Correlation<T> c{s.batch,
                             s.groups,
                             s.to,
                             s.from,
                             transposed_reach(s.axis[0], r),
                             transposed_reach(s.axis[1], q),
                             {s.axis[0].out, s.axis[1].out},
                             {s.axis[0].in, s.axis[1].in},
                             y,
                             nullptr,
                             bias,
                             x};
            T* const weights = scratch.take<T>(s.groups * s.from * s.to * c.taps());
            T* to = weights;
            for (int64_t g = 0; g < s.groups; ++g)
                for (int64_t i = 0; i < s.from; ++i)
                    for (int64_t o = 0; o < s.to; ++o)
                        for (int64_t u : c.down.tap)
                            for (int64_t v : c.across.tap)
                                *to++ = w[(((g * s.to + o) * s.from + i) * s.axis[0].kernel + u) *
                                              s.axis[1].kernel +
                                          v];
            c.weights = weights;
            parts.push_back(std::move(c));
        }
    correlate_all<T>(parts);
}

template <class T>
void convolve_weights(const ConvolutionSizes& s, const T* x, const T* y, T* w) {
    const int64_t row = s.from * s.taps();  // of w
    if (s.batch * s.out() == 0) {
        std::fill_n(w, s.groups * s.to * row, T(0));
        return;
    }
    if (s.groups * s.to * row == 0) return;
    if (is_product(s)) {
        for (int64_t n = 0; n < s.batch; ++n)
            gemm<T>(s.to, s.from, s.out(), {y + n * s.to * s.out(), s.out(), 1},
                    {x + n * s.from * s.in(), 1, s.in()}, {w, s.from, 1}, n > 0);
        return;
    }
    if (s.from == 1 && s.to == 1) return plane_weights(s, x, y, w);
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
            cut(down, across, size, channels, 1, tile_bytes / int64_t(sizeof(T)));
        Scratch scratch;
        int64_t* const offsets = scratch.take<int64_t>(columns);
        const int64_t most = std::max<int64_t>(8, panel_bytes / (nr * int64_t(sizeof(T))));
        T* const strip = scratch.take<T>((o1 - o0) * most + table.lanes);
        T* const panel = scratch.take<T>(most * nr + patch_slack);
        Run* const runs = scratch.take<Run>(most);
        bool begun = false;
        for (int64_t n = 0; n < s.batch; ++n)
            for (const Area& area : areas) {
                Scratch inner;
                const Tiling tiling(down, across, size, area);
                T* const tile = inner.take<T>(channels * tiling.plane() + patch_slack);
                tiling.fill(x + ((n * s.groups + group) * s.from + c0) * s.in(), channels, T(0),
                            tile);
                tiling.offsets(offsets);
                for (int64_t i = s.taps(); i < columns; ++i)
                    offsets[i] = offsets[i - s.taps()] + tiling.plane();
                const int64_t first = area.begin[0] * across.count + area.begin[1];
                const int64_t depth = panel_depth<T>(area.count(), int(nr));
                for (int64_t p = 0; p < area.count(); p += depth) {
                    const int64_t steps = std::min(depth, area.count() - p);
                    const int64_t run_count = tiling.runs(p, steps, runs);
                    table.pack_rows(o1 - o0, steps,
                                    y + ((n * s.groups + group) * s.to + o0) * s.out() + first + p,
                                    s.out(), 1, strip);
                    for (int64_t j = 0; j < columns; j += nr) {
                        const int64_t across_panel = std::min(nr, columns - j);
                        convolution_kernels<T>().pack_rows(
                            tile, offsets + j, int(across_panel), runs, run_count,
                            int(panel_width(table, across_panel)), panel);
                        multiply_panel(table, o1 - o0, across_panel, steps, strip, panel,
                                       w + (group * s.to + o0) * row + c0 * s.taps() + j, row,
                                       begun);
                    }
                    begun = true;
                }
            }
    };
    const int64_t cost = s.batch * s.out() * s.to * row / (chunks * strips * 16);
    parallel_for(s.groups * chunks * strips, grain_for(cost), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t group = i / (chunks * strips), c = i / strips % chunks, o = i % strips;
            compute(group, c * s.from / chunks, (c + 1) * s.from / chunks, o * s.to / strips,
                    (o + 1) * s.to / strips);
        }
    });
}

#define MERCER_CONVOLUTION(T)                                                                  \
    template void convolve<T>(const ConvolutionSizes&, const T*, const T*, const T*, T*);      \
    template void convolve_transpose<T>(const ConvolutionSizes&, const T*, const T*, const T*, \
                                        T*);                                                   \
    template void convolve_weights<T>(const ConvolutionSizes&, const T*, const T*, T*);
MERCER_CONVOLUTION(float)
MERCER_CONVOLUTION(double)
#undef MERCER_CONVOLUTION

}  // namespace cpu
}  // namespace mercer
