// Pointwise operations, from the registry.
#include "engine/cpu/pointwise.h"
#include "engine/ops/registry.h"
#include "tests/cases/families.h"
#include "tests/support/pointwise_oracle.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

Var call(const std::string& name, Vars x) {
#define FUNCTION(...)
#define CALL_1(function) function(x[0])
#define CALL_2(function) function(x[0], x[1])
#define CALL_3(function) function(x[0], x[1], x[2])
#define POINTWISE(function, formula, arity, ...) \
    if (name == #function) return CALL_##arity(function);
#include "engine/ops/ops.def"
#undef POINTWISE
#undef FUNCTION
    throw std::logic_error("unknown operation " + name);
}

Domain domain_of(std::string_view text) {
    return text == "positive"      ? Domain::positive
           : text == "nonzero"     ? Domain::nonzero
           : text == "unit"        ? Domain::unit
           : text == "correlation" ? Domain::correlation
           : text == "beyond"   ? Domain::beyond
                                   : Domain::any;
}

bool loose(std::string_view source) {
    return source.find("incomplete") != source.npos || source.find("bivariate") != source.npos;
}

Case pointwise_case(const OperationInfo& info, std::vector<Input> inputs) {
    const std::string name(info.name);
    std::string_view domains = info.domain;  // one for each input, or one for all
    for (Input& i : inputs) {
        const size_t word = domains.find(' ');
        i.domain = domain_of(domains.substr(0, word));
        if (word != std::string_view::npos) domains.remove_prefix(word + 1);
    }
    return {describe(name, inputs), inputs, [name](Vars x) { return call(name, x); },
            [name](Naives x) {
                Shape shape = x[0].shape;
                for (const Naive& n : x) shape = oracle::joint(shape, n.shape);
                Naive y = oracle::make(shape);
                each(y.shape, [&](const Shape& i, size_t p) {
                    double at[3];
                    for (size_t k = 0; k < x.size(); ++k)
                        at[k] = double(oracle::broadcast(x[k], i));
                    y.at[p] = oracle::pointwise(name, std::span(at, x.size()));
                });
                return y;
            },
            // Left of 0 gelu's error is one of eps·|x|, Φ₂'s one of eps; special_test has those and
            // the incomplete functions to their own bounds.
            name == "gelu" || loose(info.source) ? 64.0 : 6.0, false,
            pointwise_needs(*info.pointwise) != 0};  // steps: cases/rounding.cpp
}

}  // namespace

void add_pointwise(std::vector<Case>& list, bool big) {
    for (const OperationInfo& info : operations()) {
        if (!info.pointwise) continue;
        const int arity = info.pointwise->kernels().arity;
        const auto add = [&](std::vector<Input> inputs) {
            if (arity == 3) inputs.push_back(inputs[0]);
            Case c = pointwise_case(info, inputs);
            for (Input& i : c.inputs)
                if (big && i.domain == Domain::correlation) i.domain = Domain::strong;
            list.push_back(c);
        };
        if (big) {
            const bool dear = info.source.find("incomplete") != info.source.npos;
            if (arity == 1)
                for (const Input& i : {Input{{40001}}, Input{{211, 193}, Layout::transposed}})
                    list.push_back(pointwise_case(info, {i}));
            else
                add(dear ? std::vector<Input>{{{61, 67}}, {{67}}}
                         : std::vector<Input>{{{211, 193}}, {{193}}});
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
                add({{a}, {b}});
            for (Layout l :
                 {Layout::transposed, Layout::stepped, Layout::reversed, Layout::expanded})
                add({{{3, 9}, l}, {{3, 9}}});
        }
    }
}

}  // namespace cases
