// Filters whose rows are lists of keys: every l-th, summary columns, a graph, blocks.
#include <algorithm>

#include "attention/smoother/filter.h"
#include "attention/smoother/index_list.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {
namespace {

// Tiles above the diagonal are empty, whatever else holds.
bool above_diagonal(const FilterTile& t) { return t.key > t.query + t.queries - 1; }

class StridedSummary : public FilterRule {
public:
    explicit StridedSummary(int64_t l) : l_(l) {}
    bool sees(const Seat& s) const override {
        return s.key <= s.query && (s.query - s.key) % l_ == 0;
    }
    TileClass classify(const FilterTile& t) const override {
        if (above_diagonal(t)) return TileClass::empty;
        if (l_ == 1 && t.key + t.keys - 1 <= t.query) return TileClass::full;
        // i − j runs over an interval; is a multiple of l, 0 or above, in it?
        const int64_t least = std::max<int64_t>(0, t.query - (t.key + t.keys - 1)),
                      most = t.query + t.queries - 1 - t.key;
        return most / l_ * l_ >= least ? TileClass::partial : TileClass::empty;
    }

private:
    int64_t l_;
};

class FixedSummary : public FilterRule {
public:
    FixedSummary(int64_t l, int64_t c, int64_t sub_blocks)
        : l_(l), c_(c), sub_blocks_(sub_blocks) {}
    bool sees(const Seat& s) const override {
        if (s.key > s.query) return false;
        const int64_t from = first(s.head), at = s.key % l_;
        return at >= from && at < from + c_;
    }
    TileClass classify(const FilterTile& t) const override {
        if (above_diagonal(t)) return TileClass::empty;
        const int64_t from = first(t.head), begin = t.key % l_, end = begin + t.keys;
        const bool below = t.key + t.keys - 1 <= t.query;
        if (below && begin >= from && end <= from + c_) return TileClass::full;
        // Summary columns of this block, and of the next.
        const bool meets = (begin < from + c_ && end > from) || end - l_ > from;
        return meets ? TileClass::partial : TileClass::empty;
    }
    bool by_head() const override { return sub_blocks_ > 1; }

private:
    int64_t first(int64_t head) const { return l_ - c_ * (head % sub_blocks_ + 1); }
    int64_t l_, c_, sub_blocks_;
};

class Graph : public FilterRule {
public:
    Graph(std::vector<int64_t> rows, std::vector<int64_t> columns)
        : rows_(std::move(rows)), columns_(std::move(columns)) {}
    bool sees(const Seat& s) const override {
        const auto [from, to] = row(s.query);
        return std::binary_search(from, to, s.key);
    }
    TileClass classify(const FilterTile& t) const override {
        bool all = true, none = true;
        for (int64_t i = t.query; i < t.query + t.queries && (all || none); ++i) {
            const int64_t seen = inside(t, i).second;
            all &= seen == t.keys, none &= seen == 0;
        }
        return none ? TileClass::empty : all ? TileClass::full : TileClass::partial;
    }
    void mark(const FilterTile& t, bool* seen) const override {
        std::fill_n(seen, t.queries * t.keys, false);
        for (int64_t i = t.query; i < t.query + t.queries; ++i, seen += t.keys) {
            const auto [from, n] = inside(t, i);
            for (int64_t k = 0; k < n; ++k) seen[from[k] - t.key] = true;
        }
    }
    void check(const FilterExtent& of) const override {
        if (int64_t(rows_.size()) != of.queries + 1)
            throw ShapeError("graph", rows_.size() - 1, " rows for ", of.queries, " queries");
        for (int64_t j : columns_)
            if (j >= of.keys) throw ShapeError("graph", "column ", j, " of ", of.keys, " keys");
    }

private:
    using Place = std::vector<int64_t>::const_iterator;
    std::pair<Place, Place> row(int64_t i) const {
        return {columns_.begin() + rows_[size_t(i)], columns_.begin() + rows_[size_t(i) + 1]};
    }
    // The neighbours of i among the tile's keys: the first, and how many.
    std::pair<Place, int64_t> inside(const FilterTile& t, int64_t i) const {
        const auto [from, to] = row(i);
        const Place first = std::lower_bound(from, to, t.key),
                    end = std::lower_bound(first, to, t.key + t.keys);
        return {first, end - first};
    }
    std::vector<int64_t> rows_, columns_;
};

class Blocks : public FilterRule {
public:
    Blocks(int64_t rows, int64_t columns, std::vector<std::pair<int64_t, int64_t>> seen)
        : rows_(rows), columns_(columns), seen_(std::move(seen)) {}
    bool sees(const Seat& s) const override { return has(s.query / rows_, s.key / columns_); }
    TileClass classify(const FilterTile& t) const override {
        bool all = true, none = true;
        const int64_t last = (t.query + t.queries - 1) / rows_, j = t.key / columns_,
                      end = (t.key + t.keys - 1) / columns_ + 1;
        for (int64_t i = t.query / rows_; i <= last && (all || none); ++i) {
            const auto from = std::lower_bound(seen_.begin(), seen_.end(), std::pair(i, j)),
                       to = std::lower_bound(from, seen_.end(), std::pair(i, end));
            all &= to - from == end - j, none &= from == to;
        }
        return none ? TileClass::empty : all ? TileClass::full : TileClass::partial;
    }

private:
    bool has(int64_t i, int64_t j) const {
        return std::binary_search(seen_.begin(), seen_.end(), std::pair(i, j));
    }
    int64_t rows_, columns_;
    std::vector<std::pair<int64_t, int64_t>> seen_;
};

// The union of what is near and of summaries, known for what it is.
class SparseTransformer : public FilterRule {
public:
    SparseTransformer(const Filter& near, const Filter& far, SparsePattern pattern)
        : both_(near | far), pattern_(pattern) {}
    bool sees(const Seat& s) const override { return both_.rule()->sees(s); }
    TileClass classify(const FilterTile& t) const override { return both_.classify(t); }
    void mark(const FilterTile& t, bool* seen) const override { both_.rule()->mark(t, seen); }
    void check(const FilterExtent& of) const override { both_.rule()->check(of); }
    bool by_head() const override { return both_.rule()->by_head(); }
    const SparsePattern* pattern() const override { return &pattern_; }

private:
    Filter both_;
    SparsePattern pattern_;
};

}  // namespace

Filter strided_summary(int64_t l) {
    if (l < 1) throw ValueError("strided_summary", "the stride is ", l, "; give 1 or more");
    return Filter(std::make_shared<StridedSummary>(l));
}

Filter fixed_summary(int64_t l, int64_t c, int64_t sub_blocks) {
    if (c < 1 || sub_blocks < 1 || c > l / sub_blocks)
        throw ValueError("fixed_summary", sub_blocks, " sub-blocks of ", c,
                         " columns do not fit a block of ", l);
    return Filter(std::make_shared<FixedSummary>(l, c, sub_blocks));
}

Filter strided(int64_t l) {
    const CalledAs called("strided");
    return Filter(
        std::make_shared<SparseTransformer>(strided_local(l), strided_summary(l),
                                            SparsePattern{SparsePattern::Kind::strided, l, 0, 1}));
}

Filter fixed(int64_t l, int64_t c, int64_t sub_blocks) {
    const CalledAs called("fixed");
    const Filter near = fixed_local(l), far = fixed_summary(l, c, sub_blocks);
    return Filter(std::make_shared<SparseTransformer>(
        near, far, SparsePattern{SparsePattern::Kind::fixed, l, c, sub_blocks}));
}

Filter graph(const Tensor& row_offsets, const Tensor& columns) {
    std::vector<int64_t> rows = index_list("graph", row_offsets), at = index_list("graph", columns);
    if (rows.empty() || rows.front() != 0 || rows.back() != int64_t(at.size()) ||
        !std::is_sorted(rows.begin(), rows.end()))
        throw ValueError("graph", "row offsets ascend from 0 to the number of columns, ",
                         at.size());
    for (size_t i = 0; i + 1 < rows.size(); ++i)
        for (int64_t n = rows[i]; n < rows[i + 1]; ++n)
            if (at[size_t(n)] < 0 || (n > rows[i] && at[size_t(n)] <= at[size_t(n) - 1]))
                throw ValueError("graph", "the columns of row ", i, " do not ascend from 0 on");
    return Filter(std::make_shared<Graph>(std::move(rows), std::move(at)));
}

Filter blocks(int64_t rows, int64_t columns, std::span<const std::pair<int64_t, int64_t>> seen) {
    if (rows < 1 || columns < 1)
        throw ValueError("blocks", "blocks of ", rows, " × ", columns, "; give 1 or more of each");
    std::vector<std::pair<int64_t, int64_t>> sorted(seen.begin(), seen.end());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return Filter(std::make_shared<Blocks>(rows, columns, std::move(sorted)));
}

}  // namespace mercer
