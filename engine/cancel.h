// Stopping work that is under way: operations, their tiles and the nodes of a backward pass look at
// a std::stop_token.
//
//   std::stop_source source;                         // a button in the host calls request_stop()
//   const CancelScope scope(source.get_token());
//   y = matmul(a, b);                                // throws Cancelled soon after
#pragma once

#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

/// Operations of this thread, with all their tasks, throw Cancelled once a stop is requested, while
/// in scope. Polled when an operation starts, between the pieces of its loops (tens of µs), between
/// blocks of a matrix product (a few ms) and between the nodes of a backward pass. What was cancelled
/// has no result; its memory is freed and everything else stays usable. A backward pass that was
/// cancelled has dropped the saved values of the nodes it had passed, unless `retain` was given.
/// Scopes nest: the innermost one counts. Cost: a few ns for each operation.
class MERCER_API CancelScope {
public:
    explicit CancelScope(std::stop_token token);
    ~CancelScope();
    CancelScope& operator=(CancelScope&&) = delete;  // neither copied nor moved

private:
    std::stop_token token_;
    const std::stop_token* outer_;
};

/// For the engine: throws if `stop` was requested.
MERCER_API void throw_if_stopped(const std::stop_token& stop, const char* operation);
/// For loops that last: throws Cancelled if this thread's work is to stop. One relaxed load when
/// no instrument is on.
inline void poll_cancelled(const char* operation = OperationScope::current()) {
    if (instruments::on() && operation_context.stop) [[unlikely]]
        throw_if_stopped(*operation_context.stop, operation);
}

}  // namespace mercer
