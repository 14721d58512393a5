#include "engine/memory_book.h"

#include <algorithm>
#include <new>

namespace mercer {

void MemoryBook::set_from(size_t bytes) {
    const std::lock_guard lock(mutex_);
    lowest_from_ = std::min(lowest_from_.load(), bytes);
    from_ = bytes;
}

void MemoryBook::add(void* block, size_t bytes, std::string_view operation) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        auto at = operations_.find(operation);
        if (at == operations_.end()) {
            at = operations_.emplace(operation, OperationMemory{}).first;
            at->second.operation = operation;
        }
        OperationMemory& entry = at->second;
        blocks_[block] = {&entry, bytes};
        entry.live += bytes;
        entry.peak = std::max(entry.peak, entry.live);
        ++entry.allocations;
    } catch (const std::bad_alloc&) {
    }
}

void MemoryBook::remove(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = blocks_.find(block);
    if (at == blocks_.end()) return;
    at->second.first->live -= at->second.second;
    blocks_.erase(at);
}

void MemoryBook::reset_peaks() {
    const std::lock_guard lock(mutex_);
    std::erase_if(operations_, [](const auto& item) { return item.second.live == 0; });
    for (auto& [name, entry] : operations_) entry.peak = entry.live;
}

std::vector<OperationMemory> MemoryBook::entries() {
    std::vector<OperationMemory> out;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, entry] : operations_) out.push_back(entry);
    }
    std::ranges::stable_sort(out, std::greater(),
                             [](const OperationMemory& m) { return std::pair(m.live, m.peak); });
    return out;
}

std::string MemoryBook::largest_users() {
    std::string text;
    int listed = 0;
    for (const OperationMemory& m : entries()) {
        if (m.live == 0 || listed++ == 3) break;
        text += (text.empty() ? "" : ", ") + m.operation + " " + std::to_string(m.live) + " bytes";
    }
    return text.empty() ? "none above " + std::to_string(from()) + " bytes" : text;
}

}  // namespace mercer
