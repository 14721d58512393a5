// Sparse Transformer's filters (Child et al. 2019, section 4.3) by parts that are made of full tiles:
// what is near; and what is far, whose queries and keys are regrouped.
#pragma once

#include <optional>

#include "attention/smoother/filter.h"

namespace mercer::attention {

/// Rows of a matrix, regrouped: row n is its row first + ⌊n/run⌋·step + n mod run.
struct Rows {
    int64_t count, first = 0, run = 1, step = 1;
    int64_t operator[](int64_t n) const { return first + n / run * step + n % run; }
};
/// Queries, in runs of one, and keys.
struct Group {
    Rows queries, keys;
};

/// What strided() and fixed() see beyond the near part, which holds the query itself.
///   strided   keys i − l·m, m ≥ 2: of each place in a block, queries and keys side by side
///   fixed     the c keys of every earlier block
struct FarPart {
    /// Nothing but of these filters as they stand, over at least four blocks.
    static std::optional<FarPart> of(const Filter& filter, int64_t queries, int64_t keys);
    Group group(int64_t head, int64_t n) const;

    Filter near, filter;  // the latter in a group's rows
    int64_t groups;       // of each head
    SparsePattern pattern;
    int64_t queries, keys;
};

}  // namespace mercer::attention
