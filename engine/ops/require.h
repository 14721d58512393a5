// What operations ask of dtypes. Most throw DTypeError, with what it got and the fix.
#pragma once

#include "engine/export.h"
#include "engine/tensor.h"

namespace mercer {

/// f32 or f64.
MERCER_API void require_floating(const char* operation, const Tensor& x);
/// Anything but bool and bf16.
MERCER_API void require_numbers(const char* operation, const Tensor& x);
/// i64; `what` names the tensor in the message.
MERCER_API void require_i64(const char* operation, const char* what, const Tensor& x);
/// ValueError unless `number` is 0 or more, and finite.
MERCER_API void require_at_least_0(const char* operation, const char* what, double number);
/// `value` as a scalar of the operand's dtype; ValueError where an integer dtype cannot hold it.
MERCER_API Tensor number_like(const char* operation, double value, DType dtype);
/// One dtype for both.
MERCER_API void require_same_dtype(const char* operation, const Tensor& a, const Tensor& b,
                                   const char* what_a = "", const char* what_b = "");
/// Both f32 or both f64.
MERCER_API void require_floating_pair(const char* operation, const Tensor& a, const Tensor& b,
                                      const char* what_a, const char* what_b);

}  // namespace mercer
