// Scratch memory for kernels, per thread: a stack that grows to its high-water mark and is kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/export.h"

namespace mercer {

/// Takes pieces of the calling thread's scratch stack; all are given back when it goes out of
/// scope.
///   Scratch scratch; float* tile = scratch.take<float>(n);      // 64-byte aligned, uninitialised
/// Throws MemoryError. Counted in memory_stats().
class MERCER_API Scratch {
public:
    Scratch();
    ~Scratch();
    Scratch& operator=(Scratch&&) = delete;  // neither copied nor moved

    template <class T>
    T* take(int64_t count) {
        return static_cast<T*>(take_bytes(size_t(count) * sizeof(T)));
    }

private:
    void* take_bytes(size_t bytes);
    size_t block_, used_;  // where the stack stood
};

}  // namespace mercer
