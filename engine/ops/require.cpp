#include "engine/ops/require.h"

#include <string>

#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

namespace {

std::string described(const char* what, const Tensor& x) {
    return (*what ? what + std::string(" ") : "") + to_string(x.dtype(), x.shape());
}

}  // namespace

void require_floating(const char* operation, const Tensor& x) {
    if (!is_floating(x.dtype()))
        throw DTypeError(operation, "works on f32 and f64, got ", x.dtype(), "; use cast");
}

void refuse_bf16(const char* operation) {
    throw DTypeError(operation ? operation : OperationScope::current(),
                     "bf16 is for storage; use cast, to f32 or f64");
}

void require_numbers(const char* operation, const Tensor& x) {
    if (x.dtype() == DType::bf16) refuse_bf16(operation);
    if (x.dtype() == DType::boolean)
        throw DTypeError(operation, "works on numbers, got bool; use cast");
}

void require_i64(const char* operation, const char* what, const Tensor& x) {
    if (x.dtype() != DType::i64)
        throw DTypeError(operation, what, " must be i64, got ", x.dtype(), "; use cast");
}

void require_at_least_0(const char* operation, const char* what, double number) {
    if (!(number >= 0 && number - number == 0))
        throw ValueError(operation, what, " must be at least 0 and finite, got ", number);
}

Tensor number_like(const char* operation, double value, DType dtype) {
    const Tensor t = Tensor::scalar(value, dtype);
    // 2^63 is no i64, but the nearest double of the last one.
    if (!is_floating(gradient_dtype(dtype)) && (t.item<double>() != value || value == 0x1p63))
        throw ValueError(operation, value, " is no ", dtype, "; use cast on the tensor");
    return t;
}

void require_same_dtype(const char* operation, const Tensor& a, const Tensor& b, const char* what_a,
                        const char* what_b) {
    if (a.dtype() != b.dtype())
        throw DTypeError(operation, "dtypes differ: ", described(what_a, a), " vs ",
                         described(what_b, b), "; use cast on one");
}

void require_floating_pair(const char* operation, const Tensor& a, const Tensor& b,
                           const char* what_a, const char* what_b) {
    if (!is_floating(a.dtype()) || a.dtype() != b.dtype())
        throw DTypeError(operation, what_a, " and ", what_b, " must be both f32 or both f64, got ",
                         a.dtype(), " and ", b.dtype(), "; use cast");
}

}  // namespace mercer
