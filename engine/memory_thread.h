// Small blocks that a thread keeps for itself: taken and given back without a locked instruction.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mercer {

/// Blocks that are free, the one given last first; each holds where the next one is.
class FreeBlocks {
public:
    void give(void* block) {
        *static_cast<void**>(block) = head_;
        head_ = block;
    }
    /// nullptr if there is none.
    void* take() {
        void* const block = head_;
        if (block) head_ = *static_cast<void**>(block);
        return block;
    }

private:
    void* head_ = nullptr;
};

/// Only the owning thread changes it. Others read the counters for statistics, which therefore are
/// atomics, but of one writer.
struct ThreadBlocks {
    static constexpr size_t unit = 64, classes = 8;  // class i holds blocks of (i + 1)·unit bytes
    static constexpr uint64_t kept = 1 << 18;        // bytes of each class, at most
    static constexpr int64_t unsettled_most = 1 << 16;  // bytes the common count may be off by

    template <class T>
    struct Counter {
        std::atomic<T> value{0};
        T get() const { return value.load(std::memory_order_relaxed); }
        void set(T x) { value.store(x, std::memory_order_relaxed); }
        void add(T x) { set(get() + x); }
    };

    std::array<FreeBlocks, classes> free;
    std::array<Counter<uint64_t>, classes> held;  // blocks in each list
    Counter<uint64_t> hits;
    Counter<int64_t> live, high;  // bytes taken less given back since last settled; its maximum
    uint64_t epoch = 0;  // of the allocator: when it moves on, the blocks kept here are given up
    ThreadBlocks *next = nullptr, *previous = nullptr;

    static size_t bytes_of(size_t index) { return (index + 1) * unit; }

    /// nullptr if there is none.
    void* take(size_t index) {
        void* const block = free[index].take();
        if (!block) return nullptr;
        held[index].add(uint64_t(-1));
        hits.add(1);
        live.add(int64_t(bytes_of(index)));
        high.set(std::max(high.get(), live.get()));
        return block;
    }
    /// False if enough are kept.
    bool keep(void* block, size_t index) {
        if (held[index].get() * bytes_of(index) >= kept) return false;
        free[index].give(block);
        held[index].add(1);
        live.add(-int64_t(bytes_of(index)));
        return true;
    }
    bool unsettled() const {
        const int64_t n = live.get();
        return n > unsettled_most || n < -unsettled_most;
    }
    /// Empties the lists; give(block, index) takes every block.
    template <class Give>
    void give_up(Give give) {
        for (size_t i = 0; i < classes; ++i) {
            held[i].set(0);
            while (void* const block = free[i].take()) give(block, i);
        }
    }
};

}  // namespace mercer
