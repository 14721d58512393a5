#include "autograd/require.h"

#include <string>

#include "engine/error.h"

namespace mercer {

void require_like(const char* operation, const char* what, const Shape& shape, DType dtype,
                  const Tensor& given) {
    if (given.defined() && given.shape() == shape && given.dtype() == dtype) return;
    const auto text = [](DType d, const Shape& s) {
        return std::string(name_of(d)) + to_string(s);
    };
    throw ShapeError(operation, std::string(what) + " is " +
                                    (given.defined() ? text(given.dtype(), given.shape())
                                                     : std::string("undefined")) +
                                    ", where " + text(dtype, shape) + " is needed");
}

}  // namespace mercer
