// The memory behind tensors: counted references, and a version that in-place writes bump and
// backward checks.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "engine/types.h"

namespace mercer {

struct Storage {
    std::atomic<int64_t> references{1};
    std::atomic<uint32_t> version{0};
    Device device;
    void* data = nullptr;
    size_t bytes = 0;
    std::function<void()>* release_external = nullptr;  // set when the memory is the host's
};

/// A counted pointer to a Storage.
class MERCER_API StorageRef {
public:
    StorageRef() = default;
    /// Uninitialised memory of our own; throws MemoryError.
    static StorageRef allocate(size_t bytes);
    /// Memory of the host's, given back by calling `release` once no tensor uses it.
    static StorageRef wrap(void* data, size_t bytes, std::function<void()> release);

    StorageRef(const StorageRef& other) : storage_(other.storage_) {
        if (storage_) storage_->references.fetch_add(1, std::memory_order_relaxed);
    }
    StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
    StorageRef& operator=(StorageRef other) noexcept {
        std::swap(storage_, other.storage_);
        return *this;
    }
    ~StorageRef() {
        if (storage_ && storage_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
            destroy(storage_);
    }
    Storage* operator->() const { return storage_; }
    explicit operator bool() const { return storage_ != nullptr; }
    bool unique() const {
        return storage_ && storage_->references.load(std::memory_order_acquire) == 1;
    }
    /// Unique, and not the host's.
    bool alone() const { return unique() && !storage_->release_external; }
    friend bool operator==(const StorageRef& a, const StorageRef& b) {
        return a.storage_ == b.storage_;
    }

private:
    explicit StorageRef(Storage* storage) : storage_(storage) {}
    static void destroy(Storage* storage) noexcept;
    Storage* storage_ = nullptr;
};

}  // namespace mercer
