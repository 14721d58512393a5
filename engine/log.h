// What the library has to say goes to the host's callback, and nowhere else: it never prints.
#pragma once

#include <string_view>

#include "engine/export.h"

namespace mercer {

enum class LogLevel { info, warning };

/// Called from any thread; must not throw. `context` is passed through.
using LogCallback = void (*)(LogLevel level, std::string_view message, void* context);

/// nullptr (the start) silences. Reported so far: the instruction set in use, a thread arena that is
/// made (info); cached memory given up because the system has no more (warning).
MERCER_API void set_log_callback(LogCallback callback, void* context = nullptr);

/// For the engine.
void log(LogLevel level, std::string_view message);

}  // namespace mercer
