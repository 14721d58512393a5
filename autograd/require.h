// What one value asks of another that stands for it: a cotangent, a sum, what a hook returns.
#pragma once

#include "engine/tensor.h"

namespace mercer {

/// Throws ShapeError unless `given` can stand for a value of this shape and dtype.
MERCER_API void require_like(const char* operation, const char* what, const Shape& shape,
                             DType dtype, const Tensor& given);

}  // namespace mercer
