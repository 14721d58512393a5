// One watched scope while it is open. For operation.cpp, trace.cpp and finite.cpp.
#pragma once

#include <array>
#include <exception>

#include "engine/operation.h"
#include "engine/tensor.h"

namespace mercer {

namespace instruments {
/// ns since an arbitrary moment.
int64_t now() noexcept;
/// The mode in force on this thread. Reads MERCER_CHECK_FINITE once; ValueError if it is unknown.
FiniteCheck finite_check();
/// Throws NumericalError if a tensor made in the scope, and still held by others, is not finite. What a part of another
/// operation made is handed to that one instead: it may be a temporary there.
void check_results(const OperationFrame& frame);

/// Whether a check found what nobody was told yet; forgets it.
bool waits() noexcept;
void forget_waiting() noexcept;

/// The running trace, 0 for none.
uint64_t trace_session() noexcept;
/// Notes a scope that ends.
void trace(const OperationFrame& frame) noexcept;
}  // namespace instruments

/// Made when it opens.
struct OperationFrame {
    const char* name;
    WatchedScope::Kind kind;
    uint64_t session;  // of the profiler; 0: no trace was running
    OperationFrame* outer = operation_context.frame;
    int exceptions = std::uncaught_exceptions();  // in flight

    static constexpr size_t max_operands = 4;  // further ones are not looked at
    std::array<const Tensor*, max_operands> operands{};
    size_t operand_count = 0;

    // The check of results: what was made here; what only this list still holds was a temporary.
    FiniteCheck check = FiniteCheck::off;
    std::vector<Tensor> made{};
    size_t kept = 0;              // of them, when the list was last gone through
    const char* first = nullptr;  // the operation within whose result had bad values first

    // The profiler.
    int64_t start = session ? instruments::now() : 0, inner = 0;  // ns; `inner`: in scopes within
    uint64_t bytes = 0;  // of tensors allocated here and in scopes within
    Shape shape{};       // of the last one made here
    DType dtype = DType::f32;
    bool allocated = false;
};

}  // namespace mercer
