#include "engine/finite.h"

#include <cmath>
#include <cstdlib>
#include <exception>
#include <optional>

#include "engine/cpu/reduce.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation_frame.h"

namespace mercer {
namespace {

FiniteCheck read_environment() {
    const char* text = std::getenv("MERCER_CHECK_FINITE");
    const std::string value = text ? text : "";
    if (value == "nan" || value == "1") return FiniteCheck::nan;
    if (value == "inf") return FiniteCheck::infinite;
    if (!value.empty() && value != "off" && value != "0")
        throw ValueError("finite check", "MERCER_CHECK_FINITE must be nan, inf or off, got '",
                         value, "'");
    --instruments::active;  // which began at 1
    return FiniteCheck::off;
}

Dims unravel(int64_t at, const Shape& shape) {
    Dims index = Dims::filled(shape.rank(), 0);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[axis] = at % shape[axis];
        at /= shape[axis];
    }
    return index;
}

// The largest magnitude is NaN if any element is, and infinite if any is: no kernel of its own.
bool all_fine(const Tensor& dense, bool infinities) {
    const Tensor flat = dense.view({dense.count()}, {1}, dense.offset());
    const double high = cpu::reduce(cpu::Reduction::max_abs, flat, 1).item<double>();
    return infinities ? std::isfinite(high) : !std::isnan(high);
}

struct Bad {
    int64_t count = 0;
    Dims first{};
};

/// nullopt: all is well. Any strides.
std::optional<Bad> find_bad(const Tensor& t, bool infinities) {
    if (!t.defined() || !is_floating(gradient_dtype(t.dtype())) || t.count() == 0)
        return std::nullopt;
    if (t.device().kind != Device::Kind::cpu) return std::nullopt;  // not ours to read
    if (t.dtype() == DType::bf16) return find_bad(cast(t, DType::f32), infinities);
    const Tensor dense = t.contiguous();
    if (all_fine(dense, infinities)) return std::nullopt;
    Bad bad;
    visit(t.dtype(), [&]<class T>(T) {
        const T* x = static_cast<const T*>(dense.raw());
        for (int64_t i = 0; i < dense.count(); ++i) {
            const double value = double(x[i]);
            if (infinities ? std::isfinite(value) : !std::isnan(value)) continue;
            if (bad.count++ == 0) bad.first = unravel(i, t.shape());
        }
    });
    return bad;
}

std::string about_operands(const OperationFrame& frame, bool infinities) {
    if (frame.operand_count == 0) return "its operands are not known";
    std::string list;
    for (size_t k = 0; k < frame.operand_count; ++k) {
        const Tensor& x = *frame.operands[k];
        if (const auto bad = find_bad(x, infinities))
            return "operand " + std::to_string(k) + ", " + to_string(x.dtype(), x.shape()) +
                   ", already had " + std::to_string(bad->count) + ", the first at " +
                   to_string(bad->first);
        if (x.defined()) list += (list.empty() ? "" : ", ") + to_string(x.dtype(), x.shape());
    }
    return "its operands " + list + " had none";
}

}  // namespace

FiniteScope::FiniteScope(FiniteCheck check)
    : outer_(operation_context.check),
      exceptions_(std::uncaught_exceptions()),
      waited_(instruments::waits()) {
    operation_context.check = check;
    ++instruments::active;
}
FiniteScope::~FiniteScope() noexcept(false) {
    operation_context.check = outer_;
    --instruments::active;
    if (std::uncaught_exceptions() == exceptions_)
        instruments::throw_waiting();
    else if (!waited_ && instruments::waits() && instruments::finite_check() == FiniteCheck::off)
        instruments::forget_waiting();  // another exception leaves, and nobody else asked
}

FiniteCheck instruments::finite_check() {
    static const FiniteCheck from_environment = read_environment();
    const FiniteCheck own = operation_context.check;
    return own == FiniteCheck::environment ? from_environment : own;
}

void instruments::check_results(const OperationFrame& frame) {
    const bool infinities = frame.check == FiniteCheck::infinite;
    const FiniteScope unwatched(FiniteCheck::off);
    for (const Tensor& t : frame.made) {
        if (t.storage().unique()) continue;  // a temporary: nobody else holds it
        const auto bad = find_bad(t, infinities);
        if (!bad) continue;
        std::string text = std::to_string(bad->count) + " of the " + std::to_string(t.count()) +
                           " elements of its result " + to_string(t.dtype(), t.shape()) + " are " +
                           (infinities ? "NaN or infinite" : "NaN") + ", the first at " +
                           to_string(bad->first) + "; " + about_operands(frame, infinities);
        for (const OperationFrame* f = frame.outer; f; f = f->outer) {
            if (f->kind == WatchedScope::Kind::operation)
                text += std::string("; within ") + f->name;
            if (f->kind == WatchedScope::Kind::backward)
                text += std::string("; in the derivative of ") + f->name;
        }
        if (frame.kind == WatchedScope::Kind::backward) text += "; in its derivative";
        throw NumericalError(frame.name, text);
    }
}

}  // namespace mercer
