// What a fused smoother is asked: its operands, and everything about it that is no operand. Made from
// options by prepare(), where position schemes have acted on queries and keys.
#pragma once

#include <optional>

#include "attention/smoother/fused/weights_table.h"
#include "attention/smoother/position/positioned.h"
#include "attention/smoother/reference.h"

namespace mercer::attention {

/// The operands. Leading axes are [B…], or fewer, or 1; those of keys and values may be fewer by a
/// factor on the last of them (grouped queries).
enum Slot : uint8_t {
    queries,     // [B…, Tq, d]
    keys,        // [B…, Tk, d]
    values,      // [B…, Tk, D]
    inner_left,  // x, y of an inner term: [B…, Tq, e], [B…, Tk, e]
    inner_right,
    relative_left,  // x and rows of a relative term: [B…, Tq, e], [B…, R, e]; without x [B…, R, 1].
                    // x may be the queries, the same input
    relative_rows,
    value_rows,  // [B…, R, D]
    weights,     // w of additive scores: [d]
    alpha,       // [B…, Tq, 1]
    slots,
    parameters = slots  // those of the kernel's formula, one after the other
};

struct FusedSpec {
    KernelFormula formula;  // for this width
    Kernel::Score score;
    Kernel::Norms norms;
    bool direct;
    const char* kernel_name;
    Normaliser::Kind normaliser;  // not automatic
    Filter filter;                // with the positions' horizon
    WeightDropout dropout;
    SmootherReport* report;
    Distances relative_at, value_at;
    double relative_scale;
    int8_t at[slots];  // which input each slot is, −1: none
    int inputs;        // without parameters, which follow
    bool soft() const { return normaliser == Normaliser::Kind::softmax; }
    bool divides() const { return normaliser == Normaliser::Kind::division; }
    bool sparse() const { return !soft() && !divides(); }
};

inline SparseKind sparse_kind(const FusedSpec& s) {
    return s.normaliser == Normaliser::Kind::sparsemax  ? SparseKind::sparsemax
           : s.normaliser == Normaliser::Kind::entmax15 ? SparseKind::entmax15
                                                        : SparseKind::entmax;
}

struct Prepared {
    FusedSpec spec;
    std::vector<Var> inputs;
};
/// Nothing where the fused smoother does not reach: the reference form then computes, or says what is
/// wrong.
std::optional<Prepared> prepare(const Var& q, const Var& k, const Var& v,
                                const SmootherOptions& options);

/// The smoother of `inputs` in differentiable functions: all rows, or [first, …) of `queries`, to
/// which the operands of queries are already cut. {out} or {out, measures}.
std::vector<Var> smooth_rows(const FusedSpec& spec, std::span<const Var> inputs, bool measures,
                             int64_t first = -1, int64_t queries = 0);

}  // namespace mercer::attention
