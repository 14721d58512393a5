#include "engine/cancel.h"

#include <utility>

namespace mercer {

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
