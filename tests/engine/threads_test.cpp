// No thread before the first loop worth splitting; the host's arena; bounds from the environment. A
// program of its own.
#include <doctest/doctest.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "autograd/checkpoint.h"
#include "autograd/custom.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/cancel.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/emulated.h"

using namespace mercer;

namespace {
long threads_alive() {
    long n = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/task"))
        ++n;
    return n;
}
// Before main; an emulator may keep a thread of its own.
const long at_start = threads_alive();

}  // namespace

TEST_CASE("no thread exists before the first parallel call") {
    if (!emulated) CHECK(at_start == 1);
    CHECK(threads_alive() == at_start);
    set_thread_count(2);
    Tape tape;
    const Var w = tape.watch(randn(Key{1, 1}, {8, 8}));
    const Var loss = sum(square(tanh(matmul(w, w))));
    CHECK(tape.gradient(loss, {w})[0].count() == 64);
    CHECK(threads_alive() == at_start);  // small work stays here
    const Tensor big = exp(randn(Key{1, 2}, {1 << 22}));
    CHECK(threads_alive() > at_start);
}

TEST_CASE("more threads than processors: nothing is printed") {
    std::FILE* const seen = std::tmpfile();
    std::fflush(stderr);
    const int saved = dup(2);
    dup2(fileno(seen), 2);
    const int before = thread_count();
    set_thread_count(int(std::thread::hardware_concurrency()) + 1);
    const Tensor out = exp(Tensor::zeros({1 << 20}));
    set_thread_count(before);
    std::fflush(stderr);
    dup2(saved, 2);
    close(saved);
    CHECK(lseek(fileno(seen), 0, SEEK_END) == 0);
    std::fclose(seen);
    CHECK(out.count() == 1 << 20);
}

TEST_CASE("a loop covers every item once, also in the host's arena") {
    tbb::task_arena host(2);
    for (tbb::task_arena* arena : {static_cast<tbb::task_arena*>(nullptr), &host}) {
        set_arena(arena);
        std::vector<std::atomic<int>> seen(10007);
        parallel_for(int64_t(seen.size()), 10, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) ++seen[size_t(i)];
        });
        for (const auto& s : seen) CHECK(s == 1);
    }
    set_arena(nullptr);
}

TEST_CASE("exceptions leave a loop, loops nest") {
    CHECK_THROWS_AS(parallel_for(1000, 1,
                                 [](int64_t begin, int64_t) {
                                     if (begin > 500) throw ValueError("test", "inside");
                                 }),
                    ValueError);
    std::atomic<int64_t> total{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
        parallel_for(100, 1, [&](int64_t b, int64_t e) { total += (end - begin) * (e - b); });
    });
    CHECK(total == 10000);
    CHECK_THROWS_AS(set_thread_count(0), ValueError);
    CHECK_THROWS_AS(set_thread_count(1 << 30), ValueError);
    // Pieces of nothing are pieces of one, also where a stop is looked for between them.
    std::stop_source source;
    const CancelScope scope(source.get_token());
    std::atomic<int64_t> items{0};
    parallel_for(100, 0, [&](int64_t begin, int64_t end) { items += end - begin; });
    CHECK(items == 100);
}

TEST_CASE("two tapes on two threads share parameters, operations and pieces") {
    const Tensor w = randn(Key{2, 1}, {192, 192}) / 14.0, x = randn(Key{2, 2}, {256, 192});
    const auto square_it = custom(
        "square_it", [](const Tensor& t) { return t * t; },
        [](auto& c) { c.give(0, c.g() * c.in(0) * 2.0); });
    const auto piece = [](const Var& a, const Var& b) { return tanh(matmul(a, b)); };
    const auto work = [&] {
        Tape tape;
        float total = 0;
        for (int step = 0; step < 3; ++step) {
            tape.reset();
            const Var v = tape.watch(w);
            tape.on_gradient(
                v, [&](const Var& g) { return total += sum(g.value()).item<float>(), Var(); });
            const Var h = checkpoint(piece, checkpoint(piece, x, v), v);
            const Var g = tape.gradient(mean(square_it(h)), {v}, create_graph)[0];
            total += sum(tape.gradient(sum(square(g)), {v})[0]).item<float>();
        }
        return total;
    };
    const float expected = work();
    float results[2] = {};
    std::thread a([&] { results[0] = work(); }), b([&] { results[1] = work(); });
    a.join();
    b.join();
    CHECK(results[0] == expected);
    CHECK(results[1] == expected);
}
