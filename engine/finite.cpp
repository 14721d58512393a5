#include "engine/finite.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <optional>
#include <unordered_map>

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

struct Bad {
    int64_t count = 0;
    Dims first{};
};

/// nullopt: all is well. Any strides. Takes no memory of its own but what makes t dense.
std::optional<Bad> find_bad(const Tensor& t, bool infinities) {
    if (!t.defined() || !is_floating(gradient_dtype(t.dtype())) || t.count() == 0)
        return std::nullopt;
    if (t.device().kind != Device::Kind::cpu) return std::nullopt;  // not ours to read
    if (t.dtype() == DType::bf16) return find_bad(cast(t, DType::f32), infinities);
    const Tensor dense = t.contiguous();
    const auto fine = [&](double x) { return infinities ? std::isfinite(x) : !std::isnan(x); };
    // The largest magnitude is NaN if any element is, and infinite if any is: no kernel of its own.
    const Tensor flat = dense.view({dense.count()}, {1}, dense.offset());
    if (fine(cpu::reduce(cpu::Reduction::max_abs, flat, 1).item<double>())) return std::nullopt;
    Bad bad;
    visit(t.dtype(), [&]<class T>(T) {
        const T* const x = static_cast<const T*>(dense.raw());
        for (int64_t i = dense.count(), at; i-- > 0;) {  // the first is met last
            if (fine(double(x[i]))) continue;
            ++bad.count;
            bad.first = Dims::filled(t.rank(), at = i);
            for (int axis = t.rank() - 1; axis >= 0; at /= t.size(axis--))
                bad.first[axis] = at % t.size(axis);
        }
    });
    return bad;
}

/// The tensors of `made` that somebody else holds too: the others were temporaries.
std::vector<Tensor> kept(const std::vector<Tensor>& made) {
    std::unordered_map<const void*, int64_t> held;
    for (const Tensor& t : made) ++held[t.storage().operator->()];
    std::vector<Tensor> kept;
    for (const Tensor& t : made)
        if (held[t.storage().operator->()] <
            t.storage()->references.load(std::memory_order_acquire))
            kept.push_back(t), ++held[t.storage().operator->()];
    return kept;
}

bool had_before(const OperationFrame& frame, bool infinities) {
    return std::any_of(frame.operands.begin(), frame.operands.begin() + frame.operand_count,
                       [&](const Tensor* x) { return find_bad(*x, infinities).has_value(); });
}
std::string about_operands(const OperationFrame& frame, bool infinities) {
    if (frame.operand_count == 0) return "its operands are not known";
    std::string list;
    for (size_t k = 0; k < frame.operand_count; ++k) {
        const Tensor& x = *frame.operands[k];
        if (const auto bad = find_bad(x, infinities))
            return shown("operand ", k, ", ", x, ", already had ", bad->count, ", the first at ",
                         bad->first);
        if (x.defined()) list += (list.empty() ? "" : ", ") + shown(x);
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
    using Kind = WatchedScope::Kind;
    const bool infinities = frame.check == FiniteCheck::infinite;
    const FiniteScope unwatched(FiniteCheck::off);
    const char* const called = operation_context.called;
    const std::string_view first = frame.first ? frame.first : frame.name;
    OperationFrame* whole = frame.kind == Kind::operation ? frame.outer : nullptr;
    if (whole && (whole->kind != Kind::operation || whole->check != frame.check)) whole = nullptr;
    // A list that has doubled lets go of what were temporaries.
    if (whole && whole->made.size() > 2 * whole->kept)
        whole->made = kept(whole->made), whole->kept = whole->made.size();
    for (const Tensor& t : kept(frame.made)) {
        if (whole) whole->made.push_back(t);
        const auto bad = find_bad(t, infinities);
        if (bad && whole && !whole->first && !had_before(frame, infinities))
            whole->first = first.data();
        if (!bad || whole) continue;
        std::string text = shown(bad->count, " of the ", t.count(), " elements of its result ", t,
                                 " are ", infinities ? "NaN or infinite" : "NaN", ", the first at ",
                                 bad->first, "; ", about_operands(frame, infinities));
        if (first != (called ? called : frame.name) && !had_before(frame, infinities))
            text += shown("; within it, ", first, " had such values first");
        for (const OperationFrame* f = frame.outer; f; f = f->outer)
            if (f->kind == Kind::operation || f->kind == Kind::backward)
                text += shown(f->kind == Kind::operation ? "; within " : "; in the derivative of ",
                              f->name);
        if (frame.kind == Kind::backward) text += "; in its derivative";
        throw NumericalError(frame.name, text);
    }
}

}  // namespace mercer
