// mercer ops: every operation, as a table or as JSON.
#pragma once

#include <string_view>
#include <vector>

#include "autograd/call.h"

namespace mercer::cli {

/// The engine's operations in the order of ops.def, then attention's.
const std::vector<Callable>& all_operations();
/// ValueError with the nearest name if there is none.
const Callable& find_operation(std::string_view name);

void print_ops(bool json);

}  // namespace mercer::cli
