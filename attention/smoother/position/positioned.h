// What a position scheme makes of queries and keys. Every scheme here is a small value (options and
// parameters, the latter Vars that may stand on a tape) with a function
//
//   Positioned place(const Scheme&, const Var& q, const Var& k)
//
// in plain differentiable functions, line by line its paper's equation.
// q: [B…, Tq, d], k: [B…, Tk, d], such as [B, T, d] or [B, H, T, d]; f32 or f64. A parameter of
// heads has a leading axis H, the size of q's third last axis (or 1); without it, it is shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "autograd/var.h"

namespace mercer {

/// ⟨x_i, y_j⟩: x [Tq, e], y [Tk, e], or with leading axes that end as q's do (or are 1).
struct InnerTerm {
    Var queries, keys;
};
/// Which row r_{j − i} of a table belongs to a pair: the first row to j − i = first, and so on; or
/// reversed, the last row to first. Beyond the rows: 0, or clipped, the nearest row.
struct Distances {
    int64_t first;
    bool clipped = false, reversed = false;

    /// Of `rows`, counted from that of `first`, the ones that j − i in [from, to) meets.
    struct Rows {
        int64_t begin, end;
    };
    Rows met(int64_t rows, int64_t from, int64_t to) const {
        const int64_t one = clipped && rows > 0;
        if (from >= to) return {0, 0};
        return {std::clamp<int64_t>(from - first, 0, rows - one),
                std::clamp<int64_t>(to - first, one, rows)};
    }
};
/// scale·⟨x_i, r_{j − i}⟩, or r_{j − i} itself where there are no x: rows [R, e] or [H, R, e]; without
/// x [R] or [H, R].
struct RelativeTerm {
    Var queries, rows;
    Distances at;
    double scale = 1;
};

/// log k = log kernel(q, k) + the terms.
struct Positioned {
    Var q, k;
    std::optional<InnerTerm> inner{};
    std::optional<RelativeTerm> relative{};
    /// Keys j > i + horizon are hidden.
    std::optional<int64_t> horizon{};
    /// Σ_j w_ij·r_{j − i} joins the output: rows as above, of the values' width.
    Var value_rows{};
    Distances value_at{};

    /// All of it for all pairs: broadcasts to [B…, Tq, Tk]; undefined where the scheme has none. −∞
    /// beyond the horizon.
    MERCER_API Var term() const;
};

/// Query i stands where key i + offset does. It must be said where Tq ≠ Tk: Tk − Tq for keys that
/// begin with memory (or for decoding), 0 where both begin at the same place.
using PositionOffset = std::optional<int64_t>;

}  // namespace mercer
