// Every operation's values against the oracle, float64 and float32.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/ops/registry.h"
#include "tests/cases.h"

using namespace mercer;

namespace {

void check(const cases::Case& c, DType dtype) {
    const std::vector<Tensor> inputs = cases::make_inputs(c, dtype);
    std::vector<Var> vars(inputs.begin(), inputs.end());
    std::vector<oracle::Naive> naive;
    for (const Tensor& t : inputs) naive.push_back(oracle::from(t));
    const oracle::Naive expected = c.expected(naive);
    const Tensor got = c.f(vars).value();
    REQUIRE_MESSAGE(got.shape() == expected.shape, c.name, ": shape ", to_string(got.shape()),
                    ", expected ", to_string(expected.shape));
    long double largest = 0, worst = 0;
    for (long double x : expected.at) largest = std::max(largest, std::abs(x));
    const std::vector<double> values = got.to_vector<double>();
    for (size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, std::abs((long double)(values[i]) - expected.at[i]));
    const long double eps = dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                : std::numeric_limits<float>::epsilon();
    CHECK_MESSAGE(worst <= c.slack * eps * largest, c.name, " ", name_of(dtype), ": error ",
                  double(worst), " with entries to ", double(largest));
}

}  // namespace

TEST_CASE("values agree with the oracle in float64") {
    for (const cases::Case& c : cases::small()) check(c, DType::f64);
}

TEST_CASE("values agree with the oracle in float32") {
    for (const cases::Case& c : cases::small()) check(c, DType::f32);
}

TEST_CASE("large structural values agree with the oracle") {
    for (const cases::Case& c : cases::large())
        if (c.structural && !c.name.starts_with("matmul"))
            check(c, DType::f32);  // gemm_test has those
    MESSAGE(cases::small().size() << " small and " << cases::large().size() << " large cases");
}

TEST_CASE("every operation of the list has cases") {
    for (const OperationInfo& info : operations()) {
        size_t found = 0;
        for (const cases::Case& c : cases::small())
            found += c.name.substr(0, c.name.find(' ')) == info.name;
        CHECK_MESSAGE(found >= 3, std::string(info.name), " has ", found, " cases");
    }
}
