#include "engine/cpu/convolution.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/cpu/correlation.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/instantiate.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_DISPATCH_TYPED(cpu::ConvolutionTable, convolution_kernels)

namespace cpu {
namespace {

/// By the remainder modulo the stride: in[first + t·stride] is read by out[t + offset], a tap for each, in order.
using Readers = std::map<int64_t, std::vector<int64_t>>;
Readers readers(const ConvolutionAxis& a) {
    Readers found;
    for (int64_t k = 0; k < a.kernel; ++k) {
        const int64_t at = k * a.dilation - a.before, first = (at % a.stride + a.stride) % a.stride;
        if (first < a.in) found[first].push_back((first - at) / a.stride);
    }
    return found;
}
int64_t tap_of(const ConvolutionAxis& a, int64_t first, int64_t offset) {
    return (first + a.before - offset * a.stride) / a.dilation;
}
Reach reach_of(const ConvolutionAxis& a, int64_t first, const std::vector<int64_t>& offsets) {
    return {a.stride, (a.in - first + a.stride - 1) / a.stride, 1, offsets};
}

/// Remainders that read alike; those that nothing reads are in none.
struct Alike {
    Reach reach;  // of the first, which has as many outputs as any
    std::vector<int64_t> first;
};
std::vector<Alike> alike(const ConvolutionAxis& a) {
    std::map<std::vector<int64_t>, std::vector<int64_t>> by_offsets;
    for (const auto& [first, offsets] : readers(a)) by_offsets[offsets].push_back(first);
    std::vector<Alike> all;
    for (const auto& [offsets, first] : by_offsets)
        all.push_back({reach_of(a, first[0], offsets), first});
    return all;
}
/// Each remainder by itself.
std::vector<Alike> apart(const ConvolutionAxis& a) {
    Readers found = readers(a);
    std::vector<Alike> all;
    for (int64_t r = 0; r < std::min(a.stride, a.in); ++r)
        all.push_back({reach_of(a, r, found[r]), {r}});
    return all;
}

/// What goes from x to y, or `back`, without its weights.
template <class T>
Correlation<T> correlation(const ConvolutionSizes& s, bool back, const Alike& down,
                           const Alike& across, const T* source, const T* bias, T* out) {
    Correlation<T> c{s.batch, s.groups, s.from, s.to, down.reach, across.reach};
    if (back) std::swap(c.from, c.to);
    for (const int a : {0, 1}) {
        c.first[a] = (a ? across : down).first;
        c.source_size[a] = back ? s.axis[a].out : s.axis[a].in;
        c.out_size[a] = back ? s.axis[a].in : s.axis[a].out;
    }
    c.source = source, c.bias = bias, c.out = out;
    return c;
}

/// What convolve_transpose's part multiplies y with, of w.
template <class T>
const T* gather_weights(const ConvolutionSizes& s, const Correlation<T>& c, const T* w,
                        Scratch& scratch) {
    const int64_t pairs = int64_t(c.first[0].size() * c.first[1].size()), taps = c.taps(),
                  steps = s.to * taps;
    T* const weights = scratch.take<T>(s.groups * c.rows() * steps);
    int64_t* const at = scratch.take<int64_t>(pairs * taps);  // within the kernel
    int64_t* next = at;
    for (int64_t r : c.first[0])
        for (int64_t q : c.first[1])
            for (int64_t u : c.down.offset)
                for (int64_t v : c.across.offset)
                    *next++ = tap_of(s.axis[0], r, u) * s.axis[1].kernel + tap_of(s.axis[1], q, v);
    parallel_each(s.groups * c.rows(), grain_for(steps), [&](int64_t row) {
        const int64_t channel = row / pairs, g = channel / s.from;
        const int64_t* const tap = at + row % pairs * taps;
        const T* kernel = w + (g * s.to * s.from + channel % s.from) * s.taps();
        T* to = weights + row * steps;
        for (int64_t o = 0; o < s.to; ++o, kernel += s.from * s.taps())
            for (int64_t k = 0; k < taps; ++k) *to++ = kernel[tap[k]];
    });
    return weights;
}

/// out[n] = bias + w·x[n], w (m×k).
template <class T>
void multiply_planes(int64_t batch, int64_t m, int64_t k, int64_t plane, MatrixView<const T> w,
                     const T* x, const T* bias, T* out) {
    std::vector<int64_t> at_w(size_t(batch), 0), at_x, at_out;
    for (int64_t n = 0; n < batch; ++n)
        at_x.push_back(n * k * plane), at_out.push_back(n * m * plane);
    if (bias) fill_planes(batch * m, m, plane, bias, out);
    gemm_batched<T>(batch, m, plane, k, w, at_w.data(), {x, plane, 1}, at_x.data(), {out, plane, 1},
                    at_out.data(), bias != nullptr);
}

}  // namespace

template <class T>
void convolve(const ConvolutionSizes& s, const T* x, const T* w, const T* bias, T* y) {
    if (s.is_product())
        return multiply_planes<T>(s.batch, s.to, s.from, s.in(), {w, s.from, 1}, x, bias, y);
    const Alike down{forward_reach(s.axis[0]), {0}}, across{forward_reach(s.axis[1]), {0}};
    Correlation<T> c = correlation(s, false, down, across, x, bias, y);
    c.weights = w;
    part_line(c);
    if (s.from == 1 && s.to == 1) return correlate_planes<T>({&c, 1});
    correlate(c);
}

template <class T>
void convolve_transpose(const ConvolutionSizes& s, const T* y, const T* w, const T* bias, T* x) {
    if (s.is_product())
        return multiply_planes<T>(s.batch, s.from, s.to, s.in(), {w, 1, s.from}, y, bias, x);
    const int64_t remainders =
        std::min(s.axis[0].stride, s.axis[0].in) * std::min(s.axis[1].stride, s.axis[1].in);
    if (s.to == 0)
        return fill_planes(s.batch * s.groups * s.from, s.groups * s.from, s.in(), bias, x);
    std::vector<Alike> downs = alike(s.axis[0]), acrosses = alike(s.axis[1]);
    // One plane to one plane; but many outputs that read alike are better rows of a product.
    const bool planes =
        s.from == 1 && s.to == 1 && (remainders <= 16 || downs.size() * acrosses.size() > 1);
    if (planes) downs = apart(s.axis[0]), acrosses = apart(s.axis[1]);
    Scratch scratch;
    std::vector<Correlation<T>> parts;
    int64_t read = 0;
    for (const Alike& down : downs)
        for (const Alike& across : acrosses) {
            Correlation<T> c = correlation(s, true, down, across, y, bias, x);
            // Windows side by side, or of one channel's row a whole number of strides: rows in the order of the kernel's
            // taps.
            c.turned = s.axis[0].dilation * s.axis[1].dilation == 1 &&
                       c.rows() * c.taps() == s.from * s.taps() &&
                       (c.taps() == 1 || (s.from == 1 && s.axis[0].kernel == 1));
            // And one row of all taps has them in order.
            c.weights = c.turned || (s.from == 1 && c.taps() == s.taps())
                            ? w
                            : gather_weights(s, c, w, scratch);
            read += int64_t(down.first.size() * across.first.size());
            parts.push_back(std::move(c));
        }
    // The planes' parts are written by turns, which lines have only alone.
    for (Correlation<T>& c : parts)
        if (!planes || parts.size() == 1) part_line(c);
    if (planes) return correlate_planes<T>(parts);
    const int64_t channels = s.groups * s.from;
    if (read < remainders) fill_planes(s.batch * channels, channels, s.in(), bias, x);
    for (const Correlation<T>& c : parts) correlate(c);
}

MERCER_F32_F64(convolve)
MERCER_F32_F64(convolve_transpose)

}  // namespace cpu
}  // namespace mercer
