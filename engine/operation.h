// The scope of an operation. It names what allocates, and it is the one place where instruments
// meet operations: the profiler (trace.h), the check for NaN (finite.h), cancellation (cancel.h).
// With all of them off it costs one relaxed load and two stores.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stop_token>
#include <type_traits>

#include "engine/export.h"

namespace mercer {

class Tensor;
struct OperationFrame;

/// What a check looks for in results; `environment`: what MERCER_CHECK_FINITE says.
enum class FiniteCheck : uint8_t { environment, off, nan, infinite };

/// What the operations of one thread run under. A parallel loop hands it to its tasks.
struct OperationContext {
    const char* name = nullptr;             // the innermost operation
    const std::stop_token* stop = nullptr;  // of the innermost CancelScope
    FiniteCheck check = FiniteCheck::environment;
    OperationFrame* frame = nullptr;  // the innermost watched scope
    const char* called = nullptr;     // what errors name, of the outermost CalledAs
};
extern MERCER_API constinit thread_local OperationContext operation_context;

namespace instruments {
/// Instruments that are on, in the whole process; at first 1, for the environment is not read yet.
extern MERCER_API constinit std::atomic<int> active;
inline bool on() { return active.load(std::memory_order_relaxed) != 0; }
/// A tensor was made (or written in place) by the innermost operation of this thread.
MERCER_API void made(const Tensor& t);
MERCER_API void throw_waiting();
/// Throws what the check of an operation that is over found. A destructor cannot: compilers (GCC up
/// to 13) leave a returned value undestroyed when a local one throws, which would leak the result.
inline void settle() {
    if (on()) [[unlikely]]
        throw_waiting();
}
/// f(), the result of an operation: returned if the check found nothing.
template <class F>
auto settled(F f) {
    auto result = f();
    settle();
    return result;
}
}  // namespace instruments

/// What instruments see of an operation, or of a node's derivative, while in scope. The constructor
/// throws Cancelled, or what the check found in the operation before. `name` lives as long as the
/// program.
class MERCER_API WatchedScope {
public:
    enum class Kind : uint8_t { operation, backward, task, user };

    explicit WatchedScope(const char* name, Kind kind = Kind::operation) {
        if (instruments::on()) [[unlikely]]
            enter(name, kind);
    }
    /// x: the operands; they outlive the scope.
    template <class T>
    requires(std::is_same_v<T, Tensor> || std::is_same_v<T, const Tensor*>)
        WatchedScope(const char* name, std::span<const T> x)
        : WatchedScope(name) {
        if (frame_) [[unlikely]]
            reads(x);
    }
    WatchedScope(const char* name, std::initializer_list<const Tensor*> x)
        : WatchedScope(name, std::span<const Tensor* const>(x.begin(), x.size())) {}
    ~WatchedScope() {
        if (frame_) [[unlikely]]
            leave();
    }
    WatchedScope(const WatchedScope&) = delete;
    WatchedScope& operator=(const WatchedScope&) = delete;

private:
    void enter(const char* name, Kind kind);
    void reads(std::span<const Tensor> x);
    void reads(std::span<const Tensor* const> x);
    void leave() noexcept;

    OperationFrame* frame_ = nullptr;
};

/// Around every operation that computes (compute() in ops/op.h): watched, and the name of what it allocates.
///   const OperationScope scope(name, x);      // x: its operands, as a span or {&a, &b}
/// What an operation returns it has written completely.
class OperationScope : public WatchedScope {
public:
    template <class... X>
    explicit OperationScope(const char* name, const X&... x)
        : WatchedScope(name, x...), outer_(operation_context.name) {
        operation_context.name = name;
    }
    OperationScope(const char* name, std::initializer_list<const Tensor*> x)
        : WatchedScope(name, x), outer_(operation_context.name) {
        operation_context.name = name;
    }
    ~OperationScope() { operation_context.name = outer_; }
    /// Outside of every operation: `otherwise`.
    static const char* current(const char* otherwise = "tensor") {
        return operation_context.name ? operation_context.name : otherwise;
    }

private:
    const char* outer_;
};

/// First line of a function that is made of others: what these throw bears its name, which is the
/// one that the user called.
class CalledAs {
public:
    explicit CalledAs(const char* name) : outer_(operation_context.called) {
        if (!outer_) operation_context.called = name;
    }
    ~CalledAs() { operation_context.called = outer_; }
    CalledAs(const CalledAs&) = delete;
    CalledAs& operator=(const CalledAs&) = delete;

private:
    const char* outer_;
};

/// A piece of a parallel loop, on whatever thread: runs under its caller's context.
class TaskScope {
public:
    explicit TaskScope(const OperationContext& caller);
    ~TaskScope();
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

private:
    OperationContext outer_;
    OperationFrame* frame_ = nullptr;
};

}  // namespace mercer
