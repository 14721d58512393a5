// Memory for tensors: a caching allocator with statistics, a hard limit, and the host's own
// allocator if it gives one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/export.h"

namespace mercer {

/// All in bytes but the counters. `live` is what tensors and scratch hold, `cached` what was freed
/// and is kept.
struct MemoryStats {
    size_t live = 0, peak = 0, cached = 0, limit = 0;
    uint64_t allocations = 0, cache_hits = 0;
};

MERCER_API MemoryStats memory_stats();
/// Makes `peak` the present `live`.
MERCER_API void reset_peak_memory();
/// Live bytes above which an allocation throws MemoryError, naming the largest users; 0: no limit.
MERCER_API void set_memory_limit(size_t bytes);
/// Gives cached blocks back to the system (or the host's allocator).
MERCER_API void release_cached_memory();

/// The host's allocator: 64-byte aligned blocks, nullptr on failure. `context` is passed through.
struct HostAllocator {
    void* (*allocate)(size_t bytes, void* context) = nullptr;
    void (*release)(void* block, size_t bytes, void* context) = nullptr;
    void* context = nullptr;
};
/// Used for blocks taken from now on; cached ones are released first. Blocks go back to where they
/// came from.
MERCER_API void set_host_allocator(HostAllocator allocator);

/// Names the operation that allocates, for the out-of-memory report, while in scope.
class MERCER_API OperationScope {
public:
    explicit OperationScope(const char* name) : outer_(current()) { current() = name; }
    ~OperationScope() { current() = outer_; }
    OperationScope(const OperationScope&) = delete;
    OperationScope& operator=(const OperationScope&) = delete;
    static const char*& current();

private:
    const char* outer_;
};

namespace memory {
/// A 64-byte aligned block of at least `bytes`; throws MemoryError.
MERCER_API void* allocate(size_t bytes);
MERCER_API void release(void* block, size_t bytes) noexcept;
}  // namespace memory

}  // namespace mercer
