// Functions made of other functions, on tensors.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/loss_rows.h"

namespace mercer {

#define MERCER_VALUE Tensor
#include "engine/ops/composed.inc"

}  // namespace mercer
