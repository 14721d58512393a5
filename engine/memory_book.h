// Which operation holds how much memory. Large blocks always, smaller ones on request.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/memory.h"

namespace mercer {

class MemoryBook {
public:
    size_t from() const { return from_.load(std::memory_order_relaxed); }
    /// A block of this size may be in the book.
    size_t lowest_from() const { return lowest_from_.load(std::memory_order_relaxed); }
    void set_from(size_t bytes);

    /// Gives up in silence when the system has no memory for the entry: the block is valid.
    void add(void* block, size_t bytes, std::string_view operation) noexcept;
    void remove(void* block) noexcept;
    void reset_peaks();
    /// The largest holder first.
    std::vector<OperationMemory> entries();
    /// "matmul 4194304 bytes, exp 1048576 bytes": three at most.
    std::string largest_users();

private:
    std::atomic<size_t> from_{size_t{1} << 20}, lowest_from_{size_t{1} << 20};
    std::mutex mutex_;
    std::map<std::string, OperationMemory, std::less<>> operations_;
    std::unordered_map<void*, std::pair<OperationMemory*, size_t>> blocks_;
};

}  // namespace mercer
