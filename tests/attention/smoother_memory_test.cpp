// Memory of the fused smoother: linear in length, for every kernel, normaliser and position scheme.
#include <algorithm>
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
};

Variant positioned(const std::string& name, std::vector<Shape> parameters,
                   std::function<Position(std::span<const Var>)> position) {
    return {name,
            [position](std::span<const Var> x) { return SmootherOptions{.position = position(x)}; },
            std::move(parameters)};
}

std::vector<Variant> variants(int64_t t) {
    using Extra = std::span<const Var>;
    const auto fixed = [](SmootherOptions o) { return [o](Extra) { return o; }; };
    const Shape matrix{width, width}, row{width}, near{33, width}, all{2 * t - 1, width},
        places{t, width};
    int64_t height = 1;
    while (4 * height * height <= t) height *= 2;
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
        {"strided", fixed({.filter = strided(128)})},
        {"window", fixed({.filter = window(256)})},
        {"dropout", fixed({.dropout = {.rate = 0.1, .key = Key{3, 4}}})},
        positioned("learned", {places},
                   [](Extra x) {
                       return Absolute{x[0], x[0]};
                   }),
        positioned("sinusoidal", {},
                   [t](Extra) {
                       const Var pe = sinusoidal_encoding(Tensor::arange(t), width);
                       return Absolute{pe, pe};
                   }),
        positioned("Transformer-XL", {matrix, row, row},
                   [](Extra x) { return TransformerXl{.weight = x[0], .u = x[1], .v = x[2]}; }),
        positioned("Transformer-XL, causal", {matrix, row, row},
                   [](Extra x) {
                       return TransformerXl{.weight = x[0], .u = x[1], .v = x[2], .causal = true};
                   }),
        positioned("Transformer-XL, clamped", {matrix, row, row},
                   [](Extra x) {
                       return TransformerXl{
                           .weight = x[0], .u = x[1], .v = x[2], .clamp_length = 40};
                   }),
        positioned("Transformer-XL of fairseq's encoding", {matrix, row, row},
                   [](Extra x) {
                       return TransformerXl{
                           .weight = x[0], .u = x[1], .v = x[2], .layout = EncodingLayout::fairseq};
                   }),
        positioned("Eq. 5", {matrix},
                   [](Extra x) {
                       return TransformerXl{.weight = x[0],
                                            .scale_positions = false,
                                            .layout = EncodingLayout::interleaved};
                   }),
        positioned("Shaw", {near}, [](Extra x) { return Lookup{.table = x[0]}; }),
        positioned("Shaw with values", {near, near},
                   [](Extra x) { return Lookup{.table = x[0], .values = x[1]}; }),
        positioned("Shaw, not clipped", {all}, [](Extra x) { return Lookup{.table = x[0]}; }),
        positioned("Shaw with values, not clipped", {all, all},
                   [](Extra x) { return Lookup{.table = x[0], .values = x[1]}; }),
        positioned(
            "Eq. 6", {all},
            [](Extra x) { return Lookup{.table = x[0], .reversed = true, .scaled = false}; }),
        positioned("skew", {places}, [](Extra x) { return Skew{.table = x[0]}; }),
        positioned("symmetric", {places}, [](Extra x) { return Symmetric{.projected = x[0]}; }),
        positioned("grid", {{height, width}, {t / height, width}},
                   [](Extra x) {
                       return Grid{x[0], x[1]};
                   }),
        positioned("rotary", {}, [](Extra) { return Rotary{}; }),
        positioned("rotary, interleaved", {},
                   [](Extra) { return Rotary{.layout = PairLayout::interleaved}; }),
        positioned("rotary, a half", {}, [](Extra) { return Rotary{.width = width / 2}; }),
        positioned("ALiBi", {{1}}, [](Extra x) { return Alibi{.slopes = x[0]}; }),
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
    "for 32768 queries and keys of width 64 every kernel and position scheme takes at most "
    "64 MiB, forward and backward") {
    const int64_t t = length();
    const char* const only = std::getenv("MERCER_VARIANT");
    for (const Variant& v : variants(t)) {
        if (only && v.name.find(only) == std::string::npos) continue;
        double extra = 0;
        // A thread of its own, whose scratch goes with it.
        std::thread([&] { extra = extra_memory(v, t); }).join();
        // Of the 64, tiles and packed blocks of queries take 8 at any length. More threads take more.
        double bound = 8 + 56 * double(t) / 32768 + std::max(0, thread_count() - 2);
        if (v.whole_rows) bound += thread_count() * 32.0 * double(t) * 4 / (1 << 20);
        CHECK_MESSAGE(extra <= bound, v.name, ": ", extra, " MiB, bound ", bound);
        MESSAGE(v.name << ": " << extra << " MiB at length " << t);
    }
}
