// The losses of elements, and their sums.
#include "engine/cpu/pointwise_sum_kernels.h"
#include "engine/ops/pointwise/losses.h"

namespace mercer::MERCER_ISA {

#define MERCER_LOSS(name, formula_name, arity, cost)           \
    extern const cpu::PointwiseKernels name##_kernels =        \
        pointwise_kernels<formula::formula_name, arity>(cost); \
    extern const cpu::PointwiseSums name##_sums = pointwise_sums<formula::formula_name, arity>();
#include "engine/ops/losses.def"
#undef MERCER_LOSS

}  // namespace mercer::MERCER_ISA
