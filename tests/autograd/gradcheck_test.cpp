// Every operation's first and second derivative against stencils.
#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "tests/cases.h"

using namespace mercer;

TEST_CASE("first derivatives to 1e-6 and second derivatives to 1e-7, over the whole list") {
    double first = 0, second = 0;
    size_t checked = 0, constant = 0;
    for (const cases::Case& c : cases::small()) {
        if (!c.differentiable) {
            ++constant;
            continue;
        }
        ++checked;
        const std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        const GradcheckReport report =
            gradcheck([&](std::span<const Var> x) { return c.f(x); }, inputs);
        CHECK_MESSAGE(report.ok, c.name, ": ", report.failure);
        first = std::max(first, report.first_error);
        second = std::max(second, report.second_error);
    }
    MESSAGE(checked << " cases, and " << constant
                    << " of functions without a derivative; largest relative error: first order "
                    << first << ", second order " << second);
}
