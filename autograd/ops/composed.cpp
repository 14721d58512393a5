// Functions made of other functions, on Vars.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>

#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/ops/loss_rows.h"

namespace mercer {

Var padded(const Var& x, const Pad::Attrs& attrs);  // autograd/ops/layout.cpp

#define MERCER_VALUE Var
#include "engine/ops/composed.inc"

}  // namespace mercer
