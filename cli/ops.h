// mercer ops: every operation, as a table or as JSON.
#pragma once

namespace mercer::cli {

void print_ops(bool json);

}  // namespace mercer::cli
