// Memory of the fused smoother: linear in length, for every kernel, normaliser and position scheme.
#include <cstdlib>
#include <thread>

#include "engine/memory.h"
#include "engine/parallel.h"
#include "tests/attention/smoother_support.h"
#include "tests/support/emulated.h"

using namespace mercer;

namespace {

// MERCER_LENGTH=32768 asks for what the bound is made for; minutes.
int64_t length() {
    const char* asked = std::getenv("MERCER_LENGTH");
    return asked ? std::atoll(asked) : MERCER_EMULATED ? 512 : 4096;
}

constexpr int64_t width = 64;

struct Variant {
    std::string name;
    MakeOptions options;
    std::vector<Shape> extra = {};
    bool whole_rows = false;  // 28 rows of scores for each thread
    // For 32768. Position schemes add what they make of queries and keys; tables become rows for all
    // distances, and two partial sums of these.
    double mebibytes = 64;
};

std::vector<Variant> variants(int64_t t) {
    using Extra = std::span<const Var>;
    const auto fixed = [](SmootherOptions o) { return [o](Extra) { return o; }; };
    return {
        {"dot product", fixed({})},
        {"dot product, causal", fixed({.filter = causal()})},
        {"rbf", fixed({.kernel = rbf()})},
        {"expsin", fixed({.kernel = expsin(3)})},
        {"cosine", fixed({.kernel = cosine(2)})},
        {"polynomial", fixed({.kernel = polynomial(2)})},
        {"linear", fixed({.kernel = linear()})},
        {"additive", [](Extra x) { return SmootherOptions{.kernel = additive(x[0])}; }, {{width}}},
        {"gaussian", fixed({.kernel = nadaraya_watson(8)})},
        {"triweight", fixed({.kernel = nadaraya_watson(Profile::triweight, 20)})},
        {"sparsemax", fixed({.normaliser = sparsemax_weights()}), {}, true},
        {"entmax15", fixed({.normaliser = entmax15_weights()}), {}, true},
        {"Transformer-XL",
         [](Extra x) {
             return SmootherOptions{.position = TransformerXl{.weight = x[0], .causal = true}};
         },
         {{width, width}},
         false,
         180},
        {"Shaw",
         [](Extra x) { return SmootherOptions{.position = Lookup{.table = x[0], .values = x[1]}}; },
         {{33, width}, {33, width}},
         false,
         220},
        {"skew",
         [](Extra x) { return SmootherOptions{.position = Skew{.table = x[0]}}; },
         {{t, width}},
         false,
         140},
        {"symmetric",
         [](Extra x) { return SmootherOptions{.position = Symmetric{.projected = x[0]}}; },
         {{t, width}},
         false,
         80},
        {"rotary", fixed({.position = Rotary{}}), {}, false, 80},
        {"ALiBi", fixed({.position = alibi(1)})},
        {"dropout", fixed({.dropout = {.rate = 0.1, .key = Key{3, 4}}})},
    };
}

}  // namespace

namespace {

// What forward and backward of `v` take beyond operands, out and gradients, in MiB.
double extra_memory(const Variant& v, int64_t t) {
    const size_t before = memory_stats().live;
    reset_peak_memory();
    std::vector<Tensor> x;
    for (uint64_t n = 0; n < 3; ++n) x.push_back(randn(Key{93, n}, {1, 1, t, width}));
    for (const Shape& shape : v.extra) x.push_back(randn(Key{93, x.size()}, shape) * 0.1);
    const Tensor g = randn(Key{93, 9}, {1, 1, t, width});
    Tape tape;
    std::vector<Var> at;
    for (const Tensor& e : x) at.push_back(tape.watch(e));
    const Var out = attend(at[0], at[1], at[2], v.options(std::span<const Var>(at).subspan(3)));
    CHECK(stands_fused(tape));
    const Var losses[] = {out};
    tape.gradient(losses, at, {.cotangents = {g}});
    size_t known = size_t(out.count() + g.count());
    for (const Tensor& e : x) known += 2 * size_t(e.count());
    return double(memory_stats().peak - before - 4 * known) / (1 << 20);
}

}  // namespace

TEST_CASE(
    "for 32768 queries and keys of width 64 kernels take at most 64 MiB, forward and backward") {
    const int64_t t = length();
    for (const Variant& v : variants(t)) {
        double extra = 0;
        // A thread of its own, whose scratch goes with it.
        std::thread([&] { extra = extra_memory(v, t); }).join();
        // The bound at this length, and what a thread's scratch and a tape take at any.
        double bound = v.mebibytes * double(t) / 32768 + 2 * thread_count();
        if (v.whole_rows) bound += thread_count() * 32.0 * double(t) * 4 / (1 << 20);
        CHECK_MESSAGE(extra <= bound, v.name, ": ", extra, " MiB, bound ", bound);
        MESSAGE(v.name << ": " << extra << " MiB at length " << t);
    }
}
