// NaN and infinities in queries, keys and values: who sees them gets NaN, and nobody else knows of them.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/attention/every_kernel.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

struct NamedSmoother {
    std::string name;
    Kernel kernel;
    Normaliser normaliser = {};
};
std::vector<NamedSmoother> smoothers() {
    std::vector<NamedSmoother> all;
    for (const test::EveryKernel& k : test::every_kernel(3)) all.push_back({k.name, k.kernel});
    all.push_back({"sparsemax", dot_product(), sparsemax_weights()});
    all.push_back({"entmax 1.5", rbf(), entmax15_weights()});
    for (const double alpha : {1.3, 2.5})
        all.push_back({"entmax of a learned alpha", dot_product(),
                       entmax_weights(Var(Tensor::scalar(alpha, DType::f64)))});
    return all;
}

}  // namespace

TEST_CASE("poisoned keys and values reach who sees them, and nobody else") {
    for (const bool in_values : {false, true})
        for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)})
            for (const Kernel& kernel : {dot_product(), rbf(), polynomial(2),
                                         nadaraya_watson(Profile::gaussian, 1.0), cosine()}) {
                Tensor tq = randn(Key{62, 1}, {6, 3}, DType::f64),
                       tk = randn(Key{62, 2}, {6, 3}, DType::f64),
                       tv = randn(Key{62, 3}, {6, 3}, DType::f64);
                const SmootherOptions options{.kernel = kernel, .filter = window(2)};
                const auto run = [&](const Tensor& kk, const Tensor& vv) {
                    Tape tape;
                    const Var a = tape.watch(tq), b = tape.watch(kk), c = tape.watch(vv);
                    const Var out = attend(a, b, c, options);
                    // Rows 3 and 4 see key 3, and are not asked for.
                    const Tensor rows = Tensor::from(std::vector<double>{1, 1, 1, 0, 0, 1}, {6, 1});
                    const Var loss =
                        sum(where(greater(rows, 0), out, Tensor::zeros({}, DType::f64)));
                    auto g = tape.gradient(loss, {a, b, c});
                    return std::array{out.value(), g[0], g[1], g[2]};
                };
                const auto clean = run(tk, tv);
                Tensor poisoned = (in_values ? tv : tk).clone();
                poisoned.mutable_data<double>()[3 * 3 + 1] = bad;
                const auto got = in_values ? run(tk, poisoned) : run(poisoned, tv);
                for (int64_t i = 0; i < 6; ++i) {
                    const bool sees = i == 3 || i == 4;
                    const double* row = got[0].data<double>() + i * 3;
                    for (int64_t c = 0; c < 3; ++c)
                        if (sees)
                            CHECK(!std::isfinite(row[c]));
                        else
                            CHECK(
                                row[c] ==
                                doctest::Approx(clean[0].data<double>()[i * 3 + c]).epsilon(1e-13));
                }
                for (size_t n = 1; n < 4; ++n)
                    CHECK(max(abs(got[n] - clean[n])).item<double>() < 1e-13);
            }
}

TEST_CASE("a poisoned query reaches nobody whom it does not see") {
    // Query 1 sees nothing, query 3 every second key, at the other end of the row if `late`.
    const auto mask = [](int64_t n, bool late) {
        return filter([n, late](const Seat& s) {
            if (s.query == 1) return false;
            return s.query > n / 2 || (s.key % 2 == 0 && (s.key >= n / 2) == late);
        });
    };
    const auto zero = [](const Tensor& x) { return equal(x, 0); };
    const auto finite = [](const Tensor& x) { return isfinite(x); };
    const auto row_is = [](const Tensor& x, int64_t r, auto says) {
        return all(says(slice(x, 0, r, r + 1))).template item<bool>();
    };
    for (const int64_t n : {6, 130})
        for (const double bad : {double(NAN), double(INFINITY)})
            for (const uint64_t seed : {63, 64, 66})
                for (const auto& [name, kernel, normaliser] : smoothers()) {
                    INFO(name, ", ", n, ", ", bad, ", ", seed);
                    const Tensor k = randn(Key{seed, 1}, {n, 3}, DType::f64),
                                 v = randn(Key{seed, 2}, {n, 2}, DType::f64);
                    Tensor q = randn(Key{seed, 3}, {n, 3}, DType::f64);
                    const bool late = seed == 66;
                    const SmootherOptions options{
                        .kernel = kernel, .filter = mask(n, late), .normaliser = normaliser};
                    const auto run = [&](bool fused) {
                        Tape tape;
                        const Var a = tape.watch(q), b = tape.watch(k), c = tape.watch(v);
                        const Var out =
                            fused ? attend(a, b, c, options) : attend_reference(a, b, c, options);
                        const Tensor g = randn(Key{seed, 4}, out.shape(), DType::f64);
                        auto d = tape.gradient(out, {a, b, c}, {.cotangents = {g}});
                        return std::array{out.value(), d[0], d[1], d[2]};
                    };
                    const std::array clean{run(false), run(true)};
                    q.mutable_data<double>()[3] = bad;
                    const std::array blind{run(false), run(true)};
                    q.mutable_data<double>()[9] = bad;
                    const std::array got{run(false), run(true)};
                    for (const size_t fused : {0, 1}) {
                        INFO(std::string(fused ? "fused" : "reference"));
                        for (const size_t i : {0, 2, 3})
                            CHECK(difference(blind[fused][i], clean[fused][i]) == "");
                        CHECK(row_is(blind[fused][1], 1, zero));
                        const auto& [out, dq, dk, dv] = got[fused];
                        for (int64_t r = 0; r < n; ++r) {
                            CHECK(row_is(out, r, finite) == (r != 3));
                            if (r == 3) continue;
                            CHECK(difference(slice(out, 0, r, r + 1),
                                             slice(clean[fused][0], 0, r, r + 1)) == "");
                            CHECK(row_is(dq, r, finite));
                        }
                        for (int64_t j = 0; j < n; ++j) {
                            if (j % 2 == 0 && (j >= n / 2) == late) continue;
                            CHECK(row_is(dk, j, finite));
                            CHECK(row_is(dv, j, finite));
                        }
                    }
                    for (const size_t i : {0, 2, 3})
                        CHECK(difference(isfinite(got[0][i]), isfinite(got[1][i])) == "");
                }
}

TEST_CASE("weights know nothing of hidden keys, whether a filter hides them or positions do") {
    for (const test::EveryKernel& each : test::every_kernel(3))
        for (const bool by_position : {false, true}) {
            if (by_position && each.kernel.direct) continue;
            INFO(each.name);
            const Tensor q = randn(Key{64, 1}, {4, 3}, DType::f64);
            Tensor k = randn(Key{64, 2}, {4, 3}, DType::f64);
            SmootherOptions options{.kernel = each.kernel};
            if (by_position)
                options.position = Alibi{.slopes = Tensor::scalar(.5, DType::f64), .causal = true};
            else
                options.filter = causal();
            const auto run = [&](bool logs) {
                Tape tape;
                const Var a = tape.watch(q), b = tape.watch(k);
                const Var w = logs ? log_weights(a, b, options) : smoother_weights(a, b, options);
                const Tensor g = randn(Key{64, 3}, {4, 4}, DType::f64);
                auto d = tape.gradient(w, {a, b}, {.cotangents = {g}});
                return std::array{slice(w.value(), 0, 0, 3), slice(d[0], 0, 0, 3)};
            };
            for (const bool logs : {false, true}) {
                if (logs && each.kernel.direct) continue;
                k = randn(Key{64, 2}, {4, 3}, DType::f64);
                const auto clean = run(logs);
                k.mutable_data<double>()[10] = NAN;  // key 3, which the last query sees
                const auto got = run(logs);
                CHECK(all(equal(got[0], clean[0])).item<bool>());
                CHECK(difference(got[1], clean[1]) == "");
                if (logs) CHECK(all(equal(slice(got[0], 1, 3, 4), -INFINITY)).item<bool>());
            }
        }
}
