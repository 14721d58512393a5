// Symmetric variants: one matrix W for queries and keys (A17; Tsai et al. 2019, section 2.3.2).
#include <map>

#include "tests/attention/every_kernel.h"
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t n = 24, features = 6, d = 4;

// log kernels leave out what depends on the query only
Var with_query_term(const std::string& name, const Var& values, const Var& q) {
    const double root = std::sqrt(double(q.size(-1)));
    const double share = name == "rbf" ? 1 / root : name == "rbf similarity" ? 0.5 / root : 0;
    return share == 0 ? values : values * exp(sum(square(q), {-1}, true) * -share);
}

Tensor gram(const EveryKernel& each, const Var& q, const Var& k) {
    return with_query_term(each.name, kernel_values(each.kernel, q, k), q).value();
}

}  // namespace

TEST_CASE("A17: one matrix makes every kernel symmetric, two do not") {
    const Var f = sample(1, {n, features});
    const Var shared = matmul(f, sample(2, {features, d}) * 0.5),
              other = matmul(f, sample(3, {features, d}) * 0.5);
    for (const EveryKernel& each : every_kernel(d)) {
        const Tensor one = gram(each, shared, shared), two = gram(each, shared, other);
        CHECK_MESSAGE(largest(one - transpose(one)) <= 1e-13 * largest(one), each.name);
        if (each.name == "constant") continue;
        CHECK_MESSAGE(largest(two - transpose(two)) > 1e-2 * largest(two), each.name);
        // and the values behind it are the kernel's: its weights are their share of the row
        const Tensor w = smoother_weights(shared, other, {.kernel = each.kernel}).value();
        const Tensor rows = sum(two, {-1}, true);
        const double condition = largest(sum(abs(w), {-1}));
        CHECK_MESSAGE(
            largest(where(equal(rows, 0), w, two / rows) - w) < 1e-12 * condition * condition,
            each.name);
    }
}

TEST_CASE("A17, A15: Gram matrices of linear, polynomial, exp, rbf are positive semidefinite") {
    const double slack = 64.0 * double(n) * std::numeric_limits<double>::epsilon();
    std::map<std::string, double> least;
    for (uint64_t draw = 0; draw < 5; ++draw) {
        const Var f = matmul(sample(10 + draw, {n, features}), sample(20 + draw, {features, d}));
        for (const EveryKernel& each : every_kernel(d)) {
            const Tensor g = gram(each, f, f);
            const Tensor values = eigh((g + transpose(g)) * 0.5).first;
            const double most = max(values).item<double>(),
                         ratio = min(values).item<double>() / most;
            auto& at = least.try_emplace(each.name, infinity).first->second;
            at = std::min(at, ratio);
        }
    }
    for (const char* name : {"linear", "polynomial 2", "dot product", "Luong's dot", "rbf",
                             "rbf similarity", "cosine", "gaussian", "laplace", "constant"})
        CHECK_MESSAGE(least.at(name) >= -slack, name, ": ", least.at(name));
    // The check can fail: additive scores have no such guarantee.
    CHECK(least.at("additive") < -1e-3);
}
