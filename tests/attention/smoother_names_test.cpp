// Errors name the function that was called, also where one that it is made of finds the fault.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "attention/smoother/bandwidth.h"
#include "attention/smoother/position/absolute.h"
#include "attention/smoother/position/alibi.h"
#include "attention/smoother/position/image.h"
#include "attention/smoother/position/transformer_xl.h"
#include "attention/smoother/probes.h"
#include "engine/functions.h"
#include "tests/support/message.h"

using namespace mercer;

TEST_CASE("errors bear the name of the function that was called") {
    const Tensor x = Tensor::ones({2, 4}), whole = Tensor::ones({2, 4}, DType::i32);
    const std::pair<std::string, std::function<void()>> faults[] = {
        {"add_positions", [&] { add_positions(x, whole); }},
        {"grid_encoding", [&] { grid_encoding(x, whole); }},
        {"log_sinusoid_kernel", [&] { log_sinusoid_kernel(whole, x, x); }},
        {"with_memory", [&] { with_memory(x, whole); }},
        {"similarity_and_magnitude", [&] { similarity_and_magnitude(x, whole); }},
        {"choose_bandwidth",
         [&] {
             choose_bandwidth(x, Tensor::ones({3, 1}));
         }},
        {"learn_bandwidth",
         [&] {
             learn_bandwidth(x, Tensor::ones({3, 1}), 1);
         }},
    };
    for (const auto& [name, fault] : faults) {
        CAPTURE(name);
        CHECK(message_of(fault).starts_with("[" + name + "] "));
    }
}

TEST_CASE("smoothers and their parts name themselves and the argument that is wrong") {
    const Tensor q = Tensor::ones({2, 3, 4}), k = Tensor::ones({2, 5, 4}),
                 wide = Tensor::ones({2, 5, 4}, DType::f64), v = Tensor::ones({3, 5, 1});
    const std::pair<std::string, std::function<void()>> faults[] = {
        {"[smoother_weights] queries and keys must be both", [&] { smoother_weights(q, wide); }},
        {"[smoother_weights] shapes do not broadcast",
         [&] {
             smoother_weights(q, Tensor::ones({3, 5, 4}));
         }},
        {"[smoother_weights] the kernel dot_product gives log weights",
         [&] { smoother_weights(q, k, {.normaliser = division()}); }},
        {"[log_weights] queries and keys must be both", [&] { log_weights(q, wide); }},
        {"[linear] gives weights; this position scheme adds",
         [&] { smoother_weights(k, k, {.kernel = linear(), .position = alibi(2)}); }},
        {"[attend] values (3,5,1) do not fit weights (2,3,5): their leading axes",
         [&] { attend(q, k, v); }},
        {"[attend] values (3,5,1) do not fit weights (2,3,5): their leading axes",
         [&] { attend(q, k, v, {.normaliser = sparsemax_weights()}); }},
        {"[additive] the weights are f64, the queries f32; use cast",
         [&] { attend(q, k, k, {.kernel = additive(Tensor::ones({4}, DType::f64))}); }},
        {"[strided_local] the stride is -2", [] { strided_local(-2); }},
        {"[strided_summary] the stride is 0", [] { strided_summary(0); }},
        {"[strided] the stride is 0", [] { strided(0); }},
        {"[fixed_local] the block is -5", [] { fixed_local(-5); }},
        {"[fixed_summary] 2 sub-blocks of 3", [] { fixed_summary(5, 3, 2); }},
        {"[fixed] 1 sub-blocks of 3", [] { fixed(2, 3); }},
    };
    for (const auto& [says, fault] : faults) {
        const std::string said = message_of(fault);
        CHECK_MESSAGE(said.starts_with(says), said);
    }
}

TEST_CASE("a search for a bandwidth ends where doubles end, however many steps it may take") {
    const Tensor x = Tensor::from(std::vector<double>{0, 1, 2, 3.5, 5}),
                 y = Tensor::from(std::vector<double>{0, 1, 0.5, 2, 1});
    const auto chosen = [&](int refinements) {
        return choose_bandwidth(reshape(x, {5, 1}), reshape(y, {5, 1}),
                                {.refinements = refinements})
            .bandwidth;
    };
    CHECK(chosen(1000000000) == doctest::Approx(chosen(60)).epsilon(1e-6));
}
