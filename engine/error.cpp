#include "engine/error.h"

namespace mercer {
namespace {

std::string message(std::string_view operation, const std::string& what) {
    std::string text;
    text.reserve(operation.size() + what.size() + 3);
    text.append("[").append(operation).append("] ").append(what);
    return text;
}

}  // namespace

Error::Error(std::string_view operation, const std::string& what)
    : std::runtime_error(message(operation, what)) {}

}  // namespace mercer
