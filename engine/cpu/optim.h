// One pass over all the tensors of a step.
#pragma once

#include <span>

#include "engine/cpu/optim_table.h"

namespace mercer::cpu {

/// Updates all items, which share no element of p or state, as if they were one array: cut into
/// pieces by sizes only, small ones inline on the calling thread, without heap allocation. The same
/// bits however they are cut.
MERCER_API void update(std::span<UpdateItem> items);

/// Σ over all items and elements of (scale·a)(scale·b), in double: canonical sums of 16384
/// elements, added in order.
MERCER_API double dot(std::span<DotItem> items, double scale = 1);

}  // namespace mercer::cpu
