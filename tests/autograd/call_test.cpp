// Operations called by name: what `mercer eval` does.
#include <doctest/doctest.h>

#include <set>

#include "autograd/call.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/message.h"

using namespace mercer;

TEST_CASE("every row of the list is bound, once, with the names of its signature") {
    CHECK(callables().size() == operations().size());
    std::set<std::string> names;
    for (const Callable& c : callables()) {
        CHECK_MESSAGE(names.insert(std::string(c.info->name)).second, std::string(c.info->name));
        CHECK(!c.results.empty());
        for (const Parameter& p : c.parameters)
            CHECK_MESSAGE(!p.name.empty(), std::string(c.info->name));
    }
}

TEST_CASE("a call by name is the call by hand, defaults and derivative included") {
    const Tensor x = randn(Key{1, 2}, {3, 4});
    Tape tape;
    const Var v = tape.watch(x);
    const Var y = call(callable("softmax"), {{"x", {v}}}, {})[0];
    CHECK(difference(y.value(), softmax(x)) == "");
    const Var first = call(callable("softmax"), {{"x", {v}}}, {{"axis", int64_t{0}}})[0];
    CHECK(difference(first.value(), softmax(x, 0)) == "");
    const auto [by_name] = tape.gradient(sum(square(y)), {v});
    Tape other;
    const Var w = other.watch(x);
    const auto [by_hand] = other.gradient(sum(square(softmax(w))), {w});
    CHECK(difference(by_name, by_hand) == "");
    const Var in =
        call(callable("clamp"), {{"high", {Var(x * 0.0)}}, {"low", {Var(x)}}, {"x", {v}}}, {})[0];
    CHECK(difference(in.value(), minimum(x, x * 0.0)) == "");
    const Var both = call(callable("stack"), {{"xs", {v, v}}}, {{"axis", 1.0}})[0];
    CHECK(both.shape() == Shape{3, 2, 4});
}

TEST_CASE("what is wrong is named") {
    const Var x(randn(Key{1, 2}, {3, 4}));
    const auto says = [](const std::string& text, auto f) {
        try {
            f();
            FAIL_CHECK("nothing thrown; expected " << text);
        } catch (const ValueError& e) {
            CHECK_MESSAGE(std::string(e.what()).find(text) != std::string::npos, e.what());
        }
    };
    {  // by the name that was called, whatever finds it
        Tape tape;
        const Var y = tape.watch(x.value()), number = Tensor::ones({3, 4}, DType::i64);
        const Var table = Tensor::scalar(1), ids = Tensor::zeros({1}, DType::i64);
        CHECK(message_of([&] {
                  call(callable("concat"), {{"xs", {y, number}}}, {{"axis", int64_t{0}}});
              }).starts_with("[concat] "));
        CHECK(message_of([&] { concat({y, number}, 0); }).starts_with("[concat] "));
        CHECK(message_of([&] { embedding(table, ids.value()); }).starts_with("[embedding] "));
    }
    says("did you mean 'softmax'?", [] { callable("sofmax"); });
    says("no operation is called 'zzzzzzzz'", [] { callable("zzzzzzzz"); });
    says("argument 'x' is missing", [] { call(callable("softmax"), {}, {}); });
    says("argument 'b' is missing", [&] { call(callable("matmul"), {{"a", {x}}}, {}); });
    says("'y' is unknown", [&] { call(callable("softmax"), {{"x", {x}}, {"y", {x}}}, {}); });
    says("did you mean 'axis'?", [&] {
        call(callable("softmax"), {{"x", {x}}}, {{"axes", int64_t{1}}});
    });
    says("must be int", [&] { call(callable("softmax"), {{"x", {x}}}, {{"axis", 1.5}}); });
    // As a 32-bit number it would be 0.
    says("does not hold 4294967296, which is wider than 32 bits", [&] {
        call(callable("softmax"), {{"x", {x}}}, {{"axis", int64_t{1} << 32}});
    });
    says("does not hold -9223372036854775808, which is wider than 32 bits", [&] {
        call(callable("sum"), {{"x", {x}}}, {{"axes", std::vector<int64_t>{INT64_MIN}}});
    });
    says("attribute 'shape' (ints) is missing", [&] {
        call(callable("reshape"), {{"x", {x}}}, {});
    });
    says("'f16' is no dtype", [&] {
        call(callable("cast"), {{"x", {x}}}, {{"dtype", std::string("f16")}});
    });
}
