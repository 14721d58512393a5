#include "engine/cpu/convolution.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/cpu/correlation.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/gemm.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_DISPATCH(cpu::ConvolutionTable<float>, convolution_f32)
MERCER_DISPATCH(cpu::ConvolutionTable<double>, convolution_f64)

namespace cpu {
namespace {

/// in[first + t·stride] is read by out[t + (first + before − k·dilation)/stride] where that is whole.
Reach transposed_reach(const ConvolutionAxis& a, int64_t first) {
    Reach r{first, a.stride, (a.in - first + a.stride - 1) / a.stride, 1, {}, {}};
    for (int64_t k = 0; k < a.kernel; ++k)
        if (const int64_t at = first + a.before - k * a.dilation; at % a.stride == 0)
            r.tap.push_back(k), r.offset.push_back(at / a.stride);
    return r;
}

/// out[n] = bias + w·x[n], w (m×k).
template <class T>
void multiply_planes(int64_t batch, int64_t m, int64_t k, int64_t plane, MatrixView<const T> w,
                     const T* x, const T* bias, T* out) {
    std::vector<int64_t> at_w(size_t(batch), 0), at_x, at_out;
    for (int64_t n = 0; n < batch; ++n)
        at_x.push_back(n * k * plane), at_out.push_back(n * m * plane);
    if (bias)
        parallel_each(batch * m, grain_for(plane / 8 + 1),
                      [&](int64_t i) { std::fill_n(out + i * plane, plane, bias[i % m]); });
    gemm_batched<T>(batch, m, plane, k, w, at_w.data(), {x, plane, 1}, at_x.data(), {out, plane, 1},
                    at_out.data(), bias != nullptr);
}

}  // namespace

template <class T>
void convolve(const ConvolutionSizes& s, const T* x, const T* w, const T* bias, T* y) {
    if (s.is_product())
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
    if (s.is_product())
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

#define MERCER_CONVOLUTION(T)                                                             \
    template void convolve<T>(const ConvolutionSizes&, const T*, const T*, const T*, T*); \
    template void convolve_transpose<T>(const ConvolutionSizes&, const T*, const T*, const T*, T*);
MERCER_CONVOLUTION(float)
MERCER_CONVOLUTION(double)
#undef MERCER_CONVOLUTION

}  // namespace cpu
}  // namespace mercer
