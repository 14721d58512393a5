// A vector of indices, as filters take them.
#pragma once

#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/tensor.h"

namespace mercer {

inline std::vector<int64_t> index_list(const char* operation, const Tensor& t) {
    if (t.dtype() != DType::i64 || t.rank() != 1)
        throw DTypeError(operation, "needs an i64 vector, got ", t);
    return t.to_vector<int64_t>();
}

}  // namespace mercer
