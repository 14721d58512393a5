#include "autograd/require.h"

#include <string>

#include "engine/error.h"

namespace mercer {

void require_like(const char* operation, const char* what, const Shape& shape, DType dtype,
                  const Tensor& given) {
    if (given.defined() && given.shape() == shape && given.dtype() == dtype) return;
    throw ShapeError(operation, std::string(what) + " is " +
                                    (given.defined() ? to_string(given.dtype(), given.shape())
                                                     : std::string("undefined")) +
                                    ", where " + to_string(dtype, shape) + " is needed");
}

}  // namespace mercer
