#include "engine/ops/losses.h"

#include "engine/cpu/dispatch.h"
#include "engine/cpu/pointwise_sum.h"

namespace mercer {

#define MERCER_LOSS(name, ...)                                                 \
    MERCER_DISPATCH(cpu::PointwiseKernels, name##_kernels)                     \
    MERCER_DISPATCH(cpu::PointwiseSums, name##_sums)                           \
    const PointwiseOp& loss::name() {                                          \
        static constexpr PointwiseOp op{#name, &name##_kernels, &name##_sums}; \
        return op;                                                             \
    }
#include "engine/ops/losses.def"
#undef MERCER_LOSS

}  // namespace mercer
