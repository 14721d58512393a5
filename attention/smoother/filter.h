// Which keys a query sees: M(x_q, S) of a smoother (Tsai et al. 2019, Def. 1 and section 2.2.4).
//
//   causal()                              window(256) & padding(lengths)
//   strided_local(128) | strided_summary(128)
//   by_head({fixed_local(64), fixed_summary(64, 8)})
//   filter([](Seat s) { return s.key % 2 == 0; })
//
// A filter is a rule on indices: batch entry b, head h, query i, key j. Filters compose by & and |.
// Work is done by tiles of queries × keys; a rule says of a tile whether all of it is seen, nothing,
// or a part, so that what nobody sees costs nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "attention/smoother/tile_columns.h"
#include "engine/tensor.h"

namespace mercer {

struct Seat {
    int64_t batch, head, query, key;
};

/// Queries [query, query + queries) and keys [key, key + keys) of one batch entry and head.
struct FilterTile {
    int64_t batch, head, query, queries, key, keys;
};

/// What a rule is asked about: of scores [B, H, Tq, Tk]; axes that they lack are 1.
struct FilterExtent {
    int64_t batches, heads, queries, keys;
};
/// That of queries (or scores) [B, H, Tq, …] and so many keys.
MERCER_API FilterExtent extent(const Shape& queries, int64_t keys);

enum class TileClass : uint8_t { empty, full, partial };

/// Sparse Transformer's unions, which attend() takes apart.
struct SparsePattern {
    enum class Kind : uint8_t { strided, fixed } kind;
    int64_t l, c, sub_blocks;
};

/// A rule. Immutable; asked from several threads.
class MERCER_API FilterRule {
public:
    virtual ~FilterRule() = default;
    virtual bool sees(const Seat& seat) const = 0;
    /// `partial` is always right, if not always fast.
    virtual TileClass classify(const FilterTile& tile) const = 0;
    /// seen[r·keys + c] = whether query r of the tile sees its key c.
    virtual void mark(const FilterTile& tile, bool* seen) const;
    /// Where rows are intervals: what row r of the tile sees, and true. Never to be relied on.
    virtual bool intervals(const FilterTile& tile, TileColumns* rows) const;
    /// Throws ShapeError unless it can be asked about all of these.
    virtual void check(const FilterExtent& of) const;
    virtual bool by_batch() const { return false; }
    virtual bool by_head() const { return false; }
    virtual const SparsePattern* pattern() const { return nullptr; }
};

class MERCER_API Filter {
public:
    Filter() = default;  // everything is seen
    explicit Filter(std::shared_ptr<const FilterRule> rule) : rule_(std::move(rule)) {}
    /// nullptr where everything is seen.
    const FilterRule* rule() const { return rule_.get(); }
    TileClass classify(const FilterTile& tile) const {
        return rule_ ? rule_->classify(tile) : TileClass::full;
    }

    /// Seen by both; by either.
    friend MERCER_API Filter operator&(const Filter& a, const Filter& b);
    friend MERCER_API Filter operator|(const Filter& a, const Filter& b);

private:
    std::shared_ptr<const FilterRule> rule_;
};

// ---- everything -------------------------------------------------------------------------------
inline Filter full() { return {}; }

// ---- bands ------------------------------------------------------------------------------------
/// j ≤ i. With Tq ≠ Tk the alignment must be said (ShapeError): causal(0) aligns the first ones,
/// causal(Tk − Tq) the last: j ≤ i + offset.
MERCER_API Filter causal();
MERCER_API Filter causal(int64_t offset);
/// i + offset − w < j ≤ i + offset: the last w keys.
MERCER_API Filter window(int64_t w, int64_t offset = 0);
/// Keys are [memory; current]: j ≤ i + memory (Dai et al. 2019; spec A.3).
inline Filter xl_memory(int64_t memory) { return causal(memory); }
/// i + memory − length < j ≤ i + memory: every query sees as many (Transformer-XL's evaluation).
inline Filter same_length(int64_t memory, int64_t length) { return window(length, memory); }

// ---- Sparse Transformer (Child et al. 2019, section 4.3) ---------------------------------------
/// max(0, i − l) ≤ j ≤ i;  j ≤ i and (i − j) mod l = 0. On separate heads (by_head), in alternating
/// layers, or as their union.
MERCER_API Filter strided_local(int64_t l);
MERCER_API Filter strided_summary(int64_t l);
MERCER_API Filter strided(int64_t l);
/// ⌊j/l⌋ = ⌊i/l⌋ and j ≤ i;  j mod l in {l − c(s+1), …, l − c·s − 1} and j ≤ i, where s is the
/// sub-block that a head takes: head mod `sub_blocks`.
MERCER_API Filter fixed_local(int64_t l);
MERCER_API Filter fixed_summary(int64_t l, int64_t c, int64_t sub_blocks = 1);
MERCER_API Filter fixed(int64_t l, int64_t c, int64_t sub_blocks = 1);
/// Of keys that are c for each block of l: those of the blocks before the query's, j < c·⌊i/l⌋.
MERCER_API Filter earlier_blocks(int64_t l, int64_t c);

// ---- lengths and lists ------------------------------------------------------------------------
/// j < lengths[b]: keys beyond are padding. lengths: i64 [B].
MERCER_API Filter padding(const Tensor& lengths);
/// Several sequences, one after the other: i and j belong to the same one. offsets: i64 [n + 1],
/// 0, …, T; ascending.
MERCER_API Filter packed(const Tensor& offsets);
MERCER_API Filter packed(const Tensor& query_offsets, const Tensor& key_offsets);
/// j among columns[row_offsets[i]] … columns[row_offsets[i + 1] − 1]: the neighbours in CSR, both
/// i64, ascending in each row.
MERCER_API Filter graph(const Tensor& row_offsets, const Tensor& columns);
/// Pairs (query block, key block) of sizes `rows` × `columns`; within them everything is seen.
MERCER_API Filter blocks(int64_t rows, int64_t columns,
                         std::span<const std::pair<int64_t, int64_t>> seen);

// ---- heads, and one's own ----------------------------------------------------------------------
/// Head h goes by filters[h mod n].
MERCER_API Filter by_head(std::vector<Filter> filters);
/// Asked pair by pair; whether it looks at the batch entry and the head is said.
MERCER_API Filter filter(std::function<bool(const Seat&)> sees, bool by_batch = false,
                         bool by_head = false);

/// The filter as a mask that broadcasts to scores [B, H, Tq, Tk], [B, Tq, Tk] (one head) or [Tq, Tk]:
/// bool, true where seen, of size 1 along axes that it does not look at. Axes that scores lack count as 1; ShapeError
/// where it looks at batch entries or heads of scores of more than four axes.
MERCER_API Tensor visible(const Filter& filter, const Shape& scores);
inline Tensor visible(const Filter& filter, int64_t queries, int64_t keys) {
    return visible(filter, {queries, keys});
}

}  // namespace mercer
