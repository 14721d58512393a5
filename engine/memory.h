// Memory for tensors: a caching allocator with statistics, a hard limit, and the host's own
// allocator if it gives one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/operation.h"

namespace mercer {

/// All in bytes but the counters. `live` is what tensors and scratch hold, `cached` what was freed
/// and is kept. `peak` is exact for one thread; each further one that takes small blocks may add 64 KiB.
struct MemoryStats {
    size_t live = 0, peak = 0, cached = 0, limit = 0;
    uint64_t allocations = 0, cache_hits = 0;
};

MERCER_API MemoryStats memory_stats();
/// Makes `peak` the present `live`.
MERCER_API void reset_peak_memory();
/// Live bytes above which an allocation throws MemoryError, naming the largest users; 0: no limit.
MERCER_API void set_memory_limit(size_t bytes);
/// Gives cached blocks back to the system (or the host's allocator). Small ones that another thread
/// keeps (256 KiB of each of eight sizes at most) follow when it allocates next, or ends.
MERCER_API void release_cached_memory();

/// What one operation allocated, in bytes: what is live now, the most that was live at once, and how
/// many blocks it took.
struct OperationMemory {
    std::string operation;
    size_t live = 0, peak = 0;
    uint64_t allocations = 0;
};
/// By the operation that allocated (the innermost one), the largest holder first. reset_peak_memory()
/// makes each `peak` the present `live`, and forgets operations that hold nothing.
MERCER_API std::vector<OperationMemory> memory_by_operation();
/// Blocks of this size are booked from now on (they cost a lock and a look-up); 1 MiB at first, 0 for
/// all.
MERCER_API void set_memory_booking(size_t from_bytes);

/// The host's allocator: 64-byte aligned blocks, nullptr on failure. `context` is passed through.
struct HostAllocator {
    void* (*allocate)(size_t bytes, void* context) = nullptr;
    void (*release)(void* block, size_t bytes, void* context) = nullptr;
    void* context = nullptr;
};
/// Used for blocks taken from now on; cached ones are released first. Blocks go back to where they
/// came from.
MERCER_API void set_host_allocator(HostAllocator allocator);

namespace memory {
/// A 64-byte aligned block of at least `bytes`; throws MemoryError.
MERCER_API void* allocate(size_t bytes);
MERCER_API void release(void* block, size_t bytes) noexcept;
/// Live bytes, without the cost of memory_stats().
MERCER_API size_t live() noexcept;
}  // namespace memory

}  // namespace mercer
