// The fused smoother against the reference form: values, gradients, all filters and lengths.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/emulated.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

struct Results {
    Tensor out, dq, dk, dv;
};

Results run(bool fused, const Tensor& q, const Tensor& k, const Tensor& v,
            const SmootherOptions& o) {
    Tape tape;
    const Var a = tape.watch(q), b = tape.watch(k), c = tape.watch(v);
    const Var out = fused ? attend(a, b, c, o) : attend_reference(a, b, c, o);
    const Tensor g = randn(Key{70, 1}, out.shape(), DType::f64);
    auto [dq, dk, dv] = tape.gradient(out, {a, b, c}, {.cotangents = {cast(g, out.dtype())}});
    return {out.value(), dq, dk, dv};
}

double distance(const Tensor& a, const Tensor& b) {
    if (a.count() == 0) return 0;
    const Tensor wa = cast(a, DType::f64), wb = cast(b, DType::f64);
    return max(abs(wa - wb)).item<double>() / std::max(0.5, max(abs(wb)).item<double>());
}
// The root of the mean square instead of the largest: how much float32 errs.
double mean_distance(const Tensor& a, const Tensor& b) {
    if (a.count() == 0) return 0;
    const Tensor wb = cast(b, DType::f64);
    return std::sqrt(mean(square(cast(a, DType::f64) - wb)).item<double>()) /
           std::max(0.5, max(abs(wb)).item<double>());
}
double mean_distance(const Results& a, const Results& b) {
    return std::max({mean_distance(a.out, b.out), mean_distance(a.dq, b.dq),
                     mean_distance(a.dk, b.dk), mean_distance(a.dv, b.dv)});
}
double distance(const Results& a, const Results& b) {
    return std::max(
        {distance(a.out, b.out), distance(a.dq, b.dq), distance(a.dk, b.dk), distance(a.dv, b.dv)});
}

std::vector<std::pair<std::string, Kernel>> kernels() {
    return {{"dot product", dot_product()},
            {"rbf", rbf()},
            {"rbf similarity", rbf_similarity()},
            {"cosine", cosine(1.5)},
            {"expsin", expsin(3)}};
}

}  // namespace

TEST_CASE("fused equals reference: kernels × filters × lengths × widths") {
    const std::vector<int64_t> lengths = MERCER_EMULATED
                                             ? std::vector<int64_t>{0, 7, 65}
                                             : std::vector<int64_t>{0, 1, 7, 64, 65, 257},
                               widths = MERCER_EMULATED ? std::vector<int64_t>{8}
                                                        : std::vector<int64_t>{1, 8, 33, 64};
    double worst64 = 0, worst32 = 0;
    for (const auto& named : kernels())
        for (const int64_t t : lengths)
            for (const int64_t d : widths) {
                const std::string& kernel_name = named.first;
                const Kernel& kernel = named.second;
                // Of width 1 the cosine is ±1: its slopes are 0, by cancellation over tiny norms.
                const bool values_only = d == 1 && kernel_name == "cosine";
                const auto compared = [&](bool fused, const Tensor& a, const Tensor& b,
                                          const Tensor& c, const SmootherOptions& options) {
                    Results r = run(fused, a, b, c, options);
                    if (values_only) r.dq = r.dk = r.dv;
                    return r;
                };
                const Tensor q = randn(Key{71, 1}, {2, 2, t, d}, DType::f64) * 0.7,
                             k = randn(Key{71, 2}, {2, 2, t, d}, DType::f64) * 0.7,
                             v = randn(Key{71, 3}, {2, 2, t, 5}, DType::f64);
                const std::vector<std::pair<std::string, Filter>> filters{
                    {"full", full()},
                    {"causal", causal()},
                    {"causal(-3)", causal(-3)},
                    {"window", window(9)},
                    {"strided", strided(8)},
                    {"padding", padding(Tensor::from(std::vector<int64_t>{t, t / 2})) &
                                    by_head({full(), causal()})}};
                for (const auto& hidden : filters) {
                    const std::string& filter_name = hidden.first;
                    const SmootherOptions o{.kernel = kernel, .filter = hidden.second};
                    const Results exact = compared(false, q, k, v, o);
                    const double error = distance(compared(true, q, k, v, o), exact);
                    worst64 = std::max(worst64, error);
                    CHECK_MESSAGE(error < 1e-12, kernel_name, ", ", filter_name, ", ", t, " × ", d,
                                  ": ", error);
                    // Of few keys: the reference's slopes of one are exactly 0.
                    const double slack = t <= 7 ? 2e-7 : 2e-8;
                    const auto narrow = [](const Tensor& x) { return cast(x, DType::f32); };
                    const double fused = mean_distance(
                                     compared(true, narrow(q), narrow(k), narrow(v), o), exact),
                                 plain = mean_distance(
                                     compared(false, narrow(q), narrow(k), narrow(v), o), exact);
                    if (t > 7) worst32 = std::max(worst32, fused / plain);
                    CHECK_MESSAGE(fused <= 2 * plain + slack, kernel_name, ", ", filter_name, ", ",
                                  t, " × ", d, ": ", fused, " against ", plain);
                }
            }
    MESSAGE("float64: largest distance " << worst64 << "; float32, over more than 7 keys: at most "
                                         << worst32 << " times the reference's error");
}

TEST_CASE("lengths and widths that differ, strided operands, any rank") {
    const Tensor q = randn(Key{72, 1}, {3, 40, 2, 16}, DType::f64),
                 k = randn(Key{72, 2}, {3, 130, 2, 16}, DType::f64),
                 v = randn(Key{72, 3}, {3, 130, 2, 33}, DType::f64);
    const auto heads = [](const Tensor& x) { return permute(x, {0, 2, 1, 3}); };
    const SmootherOptions o{.filter = causal(90)};
    CHECK(distance(run(true, heads(q), heads(k), heads(v), o),
                   run(false, heads(q), heads(k), heads(v), o)) < 1e-12);
    const Tensor q2 = randn(Key{72, 4}, {9, 4}, DType::f64),
                 k2 = randn(Key{72, 5}, {150, 4}, DType::f64),
                 v2 = randn(Key{72, 6}, {150, 3}, DType::f64);
    CHECK(distance(run(true, q2, k2, v2, {}), run(false, q2, k2, v2, {})) < 1e-12);
}

TEST_CASE(
    "the same bits on every instruction set and for any number of threads, with few heads and "
    "many") {
    const Restore restore;
    for (const auto& named : kernels()) {
        const std::string& name = named.first;
        const Kernel& kernel = named.second;
        for (const int64_t heads : {1, 8}) {
            const Tensor q = randn(Key{73, 1}, {heads, 90, 24}),
                         k = randn(Key{73, 2}, {heads, 300, 24}),
                         v = randn(Key{73, 3}, {heads, 300, 17});
            const SmootherOptions o{.kernel = kernel, .filter = window(70, 100)};
            set_isa(Isa::scalar);
            set_thread_count(1);
            const Results expected = run(true, q, k, v, o);
            for (const Isa other : available_isas())
                for (const int n : {1, 2}) {
                    set_isa(other);
                    set_thread_count(n);
                    const Results r = run(true, q, k, v, o);
                    CAPTURE(name);
                    CAPTURE(std::string(name_of(other)));
                    CHECK(difference(r.out, expected.out) == "");
                    CHECK(difference(r.dq, expected.dq) == "");
                    CHECK(difference(r.dk, expected.dk) == "");
                    CHECK(difference(r.dv, expected.dv) == "");
                }
        }
    }
}

TEST_CASE("scores that rise from tile to tile, by less and more than e can be raised to") {
    const int64_t keys = 600;
    const auto wide = [](const Tensor& x) { return cast(x, DType::f64); };
    // Two queries: one climbs with the keys, one descends. Their scores round.
    const Tensor q = concat({Tensor::full({1, 1}, 1.1), Tensor::full({1, 1}, -0.9)}, 0);
    const auto compare = [&](const Tensor& k, double size) {
        double of_fused[2] = {}, of_plain[2] = {};
        // Σ p·(g − D) is 0 but for D's rounding, which keys far from 0 make large: queries' slopes apart.
        const auto add = [](double* to, const Results& r, const Results& exact) {
            to[0] += mean_distance(r.dq, exact.dq);
            to[1] += std::max({mean_distance(r.out, exact.out), mean_distance(r.dk, exact.dk),
                               mean_distance(r.dv, exact.dv)});
        };
        for (uint32_t draw = 0; draw < 10; ++draw) {
            const Tensor v = randn(Key{75, draw}, {keys, 3}) * size;
            const Results exact = run(false, wide(q), wide(k), wide(v), {});
            CHECK(distance(run(true, wide(q), wide(k), wide(v), {}), exact) < 1e-12);
            add(of_fused, run(true, q, k, v, {}), exact);
            add(of_plain, run(false, q, k, v, {}), exact);
        }
        CHECK(of_fused[0] <= 8 * of_plain[0] + 2e-7);
        CHECK(of_fused[1] <= 2 * of_plain[1] + 2e-7);
    };
    for (const double rise : {0.4, 0.6, 40.0, 95.0, 300.0}) {
        CAPTURE(rise);
        compare(reshape(Tensor::arange(keys, DType::f32, 0, rise / 256), {keys, 1}), 1);
    }
    // Around 0, where the norms bound them, or not; with values that leave room for large powers of two,
    // and none.
    for (const double end : {5.0, 8.0, 10.0})
        for (const double size : {1.0, 1e12, 1e33}) {
            CAPTURE(end);
            CAPTURE(size);
            const Tensor k = Tensor::arange(keys, DType::f32, -end, 2 * end / (keys - 1));
            compare(reshape(k, {keys, 1}), size);
        }
}

TEST_CASE("a hidden key that is huge, so that nothing bounds the logs, changes no bit") {
    const int64_t keys = 400, d = 8;
    const SmootherOptions dot{.filter = padding(Tensor::from(std::vector<int64_t>{keys - 1}))},
        gaussian{.kernel = rbf(), .filter = dot.filter};
    // Keys approach the first query and pass it by: its logs rise by less and more than the slack.
    for (double size = 0.5; size < 14; size += 0.5) {
        Tensor q = randn(Key{78, 1}, {30, d}), k = randn(Key{78, 2}, {keys, d});
        const Tensor v = randn(Key{78, 3}, {keys, 5});
        q.mutable_data<float>()[0] = float(size);
        for (int64_t j = 0; j < keys; ++j)
            k.mutable_data<float>()[j * d] = float(size * (double(j) / 150 - 1));
        Tensor huge = k.clone();
        huge.mutable_data<float>()[(keys - 1) * d] = 1e15f;
        CAPTURE(size);
        for (const SmootherOptions& o : {dot, gaussian})
            CHECK(difference(attend(q, k, v, o).value(), attend(q, huge, v, o).value()) == "");
    }
}

TEST_CASE("a query that is huge, infinite or NaN changes no bit of others") {
    const Restore restore;
    Tensor q = randn(Key{76, 1}, {100, 8}), k = randn(Key{76, 2}, {400, 8});
    const Tensor v = randn(Key{76, 3}, {400, 5});
    // One that finds its maximum late.
    q.mutable_data<float>()[8] = 1;
    for (int64_t j = 0; j < 400; ++j) k.mutable_data<float>()[j * 8] = float(j - 200) / 8;
    for (const Kernel& kernel : {dot_product(), rbf()})
        for (const Isa isa : available_isas()) {
            set_isa(isa);
            const SmootherOptions o{.kernel = kernel};
            const Tensor expected = attend(q, k, v, o).value();
            for (const double x : {1e4, -1e4, 1e30, double(INFINITY), double(NAN)})
                for (const int64_t row : {0, 20, 99}) {
                    Tensor other = q.clone();
                    other.mutable_data<float>()[row * 8 + 3] = float(x);
                    const Tensor out = attend(other, k, v, o).value();
                    CAPTURE(std::string(name_of(isa)));
                    CAPTURE(x);
                    CHECK(difference(slice(out, 0, 0, row), slice(expected, 0, 0, row)) == "");
                    CHECK(difference(slice(out, 0, row + 1, 100),
                                     slice(expected, 0, row + 1, 100)) == "");
                    const bool finite = all(isfinite(slice(out, 0, row, row + 1))).item<bool>();
                    if (std::abs(x) == 1e4) CHECK(finite);
                    if (std::isnan(x)) CHECK(!finite);
                }
        }
}

TEST_CASE("second order goes through the reference form") {
    const Tensor x[] = {randn(Key{74, 1}, {3, 4}, DType::f64),
                        randn(Key{74, 2}, {5, 4}, DType::f64),
                        randn(Key{74, 3}, {5, 2}, DType::f64)};
    for (const auto& named : kernels()) {
        const std::string& name = named.first;
        const Kernel& kernel = named.second;
        const GradcheckReport report = gradcheck(
            [&](std::span<const Var> at) {
                return attend(at[0], at[1], at[2], {.kernel = kernel, .filter = causal(2)});
            },
            x, {.step = name == "expsin" ? 2e-4 : 1e-3});
        CHECK_MESSAGE(report.ok, name, ": ", report.failure);
    }
}
