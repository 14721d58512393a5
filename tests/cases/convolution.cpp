// Convolutions: every combination of strides, dilations, groups and paddings that takes another way through the code.
#include <algorithm>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

struct Setting {
    Shape stride{1}, dilation{1}, pads{};
    int64_t groups = 1;
    Padding padding = Padding::valid;
    Shape output_padding{0};
    bool bias = true;
};

int64_t at(const Shape& numbers, int axis) { return numbers[numbers.rank() == 1 ? 0 : axis]; }

// (before, after) of an axis.
std::pair<int64_t, int64_t> ends(const Setting& s, int axis, int axes, int64_t in, int64_t kernel) {
    const Shape& p = s.pads;
    if (s.padding == Padding::same) {
        const int64_t step = at(s.stride, axis), out = (in + step - 1) / step;
        const int64_t all =
            std::max<int64_t>(0, (out - 1) * step + (kernel - 1) * at(s.dilation, axis) + 1 - in);
        return {all / 2, all - all / 2};
    }
    if (p.rank() == 0) return {0, 0};
    if (p.rank() == 2 * axes) return {p[2 * axis], p[2 * axis + 1]};
    return {at(p, axis), at(p, axis)};
}

// Visits every (output, input, weight) that meet, as places; y is the convolution's result.
template <class F>
void meet(const Setting& s, const Shape& x, const Shape& w, const Shape& y, F f) {
    const int axes = x.rank() - 2;
    const int64_t to = w[0] / s.groups;
    each(y, [&](const Shape& i, size_t p) {
        each(w, [&](const Shape& k, size_t q) {
            if (k[0] != i[1]) return;
            Shape j = i;
            j[1] = i[1] / to * w[1] + k[1];
            for (int a = 0; a < axes; ++a) {
                j[2 + a] = i[2 + a] * at(s.stride, a) + k[2 + a] * at(s.dilation, a) -
                           ends(s, a, axes, x[2 + a], w[2 + a]).first;
                if (j[2 + a] < 0 || j[2 + a] >= x[2 + a]) return;
            }
            f(p, oracle::place(x, j), q);
        });
    });
}

Naive start(const Shape& shape, Naives x) {
    Naive y = oracle::make(shape);
    if (x.size() > 2)
        each(shape, [&](const Shape& i, size_t p) { y.at[p] = x[2].at[size_t(i[1])]; });
    return y;
}

Naive convolved(const Setting& s, Naives in) {
    const Shape &x = in[0].shape, &w = in[1].shape;
    Shape shape = x;
    shape[1] = w[0];
    for (int a = 0; a + 2 < x.rank(); ++a) {
        const auto [before, after] = ends(s, a, x.rank() - 2, x[2 + a], w[2 + a]);
        shape[2 + a] =
            (x[2 + a] + before + after - (w[2 + a] - 1) * at(s.dilation, a) - 1) / at(s.stride, a) +
            1;
    }
    Naive y = start(shape, in);
    meet(s, x, w, shape,
         [&](size_t p, size_t j, size_t q) { y.at[p] += in[0].at[j] * in[1].at[q]; });
    return y;
}

Naive spread(const Setting& s, Naives in) {
    const Shape &y = in[0].shape, &w = in[1].shape;
    Shape shape = y;
    shape[1] = w[1] * s.groups;
    for (int a = 0; a + 2 < y.rank(); ++a) {
        const auto [before, after] = ends(s, a, y.rank() - 2, 0, 0);
        shape[2 + a] = (y[2 + a] - 1) * at(s.stride, a) - before - after +
                       (w[2 + a] - 1) * at(s.dilation, a) + 1 + at(s.output_padding, a);
    }
    Naive x = start(shape, in);
    meet(s, shape, w, y,
         [&](size_t p, size_t j, size_t q) { x.at[j] += in[0].at[p] * in[1].at[q]; });
    return x;
}

std::string options(const Setting& s) {
    std::string text;
    if (!(s.stride == Shape{1})) text += " stride " + to_string(s.stride);
    if (!(s.dilation == Shape{1})) text += " dilation " + to_string(s.dilation);
    if (s.pads.rank()) text += " pads " + to_string(s.pads);
    if (s.groups > 1) text += " groups " + std::to_string(s.groups);
    if (s.padding == Padding::same) text += " same";
    return text;
}

struct Given {
    Input x, w;
    Setting set = {};
};

void convolutions(std::vector<Case>& list, const std::vector<Given>& all) {
    for (const auto& [x, w, s] : all) {
        std::vector<Input> in{x, w};
        if (s.bias) in.push_back({{w.shape[0]}});
        const bool one = x.shape.rank() == 3;
        list.push_back({describe(one ? "conv1d" : "conv2d", in) + options(s), in,
                        [s = s, one](Vars v) {
                            const Var bias = v.size() > 2 ? v[2] : Var();
                            return one ? conv1d(v[0], v[1], bias, s.stride[0], s.padding,
                                                s.dilation[0], s.groups, s.pads)
                                       : conv2d(v[0], v[1], bias, s.stride, s.padding, s.dilation,
                                                s.groups, s.pads);
                        },
                        [s = s](Naives v) { return convolved(s, v); }, 32});
    }
}

void transposed(std::vector<Case>& list, const std::vector<Given>& all) {
    for (const auto& [x, w, s] : all) {
        std::vector<Input> in{x, w};
        if (s.bias) in.push_back({{w.shape[1] * s.groups}});
        const bool one = x.shape.rank() == 3;
        list.push_back(
            {describe(one ? "conv_transpose1d" : "conv_transpose2d", in) + options(s), in,
             [s = s, one](Vars v) {
                 const Var bias = v.size() > 2 ? v[2] : Var();
                 return one ? conv_transpose1d(v[0], v[1], bias, s.stride[0], s.pads, s.dilation[0],
                                               s.groups, s.output_padding[0])
                            : conv_transpose2d(v[0], v[1], bias, s.stride, s.pads, s.dilation,
                                               s.groups, s.output_padding);
             },
             [s = s](Naives v) { return spread(s, v); }, 32});
    }
}

// Windows of x: the largest, or the sum over the count.
struct Window {
    Input x;
    Shape kernel, stride = {};
    Shape pads = {};
    bool include = true;
};

Naive pooled(const Window& p, bool largest, const Naive& x) {
    const int axes = x.shape.rank() - 2;
    Setting s{.stride = p.stride.rank() ? p.stride : p.kernel, .pads = p.pads};
    Shape w{x.shape[1], x.shape[1]}, shape = x.shape;  // one plane to one plane
    for (int a = 0; a < axes; ++a) {
        w.push_back(at(p.kernel, a));
        const auto [before, after] = ends(s, a, axes, x.shape[2 + a], 0);
        shape[2 + a] = (x.shape[2 + a] + before + after - w[2 + a]) / at(s.stride, a) + 1;
    }
    w[1] = 1;
    s.groups = x.shape[1];
    Naive y = oracle::make(shape), hits = oracle::make(shape);
    meet(s, x.shape, w, shape, [&](size_t i, size_t j, size_t) {
        const Real old = y.at[i];
        y.at[i] = !largest ? old + x.at[j] : hits.at[i] == 0 || x.at[j] > old ? x.at[j] : old;
        hits.at[i] += 1;
    });
    const Real all = Real(count(w)) / Real(w[0]);
    for (size_t i = 0; i < y.at.size() && !largest; ++i) y.at[i] /= p.include ? all : hits.at[i];
    return y;
}

void pools(std::vector<Case>& list, const std::vector<Window>& all) {
    for (const Window& p : all)
        for (const bool largest : {true, false}) {
            const bool one = p.x.shape.rank() == 3;
            const int64_t stride = p.stride.rank() ? p.stride[0] : 0;
            list.push_back(
                {describe(std::string(largest ? "max" : "avg") + (one ? "_pool1d" : "_pool2d"),
                          {p.x}) +
                     " kernel " + to_string(p.kernel) +
                     options({.stride = p.stride, .pads = p.pads}),
                 {p.x},
                 [=](Vars v) {
                     if (one)
                         return largest ? max_pool1d(v[0], p.kernel[0], stride, p.pads)
                                        : avg_pool1d(v[0], p.kernel[0], stride, p.pads, p.include);
                     return largest ? max_pool2d(v[0], p.kernel, p.stride, p.pads)
                                    : avg_pool2d(v[0], p.kernel, p.stride, p.pads, p.include);
                 },
                 [=](Naives v) { return pooled(p, largest, v[0]); }});
        }
}

}  // namespace

void add_convolution(std::vector<Case>& list, bool big) {
    const Padding same = Padding::same;
    if (big) {
        convolutions(list,
                     {{{{3, 70, 67}}, {{33, 70, 5}}, {.padding = same}},
                      {{{2, 17, 29, 31}}, {{40, 17, 3, 3}}, {.pads = {1}}},
                      {{{2, 17, 29, 31}}, {{40, 17, 3, 2}}, {.stride = {2, 3}, .dilation = {1, 2}}},
                      {{{2, 64, 9, 9}}, {{48, 64, 1, 1}}, {}},
                      {{{1, 3, 1500}}, {{5, 3, 40}}, {.stride = {2}}},
                      {{{1, 3, 50000}}, {{2, 3, 3}}, {.pads = {2}}},  // several tiles, along
                      {{{1, 64, 48, 48}}, {{3, 64, 2, 2}}, {}},       // and across
                      {{{2, 24, 70, 75}}, {{24, 1, 3, 3}}, {.groups = 24, .padding = same}},
                      {{{2, 24, 30, 35}}, {{24, 1, 5, 5}}, {.stride = {2}, .groups = 24}},
                      {{{2, 8, 9, 40}}, {{8, 1, 5, 5}}, {.groups = 8, .padding = same}},
                      {{{2, 8, 4, 33}}, {{8, 1, 3, 3}}, {.groups = 8}},
                      {{{1, 8, 12, 19}}, {{8, 1, 3, 3}}, {.stride = {1, 3}, .groups = 8}},
                      {{{1, 8, 12, 19}}, {{8, 1, 3, 3}}, {.dilation = {2, 1}, .groups = 8}},
                      {{{2, 32, 20, 20}}, {{36, 8, 3, 3}}, {.groups = 4, .bias = false}}});
        transposed(list, {{{{2, 40, 15, 17}}, {{40, 19, 4, 4}}, {.stride = {2}, .pads = {1}}},
                          {{{3, 70, 67}}, {{70, 33, 5}}, {}},
                          // Remainders that read alike: all, some, and of one plane each.
                          {{{2, 8, 9, 7}}, {{8, 3, 16, 16}}, {.stride = {16}}},
                          {{{2, 8, 9, 7}}, {{8, 3, 16, 9}}, {.stride = {8, 6}, .pads = {3}}},
                          {{{2, 6, 9, 40}}, {{6, 1, 10, 10}}, {.stride = {5}, .groups = 6}}});
        pools(list, {{{{3, 21, 70, 75}}, {3}, {2}, {1}},
                     {{{5, 40, 1003}}, {4}},
                     {{{2, 3, 70, 75}}, {7}},
                     {{{2, 3, 70, 75}}, {70, 75}}});
        return;
    }
    convolutions(
        list,
        {{{{1, 1, 1}}, {{1, 1, 1}}},
         {{{2, 3, 9}}, {{4, 3, 3}}},
         {{{2, 3, 9}}, {{4, 3, 3}}, {.bias = false}},
         {{{2, 3, 9}}, {{4, 3, 4}}, {.padding = same}},
         {{{1, 2, 17}}, {{3, 2, 5}}, {.padding = same}},
         {{{2, 3, 10}}, {{2, 3, 3}}, {.stride = {2}, .padding = same}},
         {{{2, 2, 11}}, {{3, 2, 3}}, {.stride = {3}, .dilation = {2}, .pads = {2, 1}}},
         {{{1, 2, 8}}, {{2, 2, 2}}, {.stride = {4}}},
         {{{1, 2, 5}}, {{2, 2, 3}}, {.stride = {1 << 30}}},
         {{{2, 4, 7}}, {{6, 2, 3}}, {.pads = {1}, .groups = 2}},
         {{{2, 3, 19}}, {{3, 1, 3}}, {.pads = {1}, .groups = 3}},
         {{{2, 3, 7}}, {{6, 1, 3}}, {.groups = 3, .bias = false}},
         {{{2, 3, 9}, Layout::transposed}, {{4, 3, 3}, Layout::transposed}},
         {{{2, 3, 9}, Layout::stepped}, {{2, 3, 3}, Layout::reversed}},
         {{{2, 3, 5}, Layout::expanded}, {{2, 3, 3}}, {.pads = {3}}},
         {{{0, 3, 5}}, {{2, 3, 3}}},
         {{{2, 0, 5}}, {{2, 0, 3}}},
         {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}},
         {{{2, 3, 5, 4}}, {{2, 3, 3, 2}}},
         {{{2, 3, 4, 5}}, {{4, 3, 1, 1}}},
         {{{2, 3, 4, 5}}, {{4, 3, 1, 1}}, {.stride = {2}}},
         {{{1, 2, 5, 6}}, {{3, 2, 3, 3}}, {.padding = same}},
         {{{1, 2, 7, 6}}, {{2, 2, 3, 2}}, {.stride = {2, 1}, .padding = same}},
         {{{1, 2, 8, 7}}, {{2, 2, 3, 2}}, {.stride = {2, 3}, .dilation = {2, 1}, .pads = {1, 0}}},
         {{{2, 2, 3, 5}}, {{2, 2, 2, 3}}, {.pads = {1, 0, 2, 1}}},
         {{{1, 4, 5, 5}}, {{2, 2, 3, 3}}, {.pads = {1}, .groups = 2}},
         {{{2, 3, 6, 18}}, {{3, 1, 3, 3}}, {.pads = {1}, .groups = 3}},
         {{{1, 2, 5, 21}}, {{2, 1, 3, 3}}, {.groups = 2}},
         {{{1, 2, 6, 7}}, {{2, 1, 3, 3}}, {.stride = {2}, .groups = 2, .padding = same}},
         {{{1, 2, 8, 9}}, {{3, 2, 4, 4}}, {.stride = {4}}},
         {{{2, 2, 10, 11}}, {{2, 1, 5, 5}}, {.stride = {5}, .groups = 2}},
         {{{1, 2, 4, 5}, Layout::transposed}, {{2, 2, 2, 2}}}});
    transposed(list,
               {{{{2, 3, 5}}, {{3, 4, 3}}},
                {{{2, 3, 5}}, {{3, 4, 3}}, {.stride = {2}, .pads = {1}, .output_padding = {1}}},
                {{{1, 4, 5}}, {{4, 2, 2}}, {.stride = {3}, .groups = 2, .bias = false}},
                {{{2, 3, 4}}, {{3, 2, 4}}, {.stride = {4}, .pads = {1}}},
                {{{1, 4, 5}}, {{4, 2, 6}}, {.stride = {3}, .groups = 2}},
                {{{2, 2, 2}}, {{2, 3, 2}}, {.stride = {1000}}},
                {{{1, 2, 4, 3}}, {{2, 3, 2, 3}}},
                {{{1, 2, 3, 2}}, {{2, 2, 4, 3}}, {.stride = {4, 3}, .output_padding = {1, 2}}},
                {{{2, 2, 2, 3}}, {{2, 1, 7, 5}}, {.stride = {5}, .groups = 2}},
                {{{1, 2, 3, 4}}, {{2, 2, 3, 3}}, {.stride = {2}, .pads = {1, 0, 1, 1}}},
                {{{1, 2, 3, 3}},
                 {{2, 2, 2, 2}},
                 {.stride = {2, 3}, .dilation = {2, 1}, .output_padding = {0, 2}}},
                {{{2, 3, 3, 4}}, {{3, 1, 3, 3}}, {.stride = {2}, .pads = {1}, .groups = 3}},
                {{{1, 3, 2, 2}}, {{3, 2, 1, 1}}}});
    pools(list, {{{{1, 1, 1}}, {1}},
                 {{{2, 3, 9}}, {2}},
                 {{{2, 3, 9}}, {3}, {1}, {1}},
                 {{{1, 2, 33}}, {5}, {2}, {2}, false},
                 {{{1, 2, 7}}, {7}},
                 {{{1, 2, 6, 5}}, {6, 5}, {9}, {0, 2, 0, 0}},
                 {{{2, 2, 10, 11}}, {5}},
                 {{{1, 2, 5}}, {2}, {1 << 30}},
                 {{{1, 2, 7}, Layout::transposed}, {3}, {2}, {0, 1}},
                 {{{0, 2, 7}}, {3}},
                 {{{2, 2, 4, 6}}, {2}},
                 {{{1, 2, 7, 5}}, {3, 2}},
                 {{{1, 2, 5, 7}}, {3}, {2}, {1}},
                 {{{1, 2, 5, 7}}, {3, 2}, {1, 3}, {1, 0}, false},
                 {{{1, 2, 4, 9}}, {2, 3}, {2, 1}, {1, 0, 2, 1}, false},
                 {{{2, 2, 3, 4}, Layout::reversed}, {3, 1}}});
}

}  // namespace cases
