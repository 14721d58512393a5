// What a tape keeps, and whose memory it writes: captures of any size, hooks that throw, cotangents of the host's.
#include <doctest/doctest.h>

#include <stdexcept>

#include "autograd/dot.h"
#include "autograd/functions.h"
#include "autograd/map.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "tests/support/bits.h"

using namespace mercer;

TEST_CASE("a large capture after a reset, when blocks are used again") {
    struct Large {
        float v[5000];
    } large{};
    large.v[0] = 2, large.v[4999] = 3;
    Tape tape;
    for (int round = 0; round < 2; ++round) {
        const Var x = tape.watch(Tensor::from({1, 2, 3}));
        if (round == 0)
            for (int i = 0; i < 2000; ++i) softmax(x, 0);
        const Var y = map([large](auto a) { return a * large.v[0] * large.v[4999]; }, x);
        const Var after = softmax(x, 0);
        CHECK(difference(tape.gradient(sum(y) + sum(after) * 0.0, {x})[0], Tensor::full({3}, 6)) ==
              "");
        tape.reset();
    }
}

TEST_CASE("a hook on saved values that throws leaves the tape as it was") {
    for (int fails_at = 1; fails_at <= 3; ++fails_at) {
        Tape tape;
        int calls = 0;
        tape.on_saved([&](const Tensor& t) -> RestoreSaved {
            if (++calls == fails_at) throw std::runtime_error("no room");
            return [t] { return t; };
        });
        const Var x = tape.watch(Tensor::from({1, 2, 3}));
        // Saves its output; saves both inputs; saves one input.
        const auto record = [&](int which) {
            return which == 0 ? tanh(x) : which == 1 ? x * x : exp(x * 1.0);
        };
        int failed = 0;
        for (int which = 0; which < 3; ++which) {
            const size_t operations = tape.operations();
            try {
                record(which);
            } catch (const std::runtime_error&) {
                ++failed;
                CHECK(tape.operations() <= operations + 1);
            }
        }
        CHECK(failed == 1);
        to_dot(tape);
        const Var w = tape.watch(Tensor::full({3}, 5));
        const auto [dx, dw] = tape.gradient(sum(x * w), {x, w});
        CHECK(difference(dx, Tensor::full({3}, 5)) == "");
        CHECK(difference(dw, Tensor::from({1, 2, 3})) == "");
    }
}

TEST_CASE("a cotangent in the host's memory is read only") {
    float host[3] = {1, 1, 1};
    Tape tape;
    const Var x = tape.watch(Tensor::from({1, 2, 3}));
    const Var y = x * x, z = sum(y * y);
    const Var losses[] = {y, z}, wrt[] = {x};
    GradientOptions options;
    std::vector<Tensor> cotangents;
    cotangents.push_back(Tensor::wrap(host, {3}, DType::f32, {}));
    cotangents.emplace_back();
    options.cotangents = std::move(cotangents);
    // 2x + 4x³
    CHECK(difference(tape.gradient(losses, wrt, std::move(options))[0],
                     Tensor::from({6, 36, 114})) == "");
    for (float v : host) CHECK(v == 1);
}
