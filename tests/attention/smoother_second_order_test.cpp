// Derivatives of the fused smoother's gradient: by blocks of rows of the reference form.
#include "autograd/gradcheck.h"
#include "engine/memory.h"
#include "tests/attention/smoother_support.h"
#include "tests/support/emulated.h"

using namespace mercer;

namespace {

Tensor sample(uint64_t n, const Shape& shape) { return randn(Key{92, n}, shape, DType::f64) * 0.7; }

struct Variant {
    const char* name;
    MakeOptions options;
    std::vector<Tensor> extra = {};
};

std::vector<Variant> variants(int64_t t) {
    using Extra = std::span<const Var>;
    const Tensor one = Tensor::scalar(1.4, DType::f64);
    return {
        {"dot product", [](Extra) { return SmootherOptions{}; }},
        {"rbf, window",
         [](Extra) { return SmootherOptions{.kernel = rbf(), .filter = window(3)}; }},
        {"polynomial", [](Extra) { return SmootherOptions{.kernel = polynomial(2, 2)}; }},
        {"gaussian, learned",
         [](Extra x) { return SmootherOptions{.kernel = nadaraya_watson(x[0])}; },
         {one}},
        {"entmax, learned",
         [](Extra x) { return SmootherOptions{.normaliser = entmax_weights(x[0])}; },
         {one}},
        {"lookup with values",
         [](Extra x) {
             return SmootherOptions{.filter = causal(),
                                    .position = Lookup{.table = x[0], .values = x[1]}};
         },
         {sample(4, {2, 5, 4}), sample(5, {3, 3})}},
        {"lookup from the last row, clipped in some rows",
         [](Extra x) {
             return SmootherOptions{.position =
                                        Lookup{.table = x[0], .values = x[1], .reversed = true}};
         },
         {sample(4, {801, 4}), sample(5, {2, 5, 3})}},
        {"Transformer-XL, clamped",
         [](Extra x) {
             return SmootherOptions{.position = TransformerXl{.weight = x[0], .clamp_length = 2}};
         },
         {sample(8, {6, 4})}},
        {"ALiBi, learned",
         [](Extra x) { return SmootherOptions{.position = Alibi{.slopes = x[0]}}; },
         {abs(sample(9, {2}))}},
        {"skew",
         [](Extra x) { return SmootherOptions{.position = Skew{.table = x[0]}}; },
         {sample(6, {t, 4})}},
        {"symmetric",
         [](Extra x) { return SmootherOptions{.position = Symmetric{.projected = x[0]}}; },
         {sample(7, {t, 4})}},
        {"dropout",
         [](Extra) {
             return SmootherOptions{.dropout = {.rate = 0.3, .key = Key{1, 2}}};
         }},
    };
}

std::vector<Tensor> operands(int64_t t, const std::vector<Tensor>& extra) {
    std::vector<Tensor> x{sample(1, {2, t, 4}), sample(2, {2, t, 4}), sample(3, {2, t, 3})};
    x.insert(x.end(), extra.begin(), extra.end());
    return x;
}

}  // namespace

TEST_CASE("gradients and their derivatives, against differences") {
    for (const Variant& v : variants(6)) {
        const std::vector<Tensor> x = operands(6, v.extra);
        const GradcheckReport report = gradcheck(
            [&](std::span<const Var> at) {
                return attend(at[0], at[1], at[2], v.options(at.subspan(3)));
            },
            x);
        CHECK_MESSAGE(report.ok, v.name, ": ", report.failure);
    }
}

TEST_CASE("the derivative of the gradient is that of the reference form, block by block") {
    // So many keys that 16 MiB of scores are a part of the rows.
    const int64_t t = MERCER_EMULATED ? 70 : 1500;
    for (const Variant& v : variants(t)) {
        const std::vector<Tensor> x = operands(t, v.extra);
        const auto second = [&](bool fused) {
            Tape tape;
            std::vector<Var> at;
            for (const Tensor& e : x) at.push_back(tape.watch(e));
            const SmootherOptions o = v.options(std::span<const Var>(at).subspan(3));
            const Var out =
                fused ? attend(at[0], at[1], at[2], o) : attend_reference(at[0], at[1], at[2], o);
            const Var loss = sum(square(out));
            const Var losses[] = {loss};
            const auto d = tape.gradient(losses, at, CreateGraph{});
            Var total = sum(d[0] * Var(sample(10, d[0].shape())));
            for (size_t i = 1; i < d.size(); ++i)
                total = total + sum(d[i] * Var(sample(10 + i, d[i].shape())));
            const Var totals[] = {total};
            return tape.gradient(totals, at);
        };
        const auto got = second(true), want = second(false);
        for (size_t i = 0; i < got.size(); ++i)
            CHECK_MESSAGE(largest_distance(got[i], want[i]) < 1e-11, v.name, ", operand ", i, ": ",
                          largest_distance(got[i], want[i]));
    }
}

TEST_CASE("second derivatives that are recorded again are the same") {
    const std::vector<Tensor> x = operands(9, {});
    Tape tape;
    const Var q = tape.watch(x[0]), k = tape.watch(x[1]), v = tape.watch(x[2]);
    const Var d = tape.gradient(sum(square(attend(q, k, v))), {q}, create_graph)[0];
    const Var loss = sum(d * d);
    const auto recorded = tape.gradient(loss, {q, k, v}, create_graph);
    const auto plain = tape.gradient(loss, {q, k, v});
    for (size_t i = 0; i < 3; ++i) CHECK(largest_distance(recorded[i].value(), plain[i]) < 1e-13);
}
