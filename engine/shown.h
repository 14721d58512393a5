// Numbers in messages.
#pragma once

#include <string>

#include "engine/export.h"

namespace mercer {

/// In as few digits as tell it from its neighbours: 0.1, 1e-09, inf.
MERCER_API std::string shown(double x);
MERCER_API std::string shown(float x);

}  // namespace mercer
