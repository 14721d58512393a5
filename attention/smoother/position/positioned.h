// What a position scheme makes of queries and keys. Every scheme here is a small value (options and
// parameters, the latter Vars that may stand on a tape) with a function
//
//   Positioned place(const Scheme&, const Var& q, const Var& k)
//
// in plain differentiable functions, line by line its paper's equation.
// q: [B…, Tq, d], k: [B…, Tk, d], such as [B, T, d] or [B, H, T, d]; f32 or f64. A parameter of
// heads has a leading axis H, the size of q's third last axis (or 1); without it, it is shared.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/var.h"

namespace mercer {

/// log k = log kernel(q, k) + term.
struct Positioned {
    Var q, k;
    /// Broadcasts to [B…, Tq, Tk]; undefined where the scheme has none. −∞ where the scheme hides.
    Var term;
};

/// Query i stands where key i + offset does. It must be said where Tq ≠ Tk: Tk − Tq for keys that
/// begin with memory (or for decoding), 0 where both begin at the same place.
using PositionOffset = std::optional<int64_t>;

}  // namespace mercer
