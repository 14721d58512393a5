// checkpoint(): the same bits, less memory.
#include "autograd/checkpoint.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "autograd/custom.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "engine/error.h"
#include "engine/memory.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

constexpr int64_t width = 64, hidden = 256, tokens = 512;
constexpr int layers = 24;

struct Layer {
    Tensor gain, bias, up, down;
};

std::vector<Layer> network(DType dtype, int64_t d, int64_t h) {
    std::vector<Layer> out;
    for (uint64_t n = 0; n < layers; ++n)
        out.push_back({Tensor::ones({d}, dtype), Tensor::zeros({d}, dtype),
                       randn(Key{n, 1}, {d, h}, dtype) / std::sqrt(double(d)),
                       randn(Key{n, 2}, {h, d}, dtype) / std::sqrt(double(h))});
    return out;
}

// Pre-norm residual block with dropout: its random numbers have a key, so they come again.
Var block(const Var& x, const Var& gain, const Var& bias, const Var& up, const Var& down,
          uint64_t n) {
    const Var h = gelu(matmul(layer_norm(x, gain, bias), up));
    return x + dropout(matmul(h, down), 0.1, Key{77, n});
}

struct Result {
    Tensor loss;
    std::vector<Tensor> gradients;
    size_t peak;
};

Result train(const std::vector<Layer>& net, const Tensor& x, bool checkpointed) {
    const size_t before = memory_stats().live;
    reset_peak_memory();
    Tape tape;
    Var h = tape.watch(x);
    std::vector<Var> parameters{h};
    for (uint64_t n = 0; n < net.size(); ++n) {
        const Layer& l = net[n];
        const Var p[] = {tape.watch(l.gain), tape.watch(l.bias), tape.watch(l.up),
                         tape.watch(l.down)};
        parameters.insert(parameters.end(), std::begin(p), std::end(p));
        const auto f = [n](const Var& v, const Var& g, const Var& b, const Var& u, const Var& d) {
            return block(v, g, b, u, d, n);
        };
        h = checkpointed ? checkpoint(f, h, p[0], p[1], p[2], p[3]) : f(h, p[0], p[1], p[2], p[3]);
    }
    const Var loss = mean(square(h));
    h = Var();
    Result out{loss.value(), tape.gradient(loss, parameters), 0};
    out.peak = memory_stats().peak - before;
    return out;
}

}  // namespace

TEST_CASE("24 layers: the same bits at less than a third of the memory") {
    const std::vector<Layer> net = network(DType::f32, width, hidden);
    const Tensor x = randn(Key{50, 1}, {tokens, width});
    const Result plain = train(net, x, false), saved = train(net, x, true);
    CHECK(difference(plain.loss, saved.loss) == "");
    for (size_t i = 0; i < plain.gradients.size(); ++i)
        CHECK(difference(plain.gradients[i], saved.gradients[i]) == "");
    CHECK(double(plain.peak) > 3 * double(saved.peak));
    MESSAGE("peak " << plain.peak / 1024 << " KiB recorded, " << saved.peak / 1024
                    << " KiB checkpointed: " << double(plain.peak) / double(saved.peak)
                    << " times");
}

TEST_CASE("the order of additions is kept where an input is used outside as well") {
    const Tensor x0 = randn(Key{51, 1}, {1000});
    const auto f = [](const Var& x) { return exp(x) * sin(x) + tanh(x); };
    const auto gradient = [&](bool checkpointed) {
        Tape tape;
        const Var x = tape.watch(x0);
        const Var a = sin(x);
        const Var b = checkpointed ? checkpoint(f, x) : f(x);
        return tape.gradient(sum(a * b * cos(x) / 3.0), {x})[0];
    };
    CHECK(difference(gradient(false), gradient(true)) == "");
}

TEST_CASE("every order of derivative, nested, and with an input given twice") {
    const Tensor x[] = {randn(Key{52, 1}, {3, 3}, DType::f64),
                        randn(Key{52, 2}, {3, 3}, DType::f64)};
    const auto inner = [](const Var& a, const Var& b) { return tanh(matmul(a, b)) * a; };
    const auto outer = [&](const Var& a, const Var& b) {
        return checkpoint(inner, exp(a * 0.3), checkpoint(inner, b, a));
    };
    for (const bool twice : {false, true}) {
        const GradcheckReport report = gradcheck(
            [&](std::span<const Var> v) { return checkpoint(outer, v[0], v[twice ? 0 : 1]); }, x);
        CHECK_MESSAGE(report.ok, report.failure);
    }
    // An input that was computed from another one: each gets its own part only.
    const GradcheckReport chained = gradcheck(
        [&](std::span<const Var> v) { return checkpoint(inner, v[0], sin(v[0]) * v[1]); }, x);
    CHECK_MESSAGE(chained.ok, chained.failure);
    const auto hessian_row = [&](bool checkpointed) {
        Tape tape;
        const Var a = tape.watch(x[0]), b = tape.watch(x[1]);
        const Var y = checkpointed ? checkpoint(inner, a, b) : inner(a, b);
        const auto g = tape.gradient(sum(square(y)), {a, b}, create_graph);
        return tape.gradient(sum(square(g[0]) + exp(g[1])), {a, b});
    };
    const auto plain = hessian_row(false), again = hessian_row(true);
    for (size_t i : {0u, 1u})
        CHECK(max(abs(plain[i] - again[i])).item<double>() <
              1e-12 * max(abs(plain[i])).item<double>());
}

TEST_CASE("many inputs, several results, some of them unused or constant") {
    std::vector<Tensor> values;
    for (uint64_t i = 0; i < 40; ++i) values.push_back(randn(Key{53, i}, {4}, DType::f64));
    const CheckpointBody f = [](std::span<const Var> v) {
        Var total = v[0];
        for (size_t i = 1; i < v.size(); ++i) total = total * 0.9 + sin(v[i]);
        return std::vector<Var>{total, v[0] * v[39], Var(Tensor::ones({2}))};
    };
    const auto gradients = [&](bool checkpointed) {
        Tape tape;
        std::vector<Var> v;
        for (const Tensor& t : values) v.push_back(tape.watch(t));
        const std::vector<Var> y = checkpointed ? checkpoint(f, v) : f(v);
        CHECK(y.size() == 3);
        return tape.gradient(sum(y[1]), std::vector<Var>{v[0], v[1], v[39]});
    };
    const auto plain = gradients(false), again = gradients(true);
    for (size_t i : {0u, 1u, 2u}) CHECK(difference(plain[i], again[i]) == "");
}

TEST_CASE("constants are not recorded; what was not passed is refused; errors pass through") {
    CHECK(checkpoint([](const Var& x) { return exp(x); }, Tensor::ones({2})).is_constant());
    Tape tape;
    const Var x = tape.watch(Tensor::ones({2})), w = tape.watch(Tensor::ones({2}));
    CHECK_THROWS_AS(checkpoint([&](const Var& v) { return v * w; }, x), TapeError);
    CHECK(checkpoint([&](const Var& v) { return v * w.detach(); }, x).count() == 2);
    CHECK_THROWS_AS(checkpoint(
                        [](const Var& v) {
                            return matmul(v, Tensor::ones({3, 3}));
                        },
                        x),
                    ShapeError);
    const Var y = sum(checkpoint([](const Var& v) { return exp(v); }, x));
    tape.gradient(y, {x});
    CHECK_THROWS_AS(tape.gradient(y, {x}), TapeError);  // dropped
}
