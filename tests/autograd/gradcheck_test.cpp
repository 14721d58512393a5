// Every operation's first and second derivative against stencils.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "autograd/call.h"
#include "autograd/gradcheck.h"
#include "tests/cases.h"

using namespace mercer;

namespace {

std::string operation_of(const cases::Case& c) { return c.name.substr(0, c.name.find(' ')); }

// Why a case of an operation that has a derivative is not checked; empty: there is no such reason.
std::string reason(const cases::Case& c, const std::string& operation) {
    const auto says = [&](std::string_view word) { return c.name.find(word) != std::string::npos; };
    const auto is = [&](std::initializer_list<std::string_view> names) {
        return std::ranges::find(names, operation) != names.end();
    };
    if (says(" of i") || says(" of bool")) return "integers";
    if (is({"ceil", "floor", "round", "sign", "trunc"})) return "arguments on a step";
    if (is({"sort", "topk", "max", "min", "cummax", "cummin"}))
        return "ties, NaN, close neighbours, or indices as results";
    if (operation == "entmax" && says("alpha 2.5")) return "arguments at the edge of the support";
    if (operation == "norm_p" && says(" far ")) return "arguments beyond a stencil's reach";
    return {};
}

}  // namespace

TEST_CASE("first derivatives to 1e-6 and second derivatives to 1e-7, over the whole list") {
    double first = 0, second = 0;
    size_t checked = 0, constant = 0;
    std::map<std::string, int> cases_of;
    std::map<std::string, std::map<std::string, int>> left_out;
    for (const cases::Case& c : cases::small()) {
        const std::string operation = operation_of(c);
        if (!c.differentiable) {
            if (!callable(operation).differentiable) {
                ++constant;
                continue;
            }
            const std::string why = reason(c, operation);
            CHECK_MESSAGE(!why.empty(), c.name, " is not checked, and nobody says why");
            ++left_out[why][operation];
            continue;
        }
        ++checked;
        ++cases_of[operation];
        const std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        const GradcheckReport report =
            gradcheck([&](std::span<const Var> x) { return c.f(x); }, inputs);
        CHECK_MESSAGE(report.ok, c.name, ": ", report.failure);
        first = std::max(first, report.first_error);
        second = std::max(second, report.second_error);
    }
    for (const Callable& f : callables())
        if (f.differentiable && !MERCER_EMULATED)  // there a part of the cases runs
            CHECK_MESSAGE(cases_of[std::string(f.info->name)] > 0, std::string(f.info->name),
                          " has a derivative and no case that checks it");
    MESSAGE(checked << " cases of " << cases_of.size() << " operations, and " << constant
                    << " of functions without a derivative; largest relative error: first order "
                    << first << ", second order " << second);
    for (const auto& [why, operations] : left_out) {
        std::ostringstream text;
        for (const auto& [operation, n] : operations) text << ' ' << operation << ' ' << n;
        MESSAGE("not checked at " << why << ":" << text.str());
    }
}
