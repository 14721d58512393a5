#include "engine/error.h"

#include "engine/operation.h"

namespace mercer {

Error::Error(std::string_view operation, const std::string& what)
    : std::runtime_error(
          "[" + std::string(operation_context.called ? operation_context.called : operation) +
          "] " + what) {}

}  // namespace mercer
