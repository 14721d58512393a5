// The allocator: statistics, cache, limit, the host's own; scratch.
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/random.h"
#include "engine/scratch.h"

using namespace mercer;

// First, for what others leave behind hides it.
TEST_CASE("blocks that one thread took and another gave back do not turn the peak around") {
    constexpr int threads = 8;
    std::vector<std::vector<Tensor>> made(threads);
    std::barrier taken(threads + 1), over(threads + 1);
    std::vector<std::thread> list;
    for (int k = 0; k < threads; ++k)
        list.emplace_back([&, k] {
            {
                std::vector<Tensor> warm;
                for (int i = 0; i < 110; ++i) warm.push_back(Tensor::empty({100}));
            }
            Tensor::empty({10000});
            for (int i = 0; i < 110; ++i) made[size_t(k)].push_back(Tensor::empty({100}));
            taken.arrive_and_wait();
            over.arrive_and_wait();
        });
    taken.arrive_and_wait();
    made.clear();
    Tensor::empty({1000});
    CHECK(memory_stats().peak < size_t{1} << 40);
    over.arrive_and_wait();
    for (std::thread& t : list) t.join();
    CHECK(memory_stats().peak < size_t{1} << 40);
}

TEST_CASE("live, peak and cached bytes follow tensors") {
    release_cached_memory();
    const MemoryStats before = memory_stats();
    {
        const Tensor t = Tensor::zeros({1 << 20});
        const MemoryStats during = memory_stats();
        CHECK(during.live - before.live >= size_t{4} << 20);
        CHECK(during.live - before.live <= size_t{5} << 20);
        CHECK(during.peak >= during.live);
    }
    CHECK(memory_stats().live == before.live);
    CHECK(memory_stats().cached >= size_t{4} << 20);
    const uint64_t hits = memory_stats().cache_hits;
    { const Tensor again = Tensor::empty({1 << 20}); }
    CHECK(memory_stats().cache_hits == hits + 1);
    reset_peak_memory();
    CHECK(memory_stats().peak == memory_stats().live);
    release_cached_memory();
    CHECK(memory_stats().cached == 0);
}

TEST_CASE("every size gets a block that is large enough") {
    for (size_t bytes = 1; bytes < (size_t{1} << 22); bytes += bytes / 7 + 1) {
        char* p = static_cast<char*>(memory::allocate(bytes));
        CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
        p[0] = p[bytes - 1] = 1;
        memory::release(p, bytes);
    }
}

TEST_CASE("the limit throws before it allocates, and names the largest users") {
    const Tensor hog = matmul(Tensor::zeros({1024, 1}), Tensor::zeros({1, 1024}));
    set_memory_limit(memory_stats().live + (1 << 20));
    std::string text;
    try {
        const Tensor t = exp(Tensor::empty({1 << 20}));
    } catch (const MemoryError& e) {
        text = e.what();
    }
    set_memory_limit(0);
    CHECK(text.find("limit") != std::string::npos);
    CHECK(text.find("matmul") != std::string::npos);
    CHECK(sum(hog).item<float>() == 0);  // nothing was lost
    CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 50}), MemoryError);
}

namespace {
struct HostHeap {
    int blocks = 0;
    static void* allocate(size_t bytes, void* context) {
        ++static_cast<HostHeap*>(context)->blocks;
        return std::aligned_alloc(64, bytes);
    }
    static void release(void* block, size_t, void* context) {
        --static_cast<HostHeap*>(context)->blocks;
        std::free(block);
    }
};
}  // namespace

TEST_CASE("what was not had is not counted") {
    set_host_allocator(
        {[](size_t, void*) -> void* { return nullptr; }, [](void*, size_t, void*) {}, nullptr});
    reset_peak_memory();
    CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 40}), MemoryError);
    CHECK(memory_stats().peak < size_t{1} << 40);
    set_host_allocator({});
}

TEST_CASE("the host's allocator is used and gets its blocks back") {
    HostHeap heap;
    const Tensor before = Tensor::zeros({1000});
    set_host_allocator({HostHeap::allocate, HostHeap::release, &heap});
    {
        const Tensor x = Tensor::zeros({5000}), t = exp(x);
        CHECK(heap.blocks >= 2);
    }
    set_host_allocator({});
    CHECK(heap.blocks == 0);
    CHECK_THROWS_AS(set_host_allocator({HostHeap::allocate, nullptr, nullptr}), ValueError);
}

TEST_CASE("scratch nests, aligns and survives growth") {
    const Scratch outer;
    Scratch inner;
    double* a = inner.take<double>(3);
    a[2] = 1;
    for (int i = 0; i < 8; ++i) {
        Scratch deeper;
        float* b = deeper.take<float>(100000 << (i % 4));
        CHECK(reinterpret_cast<uintptr_t>(b) % 64 == 0);
        b[0] = 2;
    }
    CHECK(a[2] == 1);
}

TEST_CASE("memory by operation: who holds it, who held the most") {
    const auto of = [](const std::string& name) {
        for (const OperationMemory& m : memory_by_operation())
            if (m.operation == name) return m;
        return OperationMemory{};
    };
    const Tensor x = Tensor::zeros({1 << 19});
    const OperationMemory before = of("exp");
    const Tensor y = exp(x);  // 2 MiB, booked
    { const Tensor z = exp(x); }
    const OperationMemory large = of("exp");
    CHECK(large.live - before.live >= size_t{2} << 20);
    CHECK(large.live - before.live < size_t{3} << 20);
    CHECK(large.peak - before.live >= size_t{4} << 20);
    CHECK(large.allocations == before.allocations + 2);
    CHECK(memory_by_operation().front().live >= large.live);
    reset_peak_memory();
    CHECK(of("exp").peak == of("exp").live);

    const Tensor small = Tensor::zeros({16});
    CHECK(of("sin").allocations == 0);
    const Tensor unbooked = sin(small);
    CHECK(of("sin").allocations == 0);
    set_memory_booking(0);
    {
        const Tensor booked = sin(small);
        CHECK(of("sin").live >= 64);
        CHECK(of("sin").live <= 256);
        set_memory_booking(size_t{1} << 20);  // what was booked leaves the book all the same
    }
    CHECK(of("sin").live == 0);
    CHECK(of("sin").peak > 0);
    reset_peak_memory();
    CHECK(of("sin").peak == 0);
}

TEST_CASE("the limit is never exceeded, and all that was there stays usable") {
    const Tensor w = randn(Key{1, 1}, {256, 256});
    Tape tape;
    const Var v = tape.watch(w);
    const Var loss = mean(square(tanh(matmul(v, v))));
    const std::vector<float> expected = tape.gradient(loss, {v}, retain)[0].to_vector<float>();
    release_cached_memory();
    reset_peak_memory();
    const size_t live = memory_stats().live, limit = live + (size_t{1} << 18) + 4096;
    set_memory_limit(limit);
    // A backward pass runs into it: nothing leaks, and the pass succeeds once there is room.
    CHECK_THROWS_WITH_AS(tape.gradient(loss, {v}, retain), doctest::Contains("largest users"),
                         MemoryError);
    CHECK(memory_stats().live == live);
    // So do many threads at once.
    std::atomic<int> refused{0};
    std::barrier together(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                std::vector<Tensor> held;  // by all four at once: more than there is
                try {
                    for (int k = 0; k < 2; ++k) held.push_back(Tensor::empty({1 << 14}));
                } catch (const MemoryError&) {
                    ++refused;
                }
                together.arrive_and_wait();
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(memory_stats().peak <= limit);
    CHECK(memory_stats().live == live);
    { const Tensor fits = Tensor::empty({1 << 15}); }
    set_memory_limit(0);
    CHECK(tape.gradient(loss, {v}, retain)[0].to_vector<float>() == expected);
    CHECK(refused >= 200);
}

TEST_CASE("small blocks that threads keep are counted, travel and are given up") {
    release_cached_memory();
    reset_peak_memory();
    const MemoryStats before = memory_stats();
    std::vector<Tensor> kept;
    for (int i = 0; i < 3000; ++i) kept.push_back(Tensor::zeros({8}));
    const MemoryStats full = memory_stats();
    CHECK(full.live == before.live + 3000 * 128);
    CHECK(full.peak == full.live);
    CHECK(full.allocations == before.allocations + 3000);
    // Made here, freed there: more than a thread keeps, and all of it when the thread ends.
    std::thread([&] { kept.clear(); }).join();
    const MemoryStats freed = memory_stats();
    CHECK(freed.live == before.live);
    CHECK(freed.peak == full.peak);
    CHECK(freed.cached >= before.cached + 3000 * 128);
    for (int i = 0; i < 3000; ++i) kept.push_back(Tensor::zeros({8}));
    const MemoryStats again = memory_stats();
    CHECK(again.cache_hits == freed.cache_hits + 3000);
    CHECK(again.live == full.live);
    kept.clear();
    { const Tensor hit = Tensor::zeros({8}); }
    CHECK(memory_stats().cache_hits == again.cache_hits + 1);
    CHECK(memory_stats().peak == full.peak);
    // A limit counts blocks that threads keep too.
    set_memory_limit(memory_stats().live + 1000);
    const auto fill = [&] {
        for (int i = 0; i < 100; ++i) kept.push_back(Tensor::zeros({8}));
    };
    CHECK_THROWS_AS(fill(), MemoryError);
    CHECK(kept.size() == 7);
    set_memory_limit(0);
    kept.clear();
    release_cached_memory();
    CHECK(memory_stats().cached == 0);
    CHECK(memory_stats().live == before.live);
}
