// A good guest: floating-point control bits stay as they are whatever is called (operations: parity_test), and what
// the library has to say goes to the host's callback.
#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/linalg.h"
#include "mercer/mercer.h"
#include "tests/support/float_control.h"

using namespace mercer;

TEST_CASE("no public function changes the floating-point control bits") {
    const unsigned before = float_control();
    const auto unchanged = [&](const char* what) {
        CHECK_MESSAGE(float_control() == before, what);
    };
    Tensor x = randn(Key{1, 1}, {300, 200}), y = uniform(Key{1, 2}, {200, 300});
    unchanged("randn, uniform");
    permutation(Key{1, 3}, 1000);
    unchanged("permutation");
    Tensor out = Tensor::empty({300, 300});
    matmul_into(out, x, y);
    unchanged("matmul_into");
    out.fill(1);
    x.clone().copy_to(x);
    unchanged("fill, clone, copy_to");
    cast(equal(x, x), DType::i64).to_vector<int32_t>();
    unchanged("equal, cast, to_vector");
    map([](auto a) { return a * a; }, x).to_string();
    unchanged("map, to_string");
    Tape tape;
    const Var w = tape.watch(x);
    const Tensor g =
        tape.gradient(mean(attend(w, w, w, {.kernel = rbf(), .filter = causal()})), {w})[0];
    unchanged("attend, gradient");
    Adam adam;
    Tensor* parameters[] = {&x};
    adam.step(parameters, std::span(&g, 1));
    unchanged("Adam::step");
    const Tensor small[] = {randn(Key{1, 4}, {3}, DType::f64)};
    gradcheck([](std::span<const Var> v) { return exp(v[0]); }, small);
    unchanged("gradcheck");
    least_squares(randn(Key{1, 5}, {20, 3}, DType::f64), randn(Key{1, 6}, {20, 1}, DType::f64));
    unchanged("least_squares");
    set_memory_limit(0);
    release_cached_memory();
    memory_stats();
    unchanged("memory");
}

TEST_CASE("messages go to the callback") {
    static const auto loop = [] { parallel_for(1000, 1, [](int64_t, int64_t) {}); };
    loop();
    std::vector<std::string> said;
    set_log_callback(
        [](LogLevel, std::string_view message, void* context) {
            static_cast<std::vector<std::string>*>(context)->emplace_back(message);
            loop();  // it may use the library
        },
        &said);
    const int threads = thread_count();
    for (int n : {threads + 1, threads, threads + 1}) {  // an arena of a new size is made once
        set_thread_count(n);
        loop();
    }
    set_thread_count(threads);
    set_log_callback(nullptr);
    REQUIRE(said.size() == 1);
    using Control = tbb::global_control;
    const size_t allowed = Control::active_value(Control::max_allowed_parallelism),
                 slots = std::min(allowed, size_t(threads) + 1);
    CHECK(said[0] == "an arena of " + std::to_string(slots) + " threads, " +
                         std::to_string(threads + 1) + " asked for");
}
