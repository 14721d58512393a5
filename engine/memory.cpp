#include "engine/memory.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>

#include "engine/error.h"
#include "engine/log.h"
#include "engine/memory_book.h"
#include "engine/memory_thread.h"
#include "engine/wait.h"

namespace mercer {

namespace {

constexpr size_t alignment = 64;

// Large blocks ask for huge pages: fewer faults when they are new, and a tenth off the time of passes
// over them.
constexpr size_t huge_page = size_t{2} << 20, huge_from = size_t{4} << 20, small_page = 4096;

// Four size classes for each doubling: at most a quarter is wasted. They are counted beyond the first unit,
// which a tensor's header takes, so that data of 2^n bytes waste nothing.
size_t class_of(size_t bytes) {
    const size_t units = (std::max<size_t>(bytes, 1) - 1) / alignment;
    if (units <= 8) return units;
    const int top = std::bit_width(units - 1) - 1;  // units in (2^top, 2^(top+1)]
    const size_t quarter = size_t{1} << (top - 2);
    const size_t step = (units - 1 - (size_t{1} << top)) / quarter;
    return 9 + size_t(top - 3) * 4 + step;
}
size_t class_bytes(size_t index) {
    if (index <= 8) return (index + 1) * alignment;
    const size_t top = (index - 9) / 4 + 3, step = (index - 9) % 4;
    return ((size_t{1} << top) + (step + 1) * (size_t{1} << (top - 2)) + 1) * alignment;
}
constexpr size_t class_count = 9 + 4 * 48;

class SpinLock {
public:
    void lock() {
        while (!spin_until([&] { return !flag_.test_and_set(std::memory_order_acquire); })) {
        }
    }
    void unlock() { flag_.clear(std::memory_order_release); }

private:
    std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

// One size class. Its counters live under its lock: an allocation costs two locked instructions.
struct FreeList {
    SpinLock lock;
    FreeBlocks blocks;
    uint64_t taken = 0, hits = 0, held = 0;

    void give(void* block) {
        const std::lock_guard guard(lock);
        ++held;
        blocks.give(block);
    }
};

struct Allocator {
    std::array<FreeList, class_count> free;
    std::atomic<size_t> live{0}, peak{0}, limit{0};
    MemoryBook book;
    std::mutex threads_mutex;
    ThreadBlocks* threads = nullptr;
    std::atomic<uint64_t> epoch{0}, past_hits{0};  // hits of threads that are gone
    std::mutex host_mutex;
    HostAllocator host;
    std::atomic<bool> has_host{false};
    std::unordered_map<void*, HostAllocator> from_host;

    void* take_from_system(size_t bytes) {
        if (has_host.load(std::memory_order_acquire)) {
            const std::lock_guard lock(host_mutex);
            if (host.allocate) {  // not taken back meanwhile
                void* block = host.allocate(bytes, host.context);
                if (block) from_host.emplace(block, host);
                return block;
            }
        }
        if (bytes < huge_from) return std::aligned_alloc(alignment, bytes);
        // What the last huge page would hold little of stands on small ones.
        const size_t whole = (bytes + small_page - 1) / small_page * small_page;
        void* block = nullptr;
        if (posix_memalign(&block, huge_page, whole) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
        madvise(block, whole, MADV_HUGEPAGE);  // advice: without it, all works as well
#endif
        return block;
    }
    void give_to_system(void* block, size_t bytes) {
        {
            const std::lock_guard lock(host_mutex);
            if (auto it = from_host.find(block); it != from_host.end()) {
                const HostAllocator owner = it->second;
                from_host.erase(it);
                return owner.release(block, bytes, owner.context);
            }
        }
        std::free(block);
    }
    /// To a common count, which is below zero while threads have not said what they took.
    void raise_peak(size_t to) {
        size_t from = peak.load(std::memory_order_relaxed);
        while (int64_t(to) > int64_t(from) &&
               !peak.compare_exchange_weak(from, to, std::memory_order_relaxed)) {
        }
    }
    /// Moves what a thread has counted for itself into the common count.
    void settle(ThreadBlocks& t) {
        const int64_t more = t.live.get(), high = t.high.get();
        if (more == 0 && high == 0) return;
        raise_peak(live.fetch_add(size_t(more), std::memory_order_relaxed) + size_t(high));
        t.live.set(0);
        t.high.set(0);
    }
    /// visit(t) for every thread that keeps blocks.
    template <class Visit>
    void each_thread(Visit visit) {
        const std::lock_guard lock(threads_mutex);
        for (ThreadBlocks* t = threads; t; t = t->next) visit(*t);
    }
    size_t live_bytes() {
        size_t sum = live.load(std::memory_order_relaxed);
        each_thread([&](ThreadBlocks& t) { sum += size_t(t.live.get()); });
        return sum;
    }
    void give_up(ThreadBlocks& t) {
        t.give_up([&](void* block, size_t i) { give_to_system(block, class_bytes(i)); });
        t.epoch = epoch.load(std::memory_order_relaxed);
    }
    /// Whether blocks of this size need not be watched one by one.
    bool free_to_keep(size_t size) const {
        return limit.load(std::memory_order_relaxed) == 0 && size < book.lowest_from();
    }
    void trim();
    [[noreturn]] void out_of_memory(size_t bytes, const char* why) {
        throw MemoryError(OperationScope::current(), why, ": wanted ", bytes, " bytes, ",
                          live_bytes(), " live, limit ", limit.load(),
                          "; largest users: ", book.largest_users());
    }
};

// Never destroyed: tensors in a host's static objects may outlive every destructor of ours.
Allocator& allocator() {
    static Allocator* const instance = new Allocator;
    return *instance;
}

// The calling thread's blocks; nullptr before it needs any, and while it ends.
constinit thread_local ThreadBlocks* thread_blocks = nullptr;
constinit thread_local bool thread_ends = false;

struct ThreadBlocksOwner {
    ThreadBlocks blocks;
    ThreadBlocksOwner() {
        Allocator& a = allocator();
        const std::lock_guard lock(a.threads_mutex);
        blocks.epoch = a.epoch.load(std::memory_order_relaxed);
        blocks.next = a.threads;
        if (blocks.next) blocks.next->previous = &blocks;
        a.threads = &blocks;
    }
    ~ThreadBlocksOwner() {
        thread_blocks = nullptr;
        thread_ends = true;
        Allocator& a = allocator();
        {
            const std::lock_guard lock(a.threads_mutex);
            a.settle(blocks);
            a.past_hits += blocks.hits.get();
            (blocks.previous ? blocks.previous->next : a.threads) = blocks.next;
            if (blocks.next) blocks.next->previous = blocks.previous;
        }
        blocks.give_up([&](void* block, size_t i) { a.free[i].give(block); });
    }
};

ThreadBlocks* own_blocks() {
    if (thread_blocks || thread_ends) return thread_blocks;
    thread_local ThreadBlocksOwner owner;
    return thread_blocks = &owner.blocks;
}

void Allocator::trim() {
    epoch.fetch_add(1, std::memory_order_relaxed);
    if (ThreadBlocks* t = own_blocks()) give_up(*t);
    for (size_t i = 0; i < class_count; ++i) {
        FreeBlocks all;
        {
            const std::lock_guard lock(free[i].lock);
            std::swap(all, free[i].blocks);
            free[i].held = 0;
        }
        while (void* const block = all.take()) give_to_system(block, class_bytes(i));
    }
}

}  // namespace

void* memory::allocate(size_t bytes) {
    Allocator& a = allocator();
    if (bytes > (size_t{1} << 46)) a.out_of_memory(bytes, "impossible size");
    const size_t index = class_of(bytes), size = class_bytes(index);
    ThreadBlocks* const own = own_blocks();
    if (own && index < ThreadBlocks::classes && a.free_to_keep(size)) {
        if (own->epoch != a.epoch.load(std::memory_order_relaxed)) a.give_up(*own);
        if (void* block = own->take(index)) {
            if (own->unsettled()) a.settle(*own);
            return block;
        }
    }
    if (own) a.settle(*own);
    const size_t common = a.live.fetch_add(size, std::memory_order_relaxed) + size;
    const size_t limit = a.limit.load(std::memory_order_relaxed);
    const size_t live = limit ? a.live_bytes() : common;
    if (limit && live > limit) {
        a.live -= size;
        a.out_of_memory(bytes, "the memory limit is reached");
    }
    void* block = nullptr;
    {
        FreeList& list = a.free[index];
        const std::lock_guard lock(list.lock);
        ++list.taken;
        if ((block = list.blocks.take())) {
            ++list.hits;
            --list.held;
        }
    }
    if (!block) block = a.take_from_system(size);
    if (!block) {
        log(LogLevel::warning, "the system has no more memory: cached blocks are given up");
        a.trim();
        block = a.take_from_system(size);
    }
    if (!block) {
        a.live -= size;
        a.out_of_memory(bytes, "the system has no more memory");
    }
    a.raise_peak(live);
    if (size >= a.book.from()) a.book.add(block, size, OperationScope::current());
    return block;
}

void memory::release(void* block, size_t bytes) noexcept {
    Allocator& a = allocator();
    const size_t index = class_of(bytes), size = class_bytes(index);
    ThreadBlocks* const own = own_blocks();
    if (own && index < ThreadBlocks::classes && a.free_to_keep(size) && own->keep(block, index)) {
        if (own->unsettled()) a.settle(*own);
        return;
    }
    if (own) a.settle(*own);
    if (size >= a.book.lowest_from()) a.book.remove(block);
    a.live.fetch_sub(size, std::memory_order_relaxed);
    a.free[index].give(block);
}

MemoryStats memory_stats() {
    Allocator& a = allocator();
    MemoryStats stats{a.live, a.live, 0, a.limit, a.past_hits, a.past_hits};
    a.each_thread([&](ThreadBlocks& t) {
        stats.live += size_t(t.live.get());
        stats.peak += size_t(t.high.get());
        stats.allocations += t.hits.get();
        stats.cache_hits += t.hits.get();
        for (size_t i = 0; i < ThreadBlocks::classes; ++i)
            stats.cached += t.held[i].get() * class_bytes(i);
    });
    stats.peak = std::max(stats.peak, a.peak.load());
    for (size_t i = 0; i < class_count; ++i) {
        const std::lock_guard lock(a.free[i].lock);
        stats.cached += a.free[i].held * class_bytes(i);
        stats.allocations += a.free[i].taken;
        stats.cache_hits += a.free[i].hits;
    }
    return stats;
}

size_t memory::live() noexcept { return allocator().live_bytes(); }

void reset_peak_memory() {
    Allocator& a = allocator();
    a.each_thread([](ThreadBlocks& t) { t.high.set(t.live.get()); });
    a.peak = a.live_bytes();
    a.book.reset_peaks();
}
std::vector<OperationMemory> memory_by_operation() { return allocator().book.entries(); }
void set_memory_booking(size_t from_bytes) { allocator().book.set_from(from_bytes); }
void set_memory_limit(size_t bytes) { allocator().limit = bytes; }
void release_cached_memory() { allocator().trim(); }

void set_host_allocator(HostAllocator host) {
    if (bool(host.allocate) != bool(host.release))
        throw ValueError("set_host_allocator", "needs both allocate and release, or neither");
    Allocator& a = allocator();
    a.trim();
    const std::lock_guard lock(a.host_mutex);
    a.host = host;
    a.has_host.store(host.allocate != nullptr, std::memory_order_release);
}

}  // namespace mercer
