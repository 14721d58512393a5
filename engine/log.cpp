#include "engine/log.h"

#include <mutex>
#include <utility>

namespace mercer {
namespace {

std::mutex mutex;
std::pair<LogCallback, void*> sink{nullptr, nullptr};

}  // namespace

void set_log_callback(LogCallback callback, void* context) {
    const std::lock_guard lock(mutex);
    sink = {callback, context};
}

void log(LogLevel level, std::string_view message) {
    std::pair<LogCallback, void*> to;
    {
        const std::lock_guard lock(mutex);
        to = sink;
    }
    if (to.first) to.first(level, message, to.second);
}

}  // namespace mercer
