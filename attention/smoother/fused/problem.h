// One smoother's operands in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/smoother/fused/pair_table.h"
#include "attention/smoother/fused/product.h"
#include "attention/smoother/fused/rows_table.h"
#include "attention/smoother/fused/spec.h"
#include "attention/smoother/fused/weights_table.h"
#include "attention/smoother/sparse.h"
#include "engine/cpu/caches.h"
#include "engine/cpu/dispatch.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_TYPED(attention::RowTable, attend_rows)
MERCER_TYPED(attention::PairTable, attend_pairs)
MERCER_TYPED(attention::WeightTable, attend_weights)
}  // namespace mercer

namespace mercer::attention {

constexpr int64_t block_queries = 56;  // does not show in results, but in those of tables

/// [B…, rows, width], of which each head reads one matrix.
template <class T>
struct Operand {
    Tensor tensor;
    const T* data = nullptr;
    int64_t rows = 0, width = 0, row = 0;  // elements between rows: `width`, but of keys and values
    std::vector<int64_t> begin;            // of each head's matrix
    explicit operator bool() const { return data; }
    const T* of(int64_t head) const { return data + begin[size_t(head)]; }
};

/// Rows of x, `row` apart, side by side: themselves where they are so.
template <class T>
const T* gathered(const Rows& rows, int64_t width, int64_t row, const T* x, Scratch& scratch) {
    if (!x || (rows.run == rows.step && row == width)) return x ? x + rows.first * row : x;
    T* const out = scratch.take<T>(rows.count * width);
    constexpr int64_t soon = 8, line = 64 / sizeof(T);
    for (int64_t n = 0; n < rows.count; ++n) {
        const T* const next = x + rows[std::min(n + soon, rows.count - 1)] * row;
        for (int64_t c = 0; c < width; c += line) __builtin_prefetch(next + c);
        std::copy_n(x + rows[n] * row, width, out + n * width);
    }
    return out;
}

/// body(n) for n of [first, end) but where unseen(from, to): asked of halves, so that what nobody sees
/// is passed over in logarithmic time.
template <class Unseen, class Body>
void for_seen(int64_t first, int64_t end, const Unseen& unseen, const Body& body) {
    if (first >= end || unseen(first, end)) return;
    if (end - first == 1) return body(first);
    const int64_t middle = first + (end - first) / 2;
    for_seen(first, middle, unseen, body);
    for_seen(middle, end, unseen, body);
}

template <class T>
struct Problem {
    const FusedSpec& spec;
    Shape lead;  // [B…]
    int64_t heads, head_axis, queries, keys, width, values;
    Filter filter;               // where something is far, of what is near
    int64_t beside;              // heads, or groups of them
    std::optional<FarPart> far;  // joined by the sums of both softmaxes
    bool part = false;           // a row's softmax reaches beyond this problem
    Operand<T> operand[slots];
    std::vector<T> parameters;  // and constants: the formula's last operands
    size_t learned = 0;         // of them, not constants
    // score·s + norm·‖k‖² is all of the log weight.
    bool affine = false;
    T score = 1, norm = 0;
    // The same of a tile's logs: softmax's are binary.
    T log_score = 1, log_norm = 0;
    // By head and key: keys or values with NaN or infinities, which stand as zeros in the operands.
    // Empty where there are none.
    std::vector<char> poisoned;
    bool guarded = false;

    Problem(const FusedSpec& spec, std::span<const Tensor> inputs);
    /// A group of a head's far part, its rows side by side in scratch: a problem of one head.
    Problem(const Problem& all, int64_t head, const Group& group, Scratch& scratch);
    /// Whether rows hold no NaN and no infinities.
    bool finite(Slot slot, int64_t head, int64_t first, int64_t rows) const;
    /// Σ x² of rows.
    T squares(Slot slot, int64_t head, int64_t first, int64_t rows) const;
    /// By Cauchy and Schwarz, from squared norms of queries and keys up to these. What squares lose by
    /// underflow is added again.
    void bound(T query, T key, LogBounds<T>& b) const {
        const T lost = T(width) * std::numeric_limits<T>::min();
        const T q = std::sqrt(query + lost), k = std::sqrt(key + lost),
                slope = std::abs(log_score) * q;
        b.lower = slope * k + std::abs(log_norm) * (k * k);
        // The top of slope·x + log_norm·x², where it lies before k.
        const T x = log_norm < T(0) ? std::min(k, slope / (T(-2) * log_norm)) : k;
        b.upper = (slope + log_norm * x) * x;
    }
    /// Looks for NaN and infinities in keys and values, and takes them out.
    void guard();
    /// The same with queries, for the way back: where they see anything, their rows' statistics are NaN.
    void guard_queries();
    /// Zeros for what is not finite in an operand; where it was finite, or nothing if it all was.
    Tensor clean(Slot slot);
    const T* of(Slot slot, int64_t head) const {
        return operand[slot] ? operand[slot].of(head) : nullptr;
    }
    const T* row(Slot slot, int64_t head, int64_t n) const {
        return operand[slot].of(head) + n * operand[slot].row;
    }
    /// Where weights of columns begin to be needed, in whole sums.
    int64_t begin(TileColumns columns) const {
        const bool all = !affine || has(value_rows) || spec.dropout.rate > 0;
        return all ? 0 : columns.first / sum_lanes * sum_lanes;
    }
    bool has(Slot slot) const { return bool(operand[slot]); }
    bool reads_queries() const { return spec.norms == Kernel::Norms::both; }
    bool reads_keys() const { return spec.norms != Kernel::Norms::none; }
    bool product() const { return spec.score == Kernel::Score::product; }
    int64_t tiles() const { return (keys + tile_keys - 1) / tile_keys; }
    int64_t blocks() const { return (queries + block_queries - 1) / block_queries; }
    /// Whether one tile holds all of a row.
    bool whole() const { return tiles() == 1 && !part; }
    /// Sums over all pairs of a head are made of so many.
    int64_t sums() const { return tiles() + (far ? far->groups : 0); }
    /// Whether so many keys and values fit the second-level cache and leave most of it.
    bool fits(int64_t n) const {
        return 4 * n * (width + values) * int64_t(sizeof(T)) <= cpu::caches().l2;
    }
    /// Whether one head's do.
    bool near() const { return fits(keys); }
    /// Keys that a block of queries sees, nearly: of the first block, the middle and the last, the most.
    int64_t seen(int64_t head) const;
    /// Heads are handed out whole where there are enough of them; else each one's loops are shared.
    bool whole_heads() const { return beside >= 2 * thread_count(); }
    /// Of n items of one head, at least so many, those that make a piece of a loop.
    int64_t piece(int64_t n, int64_t least) const {
        return whole_heads() ? n : std::max(least, n / (8 * thread_count()));
    }
    FilterTile tile(int64_t head, int64_t i, int64_t m, int64_t j, int64_t n) const {
        return {head / head_axis, head % head_axis, i, m, j, n};
    }
    /// Whether nothing is seen between blocks [b, b_end) of queries and tiles [t, t_end) of keys.
    bool unseen(int64_t head, int64_t b, int64_t b_end, int64_t t, int64_t t_end) const {
        const int64_t i = b * block_queries, j = t * tile_keys;
        return filter.classify(tile(head, i, std::min(queries, b_end * block_queries) - i, j,
                                    std::min(keys, t_end * tile_keys) - j)) == TileClass::empty;
    }
};

}  // namespace mercer::attention
