// The allocator: statistics, cache, limit, the host's own; scratch.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/scratch.h"

using namespace mercer;

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

TEST_CASE("the host's allocator is used and gets its blocks back") {
    HostHeap heap;
    const Tensor before = Tensor::zeros({1000});
    set_host_allocator({HostHeap::allocate, HostHeap::release, &heap});
    {
        const Tensor t = exp(Tensor::zeros({5000}));
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
