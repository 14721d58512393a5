#include "engine/cpu/tiny.h"

namespace mercer {
MERCER_DISPATCH_TYPED(cpu::TinyKernels, tiny_kernels)
}
