// The list of operations (ops.def) as data: for tests, docs, benches and `mercer ops`.
#pragma once

#include <span>
#include <string_view>

#include "engine/ops/pointwise.h"

namespace mercer {

struct OperationInfo {
    std::string_view name, latex;
    const PointwiseOp* pointwise;  // null for a structural operation
    std::string_view domain;       // where a pointwise formula is smooth: any, positive, nonzero
};

/// Every operation, in the order of ops.def.
MERCER_API std::span<const OperationInfo> operations();

/// The built-in pointwise operation of that name; ValueError if there is none.
MERCER_API const PointwiseOp& pointwise_op(std::string_view name);

}  // namespace mercer
