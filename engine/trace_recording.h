// What a trace holds. For trace.cpp, which fills it, and io/trace_write.cpp, which reads it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <span>

#include "engine/operation_frame.h"
#include "engine/trace.h"

namespace mercer {

struct TraceTensor {
    Shape shape;
    DType dtype;
};

struct TraceEvent {
    const char* name;
    WatchedScope::Kind kind;
    uint32_t thread;
    int64_t start, duration, self;  // ns
    uint64_t bytes;
    size_t live;  // memory when it ended
    uint32_t operands;
    bool allocated;
    TraceTensor tensors[OperationFrame::max_operands + 1];  // operands, what was allocated last
};

struct Trace::Recording {
    explicit Recording(size_t n) : capacity(n) {}

    const size_t capacity;
    std::atomic<uint64_t> session{0};
    int64_t start = 0;
    // Pages come from the system when they are written first: an unused capacity costs nothing.
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<TraceEvent[], Free> events;
    std::atomic<size_t> next{0};
    std::mutex names_mutex;
    std::set<std::string, std::less<>> names;  // of user scopes

    size_t kept() const { return std::min(next.load(), capacity); }
    size_t dropped() const { return next.load() - kept(); }
    std::span<const TraceEvent> all() const { return {events.get(), kept()}; }
};

}  // namespace mercer
