// Operands that lie scattered in memory, NaN between their elements: values and gradients as of dense ones.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/case_results.h"

using namespace mercer;

namespace {

// The same numbers, each followed by NaN; `turned`: the last axis but one lies along memory.
Tensor scattered(const Tensor& x, bool turned) {
    if (x.rank() == 0 || x.rank() == Dims::max_rank || !is_floating(x.dtype())) return x;
    if (turned && x.rank() > 1) return transpose(scattered(transpose(x), false));
    Shape twice = x.shape();
    twice[x.rank() - 1] *= 2;
    const Tensor gaps =
        Tensor::full(x.shape(), std::numeric_limits<double>::quiet_NaN(), x.dtype());
    const Tensor both[] = {x, gaps};
    return slice(reshape(stack(both, -1), twice), -1, 0, twice[x.rank() - 1], 2);
}

// "" if they agree up to rounding: by layout a product may be summed in lanes, and a variance in parts (gemm.h, reduce.h).
std::string apart(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return "another shape or dtype";
    const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
    double largest = 1;
    for (double v : x)
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    for (size_t i = 0; i < x.size(); ++i)
        if (!(std::abs(x[i] - y[i]) <= 1e-11 * largest) && x[i] != y[i] &&
            !(std::isnan(x[i]) && std::isnan(y[i])))
            return "element " + std::to_string(i) + ": " + std::to_string(y[i]) + ", dense " +
                   std::to_string(x[i]);
    return "";
}

}  // namespace

TEST_CASE("scattered operands are read where they are") {
    size_t checked = 0;
    for (const cases::Case& c : cases::small()) {
        std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        for (Tensor& t : inputs) t = t.clone();
        const std::vector<Tensor> dense = cases::results(c, inputs, true);
        for (const bool turned : {false, true}) {
            std::vector<Tensor> moved;
            for (const Tensor& t : inputs) moved.push_back(scattered(t, turned));
            const std::vector<Tensor> got = cases::results(c, moved, true);
            REQUIRE(got.size() == dense.size());
            for (size_t k = 0; k < got.size(); ++k) {
                const std::string text = apart(dense[k], got[k]);
                CHECK_MESSAGE(text.empty(), c.name, std::string(turned ? " turned" : ""),
                              " result ", k, ": ", text);
            }
            ++checked;
        }
    }
    MESSAGE(checked << " arrangements");
}
