// The profiler: every operation with its time, its thread, its operands and what it allocated, as a
// file for chrome://tracing or ui.perfetto.dev, and as a table.
//
//   Trace trace;
//   trace.start();
//   { const TraceScope scope("epoch"); train(); }
//   trace.stop();
//   trace.write_chrome("epoch.json");
//   std::cout << trace.table();
//
// Off, it costs nothing but the relaxed load that OperationScope does anyway; on, about 0.2 µs for
// each operation.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/operation.h"

namespace mercer {

/// All calls of one name. `self` is the time outside of scopes within; bytes are those of tensors
/// allocated here and within.
struct TraceRow {
    std::string name;
    uint64_t calls = 0;
    double total_ms = 0, self_ms = 0;
    uint64_t bytes = 0;
};

/// Records the operations of all threads between start() and stop(); one at a time in a process.
class MERCER_API Trace {
public:
    /// Keeps the first `capacity` scopes (about 0.4 kB each, taken from the system when used) and
    /// counts the others.
    explicit Trace(size_t capacity = size_t{1} << 18);
    ~Trace();
    Trace& operator=(Trace&&) = delete;  // neither copied nor moved

    /// Forgets what was recorded. ValueError if this or another trace is running.
    void start();
    /// Scopes that are open now will not be in it.
    void stop();
    bool running() const;

    // What was recorded: of a trace that is stopped, else ValueError.
    size_t events() const;
    size_t dropped() const;
    /// Chrome's trace format: complete events ("X") of categories operation, backward, task (a piece of
    /// a parallel loop) and user, and the counter ("C") of live memory. otherData.dropped_events says
    /// how many did not fit.
    void write_chrome(std::ostream& out) const;
    /// IoError if the file cannot be written.
    void write_chrome(const std::filesystem::path& file) const;
    /// By name, the largest total first; tasks are parts of operations and not listed.
    std::vector<TraceRow> summary() const;
    std::string table() const;

    struct Recording;

private:
    const Recording& stopped(const char* operation) const;
    std::unique_ptr<Recording> recording_;
};

/// A span of the host's own in the trace. Does nothing while no trace runs.
class MERCER_API TraceScope {
public:
    explicit TraceScope(std::string_view name) {
        if (instruments::on()) [[unlikely]]
            enter(name);
    }
    ~TraceScope() {
        if (frame_) [[unlikely]]
            leave();
    }
    TraceScope& operator=(TraceScope&&) = delete;  // neither copied nor moved

private:
    void enter(std::string_view name);
    void leave() noexcept;
    OperationFrame* frame_ = nullptr;
};

}  // namespace mercer
