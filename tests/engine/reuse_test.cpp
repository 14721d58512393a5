// Results that take over the memory of operands that die, and operands that must keep theirs.
#include <doctest/doctest.h>

#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

/// How many blocks f takes.
template <class F>
uint64_t blocks(F f) {
    f();  // instruments read the environment at the first operation of all
    const uint64_t before = memory_stats().allocations;
    f();
    return memory_stats().allocations - before;
}

const Shape sizes[] = {{}, {8}, {3, 1000}, {300, 301}};  // one call of a kernel, and many

}  // namespace

TEST_CASE("an expression of temporaries takes one block for its tensors") {
    for (const Shape& shape : sizes)
        for (const DType dtype : {DType::f32, DType::f64}) {
            const Tensor a = randn(Key{1, 1}, shape, dtype), b = randn(Key{1, 2}, shape, dtype);
            CHECK(blocks([&] { exp(-(a + b)); }) == 1);
            CHECK(blocks([&] { sub(b, mul(a, b)) / sqrt(abs(a)); }) == 2);
            CHECK(blocks([&] { (1.0 - a * b) * 2.0; }) == 3);  // and two for the numbers
            CHECK(blocks([&] {
                      Tensor t = a + b;
                      t = exp(std::move(t));
                      t = maximum(a, std::move(t));
                  }) == 1);
            CHECK(blocks([&] { const Tensor t = a + b, u = exp(t); }) == 2);
            Tensor t = a + b;
            const void* const memory = t.raw();
            const Tensor u = exp(std::move(t));
            CHECK(u.raw() == memory);
            CHECK(!t.defined());
            CHECK(difference(u, exp(a + b)) == "");
        }
}

TEST_CASE("the results of temporaries have the bits of those of values") {
    for (const Shape& shape : sizes) {
        const Tensor a = randn(Key{2, 1}, shape), b = randn(Key{2, 2}, shape),
                     row = randn(Key{2, 3}, {shape.rank() ? shape.back() : 1});
        const Tensor ab = a + b, product = ab * a, broad = ab - row, root = sqrt(abs(broad));
        CHECK(difference((a + b) * a, product) == "");
        CHECK(difference(a * (a + b), mul(a, ab)) == "");
        CHECK(difference((a + b) - row, broad) == "");
        CHECK(difference(sqrt(abs((a + b) - row)), root) == "");
        CHECK(difference((a + b) / (b + a), div(ab, ab)) == "");
        Tensor t = a.clone();
        CHECK(difference(add(std::move(t), t), a + a) == "");  // both are one
        const Tensor minus = -row, less = a - minus;  // smaller than the result, or of another rank
        CHECK(difference(a - (-row), less) == "");
        CHECK(difference(-(-row) + a, row + a) == "");
        CHECK(difference((-row) * Tensor::ones({1, row.count()}),
                         reshape(minus, {1, row.count()})) == "");
    }
}

TEST_CASE("memory that somebody else holds, or will not fit, is not written") {
    for (const Shape& shape : sizes)
        for (const bool small : {false, true}) {
            const Tensor a = randn(Key{3, 1}, shape), before = a.clone();
            CHECK(difference(exp(Tensor(a)), exp(before)) == "");  // shared
            CHECK(difference(a, before) == "");
            CHECK(difference(Tensor(a) + Tensor(a), before + before) == "");
            CHECK(difference(a, before) == "");
            if (shape.rank() < 2) continue;
            const int64_t n = small ? 2 : shape[0];
            neg(slice(a, 0, 0, n));  // a view, dense
            neg(transpose(a));
            a.view(shape, a.strides(), 0) * 2.0;
            CHECK(difference(a, before) == "");
            // Views whose base is gone: the memory is theirs alone, but not as the result needs it.
            const auto alone = [&](auto view) {
                const Tensor base = before.clone();
                return view(base);
            };
            const auto turned = [](const Tensor& t) { return transpose(t); };
            const auto rest = [n](const Tensor& t) { return slice(t, 0, 1, n); };
            const auto first = [](const Tensor& t) { return slice(t, 0, 0, 1); };
            const auto repeated = [&](const Tensor& t) { return broadcast_to(first(t), shape); };
            CHECK(difference(exp(alone(turned)), exp(turned(before))) == "");
            CHECK(difference(exp(alone(rest)), exp(rest(before))) == "");
            CHECK(difference(alone(first) + before, first(before) + before) == "");
            CHECK(difference(before - alone(first), before - first(before)) == "");
            CHECK(difference(exp(alone(repeated)), exp(repeated(before))) == "");
            CHECK(blocks([&] { exp(alone(first)); }) == 2);  // none of it holds what is larger
        }
    std::vector<float> host(1000, 2.0f);  // the host's own
    bool released = false;
    square(Tensor::wrap(host.data(), {1000}, DType::f32, [&] { released = true; }));
    CHECK(released);
    CHECK(host[0] == 2.0f);
    CHECK(host[999] == 2.0f);
}

TEST_CASE("what a tape has saved keeps its value") {
    for (const Shape& shape : sizes) {
        const Tensor x = randn(Key{4, 1}, shape, DType::f64);
        Tape tape;
        const Var v = tape.watch(x.clone());
        const Var e = exp(v), s = sin(e * v);
        const Tensor kept_e = e.value().clone(), kept_s = s.value().clone();
        // Copies of what is saved, as temporaries.
        neg(Tensor(e.value())) * 3.0;
        sqrt(abs(Tensor(s.value()))) + Tensor(v.value());
        CHECK(difference(e.value(), kept_e) == "");
        CHECK(difference(s.value(), kept_s) == "");
        const Tensor g = tape.gradient(sum(s), {v})[0], ev = exp(x) * x;
        const Tensor expected = cos(ev) * (ev + exp(x));
        CHECK(max(abs(g - expected)).item<double>() <= 1e-12 * max(abs(expected)).item<double>());
    }
}
