// Errors name the function that was called, also where one that it is made of finds the fault.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "attention/smoother/bandwidth.h"
#include "attention/smoother/position/absolute.h"
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
