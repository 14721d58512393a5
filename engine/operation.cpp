#include "engine/operation.h"

#include <memory>
#include <utility>

#include "engine/cancel.h"
#include "engine/operation_frame.h"

namespace mercer {

constinit thread_local OperationContext operation_context;

namespace {
thread_local std::exception_ptr waiting;  // found by a check, not thrown yet
}

namespace instruments {
constinit std::atomic<int> active{1};

void throw_waiting() {
    if (waiting) std::rethrow_exception(std::exchange(waiting, nullptr));
}

bool waits() noexcept { return waiting != nullptr; }
void forget_waiting() noexcept { waiting = nullptr; }

void made(const Tensor& t) {
    OperationFrame* frame = operation_context.frame;
    if (!frame) return;
    frame->bytes += t.storage()->bytes;
    if (frame->kind == WatchedScope::Kind::user || frame->kind == WatchedScope::Kind::task) return;
    frame->allocated = true;
    frame->shape = t.shape();
    frame->dtype = t.dtype();
    if (frame->check != FiniteCheck::off && is_floating(gradient_dtype(t.dtype())))
        frame->made.push_back(t);
}
}  // namespace instruments

void WatchedScope::enter(const char* name, Kind kind) {
    OperationContext& context = operation_context;
    instruments::throw_waiting();
    poll_cancelled(name);
    const FiniteCheck check = instruments::finite_check();
    const uint64_t session = instruments::trace_session();
    if (check == FiniteCheck::off && session == 0) return;
    context.frame = frame_ = new OperationFrame{name, kind, session};
    frame_->check = check;
}

void WatchedScope::reads(std::span<const Tensor> x) {
    for (const Tensor& t : x)
        if (t.defined() && frame_->operand_count < frame_->max_operands)
            frame_->operands[frame_->operand_count++] = &t;
}
void WatchedScope::reads(std::span<const Tensor* const> x) {
    for (const Tensor* t : x) reads({t, 1});
}

void WatchedScope::leave() noexcept {
    const std::unique_ptr<OperationFrame> frame(frame_);
    operation_context.frame = frame->outer;
    if (frame->session) instruments::trace(*frame);
    if (!frame->made.empty() && !waiting && std::uncaught_exceptions() == frame->exceptions) try {
            instruments::check_results(*frame);
        } catch (...) {
            waiting = std::current_exception();
        }
}

// Open scopes of the thread that a task happens to run on are none of its business.
TaskScope::TaskScope(const OperationContext& caller) : outer_(operation_context) {
    operation_context = caller;
    operation_context.frame = nullptr;
    const uint64_t session = instruments::on() ? instruments::trace_session() : 0;
    if (session == 0) return;
    frame_ = new OperationFrame{OperationScope::current(), WatchedScope::Kind::task, session};
    operation_context.frame = frame_;
}
TaskScope::~TaskScope() {
    operation_context = outer_;
    if (std::uncaught_exceptions()) waiting = nullptr;  // this thread's next task is another's
    if (!frame_) return;
    instruments::trace(*frame_);
    delete frame_;
}

CancelScope::CancelScope(std::stop_token token)
    : token_(std::move(token)), outer_(operation_context.stop) {
    operation_context.stop = &token_;
    ++instruments::active;
}
CancelScope::~CancelScope() {
    operation_context.stop = outer_;
    --instruments::active;
}

void throw_if_stopped(const std::stop_token& stop, const char* operation) {
    if (stop.stop_requested()) throw Cancelled(operation, "cancelled: a stop was requested");
}

}  // namespace mercer
