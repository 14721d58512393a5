// Products of Vars beyond the public function.
#pragma once

#include "autograd/var.h"
#include "engine/ops/matmul.h"

namespace mercer {

/// matmul whose sums, and those of its gradients, have that order.
MERCER_API Var dot(const Var& a, const Var& b, unsigned axes);
MERCER_API Var matmul_in(cpu::Order order, const Var& a, const Var& b);

}  // namespace mercer
