#include "autograd/require.h"

#include <string>

#include "engine/error.h"

namespace mercer {

void require_like(const char* operation, const char* what, const Shape& shape, DType dtype,
                  const Tensor& given) {
    if (given.defined() && given.shape() == shape && given.dtype() == dtype) return;
    throw ShapeError(operation, what, " is ", given.defined() ? shown(given) : "undefined",
                     ", where ", to_string(dtype, shape), " is needed");
}

}  // namespace mercer
