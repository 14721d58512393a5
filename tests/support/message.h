// What an error says.
#pragma once

#include <string>

#include "engine/error.h"

/// The message of the E that f throws, or "accepted". What else it throws passes through.
template <class E = mercer::Error, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const E& error) {
        return error.what();
    }
    return "accepted";
}
