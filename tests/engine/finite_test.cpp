// The check for NaN: the first operation that makes one is named, and nothing else is.
#include "engine/finite.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <thread>

#include "autograd/functions.h"
#include "autograd/map.h"
#include "autograd/optim/adam.h"
#include "autograd/tape.h"
#include "engine/cancel.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/parallel.h"
#include "engine/random.h"

using namespace mercer;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float not_a_number = std::nanf("");

// What the check said; empty if nothing.
template <class F>
std::string said(F f, FiniteCheck check = FiniteCheck::nan) {
    try {
        const FiniteScope scope(check);
        f();
    } catch (const NumericalError& e) {
        return e.what();
    }
    return "";
}
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the first operation that makes a NaN is named, with place, count and operands") {
    const Tensor x = Tensor::from({1, 2, -1, 4, -3, 6}, {2, 3});
    const std::string text = said([&] { exp(sqrt(x) + x); });
    CHECK(text ==
          "[sqrt] 2 of the 6 elements of its result f32(2,3) are NaN, the first at (0,2); its "
          "operands f32(2,3) had none");
    CHECK(said([&] { sqrt(abs(x)); }) == "");
    CHECK(std::isnan(sqrt(x).to_vector<float>()[2]));  // no scope: no check
}

TEST_CASE("an operand that held a NaN already is named") {
    const Tensor x = Tensor::from({1, not_a_number, 3, not_a_number}, {2, 2}),
                 y = Tensor::ones({2, 2});
    const std::string text = said([&] { matmul(y, x); });
    CHECK(has(text, "[matmul]"));
    CHECK(has(text, "operand 1, f32(2,2), already had 2, the first at (0,1)"));
    // A transposed view: the place is that of the view.
    CHECK(has(said([&] { add(y, transpose(x)); }),
              "operand 1, f32(2,2), already had 2, the first at (1,0)"));
}

TEST_CASE("infinities are let through unless they are asked for") {
    const Tensor x = Tensor::from({0, 1});
    CHECK(said([&] { log(x); }) == "");
    CHECK(said([&] { softmax(Tensor::from({-inf, 1, 2}), 0); }) == "");
    CHECK(has(said([&] { log(x); }, FiniteCheck::infinite), "[log] 1 of the 2"));
    CHECK(has(said([&] { neg(log(x)); }, FiniteCheck::infinite), "[log]"));
    CHECK(has(said([&] { exp(Tensor::from({1000})); }, FiniteCheck::infinite), "NaN or infinite"));
    CHECK(has(said([&] { sqrt(Tensor::from({-1})); }, FiniteCheck::infinite), "[sqrt]"));
    CHECK(said([&] { exp(Tensor::from({1})); }, FiniteCheck::infinite) == "");
}

TEST_CASE("every place of a tensor is looked at, whatever the size, dtype and threads") {
    const int before = thread_count();
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t n : {1, 7, 63, 64, 65, 1000, 16384, 16385, 100000})
                for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
                    Tensor x = Tensor::ones({n}, dtype);
                    if (dtype == DType::f32)
                        x.mutable_data<float>()[at] = -1;
                    else
                        x.mutable_data<double>()[at] = -1;
                    const std::string place = "the first at (" + std::to_string(at) + ")";
                    CHECK(has(said([&] { sqrt(x); }), place));
                }
    }
    set_thread_count(before);
}

TEST_CASE("backward: the kernel, and the node it served") {
    // d sqrt(x)/dx at 0 is infinite; times a zero cotangent it is NaN.
    const Tensor x = Tensor::from({0, 1});
    const auto run = [&] {
        Tape tape;
        const Var v = tape.watch(x);
        return tape.gradient(sum(sqrt(v) * Tensor::from({0, 1})), {v})[0];
    };
    const std::string text = said([&] { run(); });
    CHECK(has(text, "[sqrt] 1 of the 2"));
    CHECK(has(text, "in the derivative of sqrt"));
    CHECK(std::isnan(run().to_vector<float>()[0]));
    // Sums of cotangents are made in place: inf − inf.
    const auto clash = [&] {
        Tape tape;
        const Var v = tape.watch(Tensor::from({0}));
        const Var y = log(v) - log(v);
        return tape.gradient(sum(y), {v});
    };
    CHECK(has(said(clash), "[sub]"));  // forward: −∞ + ∞
    const auto clash_backward = [&] {
        Tape tape;
        const Var v = tape.watch(Tensor::from({0}));
        return tape.gradient(sum(sqrt(v) - sqrt(v)), {v});
    };
    CHECK(has(said(clash_backward), "[add]"));
}

TEST_CASE("maps, in-place steps and constants are checked as well") {
    const Tensor x = Tensor::from({-1, 1});
    CHECK(has(said([&] { map([](auto v) { return log(v); }, x); }), "[map]"));
    Tensor p = Tensor::ones({2});
    const Tensor g = Tensor::from({inf, 1});
    CHECK(has(said([&] { Adam().step(std::vector<Tensor*>{&p}, std::vector<Tensor>{g}); }),
              "[adam] 1 of the 2"));
    const Tensor one = Tensor::from({1, 1}, {1, 2}), two = Tensor::from({inf, -inf}, {2, 1});
    Tensor out = Tensor::zeros({1, 1});
    CHECK(has(said([&] { matmul_into(out, one, two); }), "[matmul_into] 1 of the 1"));
}

TEST_CASE("temporaries inside an operation are its own affair") {
    const auto op = [](const Tensor& x) {
        const OperationScope scope("masked_root", {&x});
        Tensor hidden = Tensor::empty(x.shape());
        hidden.mutable_data<float>()[0] = not_a_number;
        Tensor out = Tensor::empty(x.shape());
        out.mutable_data<float>()[0] = 1;
        return out;
    };
    CHECK(said([&] { op(Tensor::zeros({1})); }) == "");
    const auto bad = [](const Tensor& x) {
        const OperationScope scope("bad", {&x});
        Tensor out = Tensor::empty({2, 1});
        out.fill(not_a_number);
        return out.view({1, 2}, {2, 1}, 0);
    };
    CHECK(has(said([&] { bad(Tensor::zeros({1})); }), "[bad] 2 of the 2"));
}

TEST_CASE("of an operation made of others its own results count, under its own name") {
    const Tensor one = Tensor::from({1});
    CHECK(said([&] { var(one, {0}, 1); }) ==
          "[var] 1 of the 1 elements of its result f32(1) are NaN, the first at (0); its operands "
          "f32(1) had none; within it, div had such values first");
    CHECK(has(said([&] { sqrt(var(one, {0}, 1)); }), "[var]"));
    // A part is not to blame for what it was given: mean's own sum has the NaN before it is divided.
    const Tensor given = Tensor::from({1, std::numeric_limits<float>::quiet_NaN()});
    CHECK(has(said([&] { mean(given); }), "operand 0, f32(2), already had 1, the first at (1)"));
    CHECK_FALSE(has(said([&] { mean(given); }), "within it"));
    const Tensor opposite = Tensor::from({inf, -inf});
    CHECK(has(said([&] { mean(opposite); }), "its operands f32(2) had none"));
    CHECK_FALSE(has(said([&] { mean(opposite); }), "within it"));
    // Named by its caller, it is a part of no other.
    const Tensor x = Tensor::from({1, 2, inf, 4}, {1, 4, 1});
    const std::string text = said([&] { group_norm(x, 2, {}, {}); });
    CHECK(has(text, "[group_norm] 2 of the 4 elements of its result f32(1,2,2)"));
    CHECK(has(text, "operand 0") == false);
    CHECK(has(text, "; within it, layer_norm had such values first"));
    // Squares that overflow are not the norm's result.
    const Tensor far = Tensor::from({3e30f, 4e30f});
    CHECK(said([&] { norm_p(far, 2); }, FiniteCheck::infinite) == "");
    CHECK(std::abs(norm_p(far, 2).item<float>() / 5e30f - 1) < 1e-6f);
    // A part that writes into what an earlier part made; both are gone when the whole is over.
    const auto whole = [](const Tensor& t, bool keep) {
        const OperationScope scope("whole", {&t});
        Tensor hidden = sqrt(t);
        matmul_into(hidden, t * 0.0, Tensor::full({1, 1}, inf));
        hidden = log(hidden * 0.0 - 1.0);
        return keep ? hidden : t * 2.0;
    };
    const Tensor below = Tensor::from({-1}, {1, 1});
    CHECK(said([&] { whole(below, false); }) == "");
    CHECK(has(said([&] { whole(below, true); }), "[whole] 1 of the 1"));
    CHECK(has(said([&] { whole(below, true); }), "within it, sqrt had such values first"));
    // Other modes within: each by itself.
    const auto inner = [](const Tensor& t) {
        const OperationScope scope("outer", {&t});
        const FiniteScope infinities(FiniteCheck::infinite);
        const Tensor hidden = log(t * 0.0);
        return t * 2.0;
    };
    CHECK(has(said([&] { inner(one); }), "[log] 1 of the 1"));
    // What was a part's and is gone is not held until the whole is over.
    const auto many = [](const Tensor& t) {
        const OperationScope scope("many", {&t});
        const size_t before = memory_stats().live;
        for (int i = 0; i < 20; ++i) exp(log(t));
        return memory_stats().live - before;
    };
    const FiniteScope check;
    CHECK(many(Tensor::ones({1 << 16})) < 4 * (sizeof(float) << 16));
}

TEST_CASE("an operation throws itself, before the next one runs") {
    const Tensor x = Tensor::from({-1});
    int reached = 0;
    CHECK(has(said([&] {
                  const Tensor y = sqrt(x);
                  ++reached;
              }),
              "[sqrt]"));
    CHECK(has(said([&] {
                  Tape tape;
                  const Var y = softmax(tape.watch(Tensor::from({inf, 1})), 0);
                  ++reached;
              }),
              "[softmax]"));
    CHECK(reached == 0);
    // One of a host's own, which does not use compute(): at the next operation, a read, or the end.
    const auto own = [] {
        const OperationScope scope("own");
        return Tensor::full({2}, not_a_number);
    };
    Tensor y;
    CHECK(has(said([&] { exp(y = own()); }), "[own]"));
    CHECK(has(said([&] { (y = own()).data<float>(); }), "[own]"));
    CHECK(has(said([&] { (y = own()).to_vector<float>(); }), "[own]"));
    CHECK(has(said([&] { y = own(); }), "[own]"));
    CHECK(said([&] { throw NumericalError("mine", "first"); }) == "[mine] first");
}

TEST_CASE("scopes nest, shield, and leave nothing behind") {
    const Tensor x = Tensor::from({-1});
    const size_t live = memory_stats().live;
    {
        const FiniteScope outer(FiniteCheck::nan);
        {
            const FiniteScope off(FiniteCheck::off);
            CHECK(std::isnan(sqrt(x).item<float>()));
        }
        for (int i = 0; i < 100; ++i) CHECK_THROWS_AS(sqrt(x), NumericalError);
        CHECK_THROWS_AS(sum(sqrt(x)), NumericalError);
    }
    Tensor kept;
    try {  // another exception leaves the scope: what was found goes with it
        const FiniteScope scope;
        {
            const OperationScope mine("mine");
            kept = Tensor::full({1}, not_a_number);
        }
        throw 1;
    } catch (int) {
    }
    kept = {};
    std::stop_source source;
    {
        const CancelScope watched(source.get_token());
        CHECK_NOTHROW(add(x, x));
    }
    const auto twice = [&] {  // but what others asked for waits for them
        const FiniteScope outer;
        {
            const OperationScope mine("mine");
            kept = Tensor::full({1}, not_a_number);
        }
        try {
            const FiniteScope shield(FiniteCheck::off);
            throw 1;
        } catch (int) {
        }
    };
    CHECK_THROWS_AS(twice(), NumericalError);
    kept = {};
    CHECK(memory_stats().live == live);  // the result of an operation that threw is freed
    CHECK(std::isnan(sqrt(x).item<float>()));
}

TEST_CASE("what a task found goes with the exception that leaves it") {
    const int before = thread_count();
    set_thread_count(2);
    const Tensor x = Tensor::ones({1});
    // f in a task of a thread that is not this one.
    bool elsewhere = false;
    const auto beside = [&, here = std::this_thread::get_id()](auto f) {
        std::atomic<bool> done{false};
        const auto since = std::chrono::steady_clock::now();
        parallel_for(2, 1, [&](int64_t, int64_t) {
            if (std::this_thread::get_id() == here) {
                while (!done && std::chrono::steady_clock::now() - since < std::chrono::seconds(2))
                    std::this_thread::yield();
            } else if (!done.exchange(true)) {
                elsewhere = true;
                f();
            }
        });
    };
    const FiniteScope check;
    Tensor kept;
    try {
        beside([&] {
            {
                const OperationScope own("own");
                kept = Tensor::full({1}, not_a_number);
            }
            throw 1;
        });
    } catch (int) {
    }
    if (!elsewhere) std::cout << "[skipped] no second thread came\n";
    CHECK_NOTHROW(beside([&] { add(x, x); }));
    set_thread_count(before);
}

TEST_CASE("what bf16 does not hold is found") {
    const Tensor x = Tensor::full({3}, 3.4e38, DType::f32);  // the largest bf16 is 3.39e38
    CHECK(std::isinf(cast(cast(x, DType::bf16), DType::f32).to_vector<float>()[0]));
    const FiniteScope check(FiniteCheck::infinite);
    CHECK_THROWS_AS(cast(x, DType::bf16), NumericalError);
    CHECK_NOTHROW(cast(x * 0.9, DType::bf16));
}

// Run again by CTest with MERCER_CHECK_FINITE set: the environment alone switches it on.
TEST_CASE("the environment") {
    const char* value = std::getenv("MERCER_CHECK_FINITE");
    const std::string mode = value ? value : "off";
    const auto throws = [](auto f) {
        try {
            f();
        } catch (const NumericalError&) {
            return true;
        }
        return false;
    };
    if (mode == "banana") {
        CHECK_THROWS_AS(exp(Tensor::zeros({1})), ValueError);
        return;
    }
    CHECK(throws([] { sqrt(Tensor::from({-1})); }) == (mode != "off"));
    CHECK(throws([] { log(Tensor::from({0})); }) == (mode == "inf"));
}
