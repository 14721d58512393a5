#include "tests/cases.h"

#include <limits>

#include "engine/random.h"
#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;

const char* layout_name(Layout layout) {
    constexpr const char* names[] = {"dense", "transposed", "stepped", "reversed", "expanded"};
    return names[int(layout)];
}

}  // namespace

std::string describe(const std::string& operation, const std::vector<Input>& inputs) {
    std::string text = operation;
    for (const Input& i : inputs) {
        text += " " + to_string(i.shape);
        if (i.layout != Layout::dense) text += std::string(" ") + layout_name(i.layout);
    }
    return text;
}

std::vector<Tensor> make_inputs(const Case& c, DType dtype, uint64_t seed) {
    std::vector<Tensor> out;
    for (size_t k = 0; k < c.inputs.size(); ++k) {
        const Input& in = c.inputs[k];
        Shape base = in.shape;
        const int last = base.rank() - 1;
        if (in.layout == Layout::transposed) std::swap(base[last], base[last - 1]);
        if (in.layout == Layout::stepped) base[last] *= 2;
        if (in.layout == Layout::expanded) base[last] = 1;
        Tensor t = randn(Key{seed, k}, base, DType::f64);
        if (in.domain == Domain::positive) t = abs(t) * 0.5 + 0.25;
        if (in.domain == Domain::nonzero) t = where(equal(t, abs(t)), t + 0.25, t - 0.25);
        t = cast(t, dtype);
        if (in.layout == Layout::transposed) t = t.transposed();
        if (in.layout == Layout::stepped) t = slice(t, -1, 0, base[last], 2);
        if (in.layout == Layout::reversed)
            t = slice(t, -1, -1, std::numeric_limits<int64_t>::min(), -1);
        if (in.layout == Layout::expanded) t = broadcast_to(t, in.shape);
        out.push_back(t);
    }
    return out;
}

const std::vector<Case>& small() {
    static const std::vector<Case> list = [] {
        std::vector<Case> all;
        add_pointwise(all, false);
        add_layout(all);
        add_reductions(all, {{{0}},
                             {{1}},
                             {{7}},
                             {{8}},
                             {{9}},
                             {{65}},
                             {{3, 5}},
                             {{5, 3}, Layout::transposed},
                             {{2, 3, 4}},
                             {{2, 3, 4}, Layout::stepped},
                             {{3, 0}}});
        add_softmax(all, {{{1}},
                          {{7}},
                          {{17}},
                          {{33}},
                          {{3, 5}},
                          {{5, 3}, Layout::transposed},
                          {{2, 3, 4}},
                          {{3, 4}, Layout::expanded},
                          {{0, 3}}});
        add_matmul(all, {{{{1, 1}}, {{1, 1}}},
                         {{{3, 4}}, {{4, 5}}},
                         {{{3, 4}, Layout::transposed}, {{4, 5}, Layout::transposed}},
                         {{{7}}, {{7}}},
                         {{{3, 7}}, {{7}}},
                         {{{7}}, {{7, 3}}},
                         {{{2, 3, 4}}, {{4, 5}}},
                         {{{2, 3, 4}}, {{2, 4, 2}}},
                         {{{3, 4}}, {{2, 4, 2}}},
                         {{{2, 1, 3, 4}}, {{3, 4, 2}}},
                         {{{3, 0}}, {{0, 2}}},
                         {{{3, 4}, Layout::stepped}, {{4, 3}, Layout::reversed}},
                         {{{9, 8}}, {{8, 17}}},
                         {{{2, 3, 4}, Layout::expanded}, {{4, 2}}}});
        return all;
    }();
    return list;
}

const std::vector<Case>& large() {
    static const std::vector<Case> list = [] {
        std::vector<Case> all;
        add_pointwise(all, true);
        add_reductions(all, {{{50001}},
                             {{301, 257}},
                             {{301, 257}, Layout::transposed},
                             {{17, 129, 33}},
                             {{20000, 3}}});
        add_softmax(all, {{{211, 517}}, {{97, 1031}, Layout::transposed}});
        add_matmul(all, {{{{129, 257}}, {{257, 131}}},
                         {{{300, 300}, Layout::transposed}, {{300, 300}}},
                         {{{6, 65, 33}}, {{6, 33, 70}}},
                         {{{1, 500}}, {{500, 333}}},
                         {{{8, 100, 8}}, {{8, 8, 100}}},
                         {{{70, 1500}}, {{1500, 20}}}});
        return all;
    }();
    return list;
}

}  // namespace cases
