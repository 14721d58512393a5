#include "tests/cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/registry.h"
#include "engine/random.h"
#include "tests/support/pointwise_oracle.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;
using Vars = std::span<const Var>;
using Naives = std::span<const Naive>;

const char* layout_name(Layout layout) {
    constexpr const char* names[] = {"dense", "transposed", "stepped", "reversed", "expanded"};
    return names[int(layout)];
}

std::string describe(const std::string& operation, const std::vector<Input>& inputs) {
    std::string text = operation;
    for (const Input& i : inputs) {
        text += " " + to_string(i.shape);
        if (i.layout != Layout::dense) text += std::string(" ") + layout_name(i.layout);
    }
    return text;
}

// ---- pointwise, from the registry
// --------------------------------------------------------------------

Var call(const std::string& name, Vars x) {
#define STRUCTURAL(...)
#define CALL_1(function) function(x[0])
#define CALL_2(function) function(x[0], x[1])
#define POINTWISE(function, formula, arity, ...) \
    if (name == #function) return CALL_##arity(function);
#include "engine/ops/ops.def"
#undef POINTWISE
#undef STRUCTURAL
    throw std::logic_error("unknown operation " + name);
}

Domain domain_of(std::string_view text) {
    return text == "positive"  ? Domain::positive
           : text == "nonzero" ? Domain::nonzero
                               : Domain::any;
}

Case pointwise_case(const OperationInfo& info, std::vector<Input> inputs) {
    const std::string name(info.name);
    for (Input& i : inputs) i.domain = domain_of(info.domain);
    return {
        describe(name, inputs),
        inputs,
        [name](Vars x) { return call(name, x); },
        [name](Naives x) {
            Naive y =
                oracle::make(x.size() > 1 ? oracle::joint(x[0].shape, x[1].shape) : x[0].shape);
            each(y.shape, [&](const Shape& i, size_t p) {
                double at[2];
                for (size_t k = 0; k < x.size(); ++k) at[k] = double(oracle::broadcast(x[k], i));
                y.at[p] = oracle::pointwise(name, std::span(at, x.size()));
            });
            return y;
        },
        name == "gelu" ? 64.0 : 6.0,  // 1 + erf cancels left of 0: gelu's error is one of eps·|x|
        false};
}

void add_pointwise(std::vector<Case>& list, bool big) {
    for (const OperationInfo& info : operations()) {
        if (!info.pointwise) continue;
        const int arity = pointwise_arity(*info.pointwise);
        if (big) {
            if (arity == 1)
                for (const Input& i : {Input{{40001}}, Input{{211, 193}, Layout::transposed}})
                    list.push_back(pointwise_case(info, {i}));
            else
                list.push_back(pointwise_case(info, {{{211, 193}}, {{193}}}));
        } else if (arity == 1) {
            for (const Shape& s : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{8}, Shape{9},
                                   Shape{17}, Shape{33}, Shape{3, 5}, Shape{2, 1, 4}})
                list.push_back(pointwise_case(info, {{s}}));
            for (Layout l :
                 {Layout::transposed, Layout::stepped, Layout::reversed, Layout::expanded})
                list.push_back(pointwise_case(info, {{{3, 9}, l}}));
        } else {
            for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{}, {}},
                                                                           {{0}, {1}},
                                                                           {{1}, {1}},
                                                                           {{7}, {}},
                                                                           {{8}, {8}},
                                                                           {{9}, {1}},
                                                                           {{17}, {17}},
                                                                           {{33}, {33}},
                                                                           {{3, 1}, {1, 5}},
                                                                           {{5}, {3, 5}},
                                                                           {{2, 3, 4}, {3, 1}}})
                list.push_back(pointwise_case(info, {{a}, {b}}));
            for (Layout l :
                 {Layout::transposed, Layout::stepped, Layout::reversed, Layout::expanded})
                list.push_back(pointwise_case(info, {{{3, 9}, l}, {{3, 9}}}));
        }
    }
}

// ---- layout
// ------------------------------------------------------------------------------------------

Naive moved(const Naive& x, const Shape& shape, const std::function<Shape(const Shape&)>& source) {
    Naive y = oracle::make(shape);
    each(shape,
         [&](const Shape& i, size_t p) { y.at[p] = x.at[oracle::place(x.shape, source(i))]; });
    return y;
}

void add_layout(std::vector<Case>& list) {
    for (Layout l : {Layout::dense, Layout::transposed, Layout::reversed}) {
        const std::vector<Input> in{{{4, 6}, l}};
        list.push_back({describe("reshape", in), in,
                        [](Vars x) {
                            return reshape(x[0], {2, -1, 3});
                        },
                        [](Naives x) {
                            return Naive{{2, 4, 3}, x[0].at};
                        }});
        list.push_back(
            {describe("permute", in), in,
             [](Vars x) {
                 return permute(x[0], {1, 0}) * 1.0;
             },
             [](Naives x) {
                 return moved(x[0], {6, 4}, [](const Shape& i) { return Shape{i[1], i[0]}; });
             }});
        list.push_back({describe("cast", in), in,
                        [](Vars x) {
                            return cast(x[0], x[0].dtype() == DType::f64 ? DType::f64 : DType::f64);
                        },
                        [](Naives x) { return x[0]; }});
        for (const auto& [begin, end, step] : std::vector<std::array<int64_t, 3>>{
                 {0, 6, 1}, {1, 5, 2}, {-1, -7, -2}, {4, 1, -1}, {2, 2, 1}}) {
            list.push_back(
                {describe("slice " + std::to_string(begin) + ":" + std::to_string(end) + ":" +
                              std::to_string(step),
                          in),
                 in, [=](Vars x) { return slice(x[0], 1, begin, end, step); },
                 [=](Naives x) {
                     std::vector<int64_t> columns;
                     const int64_t b = begin < 0 ? begin + 6 : begin, e = end < 0 ? end + 6 : end;
                     for (int64_t j = b; step > 0 ? j < e : j > e; j += step) columns.push_back(j);
                     return moved(x[0], {4, int64_t(columns.size())}, [&](const Shape& i) {
                         return Shape{i[0], columns[size_t(i[1])]};
                     });
                 }});
        }
        list.push_back({describe("unslice", in), in,
                        [](Vars x) {
                            return unslice(x[0], {4, 14}, 1, 12, -2);
                        },
                        [](Naives x) {
                            Naive y = oracle::make({4, 14});
                            each(x[0].shape, [&](const Shape& i, size_t p) {
                                y.at[oracle::place(y.shape, {i[0], 12 - 2 * i[1]})] = x[0].at[p];
                            });
                            return y;
                        }});
        list.push_back(
            {describe("broadcast_to", in), in,
             [](Vars x) {
                 return broadcast_to(reshape(x[0], {4, 1, 6}), {2, 4, 3, 6}) * 1.0;
             },
             [](Naives x) {
                 return moved(x[0], {2, 4, 3, 6}, [](const Shape& i) { return Shape{i[1], i[3]}; });
             }});
        list.push_back({describe("sum_to", in), in,
                        [](Vars x) {
                            return sum_to(x[0], {1, 6});
                        },
                        [](Naives x) {
                            Naive y = oracle::make({1, 6});
                            each(x[0].shape, [&](const Shape& i, size_t p) {
                                y.at[size_t(i[1])] += x[0].at[p];
                            });
                            return y;
                        }});
        list.push_back({describe("where", in), in,
                        [](Vars x) {
                            Tensor mask = Tensor::full({6}, 0, DType::boolean);
                            mask.mutable_data<bool>()[1] = mask.mutable_data<bool>()[4] = true;
                            return where(mask, x[0], slice(x[0], 0, 0, 1));
                        },
                        [](Naives x) {
                            return moved(x[0], {4, 6}, [](const Shape& i) {
                                return i[1] == 1 || i[1] == 4 ? i : Shape{0, i[1]};
                            });
                        }});
    }
    const std::vector<Input> three{{{2, 3}}, {{2, 0}}, {{2, 4}, Layout::transposed}};
    list.push_back({describe("concat", three), three, [](Vars x) { return concat(x, 1); },
                    [](Naives x) {
                        Naive y = oracle::make({2, 7});
                        each(y.shape, [&](const Shape& i, size_t p) {
                            y.at[p] = i[1] < 3 ? x[0].at[size_t(i[0] * 3 + i[1])]
                                               : x[2].at[size_t(i[0] * 4 + i[1] - 3)];
                        });
                        return y;
                    }});
    const std::vector<Input> rows{{{5, 3}}};
    const Tensor picks = Tensor::from(std::vector<int64_t>{4, 0, 4, 2}, {4, 1});
    list.push_back({describe("gather rows", rows), rows,
                    [picks](Vars x) { return gather(x[0], picks, 0); },
                    [](Naives x) {
                        return moved(x[0], {4, 3}, [](const Shape& i) {
                            constexpr int64_t pick[] = {4, 0, 4, 2};
                            return Shape{pick[i[0]], i[1]};
                        });
                    }});
    const Tensor each_own =
        Tensor::from(std::vector<int64_t>{2, 0, 1, 1, 2, 2, 0, 0, 1, 2}, {5, 2});
    list.push_back({describe("gather along 1", rows), rows,
                    [each_own](Vars x) { return gather(x[0], each_own, 1); },
                    [](Naives x) {
                        return moved(x[0], {5, 2}, [](const Shape& i) {
                            constexpr int64_t pick[] = {2, 0, 1, 1, 2, 2, 0, 0, 1, 2};
                            return Shape{i[0], pick[i[0] * 2 + i[1]]};
                        });
                    }});
    const std::vector<Input> four{{{4, 3}}};
    list.push_back({describe("scatter_add", four), four,
                    [picks](Vars x) { return scatter_add(x[0], picks, 0, 6); },
                    [](Naives x) {
                        Naive y = oracle::make({6, 3});
                        constexpr int64_t pick[] = {4, 0, 4, 2};
                        each(x[0].shape, [&](const Shape& i, size_t p) {
                            y.at[oracle::place(y.shape, {pick[i[0]], i[1]})] += x[0].at[p];
                        });
                        return y;
                    }});
}

// ---- reductions and rows
// --------------------------------------------------------------------------------

Naive reduced(const Naive& x, unsigned axes, bool keep, Real start,
              const std::function<Real(Real, Real)>& join) {
    Shape kept = x.shape, shape = x.shape;
    for (int a = x.shape.rank() - 1; a >= 0; --a)
        if (axes & (1u << a)) {
            kept[a] = 1;
            if (keep)
                shape[a] = 1;
            else
                shape.erase(a);
        }
    Naive y{shape, std::vector<Real>(size_t(oracle::total(kept)), start)};
    each(x.shape, [&](const Shape& i, size_t p) {
        Shape j = i;
        for (int a = 0; a < j.rank(); ++a)
            if (axes & (1u << a)) j[a] = 0;
        Real& to = y.at[oracle::place(kept, j)];
        to = join(to, x.at[p]);
    });
    return y;
}

void add_reductions(std::vector<Case>& list, const std::vector<Input>& shapes) {
    constexpr Real inf = std::numeric_limits<Real>::infinity();
    for (const Input& in : shapes) {
        const int rank = in.shape.rank();
        for (unsigned axes = 1; axes < (1u << rank); ++axes) {
            std::vector<int> named;
            int64_t n = 1;
            for (int a = 0; a < rank; ++a)
                if (axes & (1u << a)) {
                    named.push_back(a % 2 ? a - rank : a);
                    n *= in.shape[a];
                }
            const bool keep = axes % 2;
            const std::string tag = " axes " + std::to_string(axes);
            const double slack = 4 + 2 * std::sqrt(double(n));
            list.push_back({describe("sum" + tag, {in}),
                            {in},
                            [=](Vars x) { return sum(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, 0,
                                               [](Real a, Real b) { return a + b; });
                            },
                            slack});
            if (n == 0) continue;
            list.push_back({describe("mean" + tag, {in}),
                            {in},
                            [=](Vars x) { return mean(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, 0,
                                               [n](Real a, Real b) { return a + b / Real(n); });
                            },
                            slack});
            list.push_back({describe("max" + tag, {in}),
                            {in},
                            [=](Vars x) { return max(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, -inf,
                                               [](Real a, Real b) { return std::max(a, b); });
                            }});
            list.push_back({describe("min" + tag, {in}),
                            {in},
                            [=](Vars x) { return min(x[0], named, keep); },
                            [=](Naives x) {
                                return reduced(x[0], axes, keep, inf,
                                               [](Real a, Real b) { return std::min(a, b); });
                            }});
        }
    }
}

void add_softmax(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes)
        for (int axis = 0; axis < in.shape.rank(); ++axis)
            list.push_back({describe("softmax axis " + std::to_string(axis), {in}),
                            {in},
                            [axis](Vars x) { return softmax(x[0], axis); },
                            [axis](Naives x) {
                                Naive y = x[0];
                                const Naive top = reduced(
                                    y, 1u << axis, true, -std::numeric_limits<Real>::infinity(),
                                    [](Real a, Real b) { return std::max(a, b); });
                                each(y.shape, [&](const Shape& i, size_t p) {
                                    y.at[p] = std::exp(y.at[p] - oracle::broadcast(top, i));
                                });
                                const Naive z = reduced(y, 1u << axis, true, 0,
                                                        [](Real a, Real b) { return a + b; });
                                each(y.shape, [&](const Shape& i, size_t p) {
                                    y.at[p] /= oracle::broadcast(z, i);
                                });
                                return y;
                            }});
}

void add_matmul(std::vector<Case>& list, const std::vector<std::pair<Input, Input>>& pairs) {
    for (const auto& [a, b] : pairs)
        list.push_back({describe("matmul", {a, b}),
                        {a, b},
                        [](Vars x) { return matmul(x[0], x[1]); },
                        [](Naives x) {
                            Shape sa = x[0].shape, sb = x[1].shape;
                            const bool row = sa.rank() == 1, column = sb.rank() == 1;
                            if (row) sa = {1, sa[0]};
                            if (column) sb = {sb[0], 1};
                            const Naive l{sa, x[0].at}, r{sb, x[1].at};
                            const int64_t m = sa[sa.rank() - 2], k = sa.back(), n = sb.back();
                            Shape batch_a = sa, batch_b = sb;
                            for (int t = 0; t < 2; ++t)
                                batch_a.erase(batch_a.rank() - 1),
                                    batch_b.erase(batch_b.rank() - 1);
                            Shape shape = oracle::joint(batch_a, batch_b);
                            shape.push_back(m);
                            shape.push_back(n);
                            Naive y = oracle::make(shape);
                            each(shape, [&](const Shape& i, size_t p) {
                                Shape left = i, right = i;
                                for (int64_t t = 0; t < k; ++t) {
                                    left[i.rank() - 1] = t;
                                    right[i.rank() - 2] = t;
                                    y.at[p] +=
                                        oracle::broadcast(l, left) * oracle::broadcast(r, right);
                                }
                            });
                            if (column) y.shape.erase(y.shape.rank() - 1);
                            if (row) y.shape.erase(y.shape.rank() - (column ? 1 : 2));
                            return y;
                        },
                        32});
}

}  // namespace

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
