// The list of operations (ops.def) as data: for tests, docs, benches and `mercer ops`.
#pragma once

#include <string_view>

#include "engine/ops/pointwise.h"

namespace mercer {

enum class Parity : uint8_t { bits, moves, rounding };

struct OperationInfo {
    std::string_view name, latex;
    std::string_view signature;    // as in ops.def
    Parity parity;                 // what is the same on every instruction set and thread count
    std::string_view source;       // the header that defines it
    const PointwiseOp* pointwise;  // null for the others
    std::string_view domain;       // where a pointwise formula is smooth: any, positive, …, one for all or for each
};

/// Every operation, in the order of ops.def.
MERCER_API std::span<const OperationInfo> operations();

/// The built-in pointwise operation of that name; ValueError if there is none.
MERCER_API const PointwiseOp& pointwise_op(std::string_view name);

}  // namespace mercer
