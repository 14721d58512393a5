#include "engine/error.h"

namespace mercer {

Error::Error(std::string_view operation, const std::string& what)
    : std::runtime_error("[" + std::string(operation) + "] " + what) {}

}  // namespace mercer
