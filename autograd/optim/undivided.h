// What must be done whole or not at all.
#pragma once

#include "engine/cancel.h"
#include "engine/operation.h"

namespace mercer {

/// A step that was cut short could not be taken up again: stops wait until it is over. The constructor may throw Cancelled.
class Undivided {
public:
    Undivided() {
        poll_cancelled();
        operation_context.stop = nullptr;
    }
    ~Undivided() { operation_context.stop = stop_; }
    Undivided(const Undivided&) = delete;
    Undivided& operator=(const Undivided&) = delete;

private:
    const std::stop_token* stop_ = operation_context.stop;
};

}  // namespace mercer
