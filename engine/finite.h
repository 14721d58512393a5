// Where does the NaN come from? With the check on, the first operation whose result holds one throws.
//
//   MERCER_CHECK_FINITE=nan ./program        # or =inf, or in the program:
//   const FiniteScope check(FiniteCheck::nan);
//
// Infinities are legitimate by themselves (log 0, a mask of −∞ before softmax), and become NaN where
// they do harm: so NaN is what the check looks for, unless it is asked for both.
#pragma once

#include "engine/operation.h"

namespace mercer {

/// The results of operations of this thread (and their tasks) are checked, while in scope: every
/// tensor of floating dtype in the host's memory that an operation made, or wrote in place (fill and copy_to compute
/// nothing), and that outlives it; of an operation made of others, its own results only.
/// NumericalError names the operation and which of those within it had such values first, the node whose derivative it was
/// part of, how many elements are bad and where the first is, and which operand held such values already. It is thrown when the
/// operation is over: by the function that was called, or else at the next operation, when an element
/// is read or at the end of the scope, whichever is first. `nan` looks for NaN,
/// `infinite` for NaN and infinities, `off` shields from an outer scope or the environment.
/// MERCER_CHECK_FINITE (read once: nan or 1, inf, off or 0) does the same for the whole process.
/// Cost: a pass over each result.
class MERCER_API FiniteScope {
public:
    explicit FiniteScope(FiniteCheck check = FiniteCheck::nan);
    ~FiniteScope() noexcept(false);
    FiniteScope& operator=(FiniteScope&&) = delete;  // neither copied nor moved

private:
    FiniteCheck outer_;
    int exceptions_;  // in flight when it began
    bool waited_;     // something found was waiting
};

}  // namespace mercer
