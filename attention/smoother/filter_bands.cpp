// Filters whose rows are intervals of keys: bands, blocks along the diagonal, lengths.
#include <algorithm>
#include <optional>

#include "attention/smoother/filter.h"
#include "attention/smoother/index_list.h"
#include "engine/error.h"

namespace mercer {
namespace {

struct Interval {
    int64_t first, end;
};

// Row: keys that query i of batch entry b sees, as an interval whose ends do not fall as i grows.
template <class Row>
class Intervals : public FilterRule {
public:
    explicit Intervals(Row row) : row_(std::move(row)) {}
    bool sees(const Seat& s) const override {
        const Interval v = row_(s.batch, s.query);
        return s.key >= v.first && s.key < v.end;
    }
    // Both ends ascend with the row: the first and the last row speak for all.
    TileClass classify(const FilterTile& t) const override {
        if (t.queries == 0) return TileClass::empty;
        const Interval top = row_(t.batch, t.query),
                       bottom = row_(t.batch, t.query + t.queries - 1);
        const int64_t end = t.key + t.keys;
        if (bottom.end <= t.key || top.first >= end) return TileClass::empty;
        return bottom.first <= t.key && top.end >= end ? TileClass::full : TileClass::partial;
    }
    void mark(const FilterTile& t, bool* seen) const override {
        for (int64_t r = 0; r < t.queries; ++r, seen += t.keys) {
            const TileColumns v = columns(t, r);
            std::fill_n(seen, t.keys, false);
            std::fill(seen + v.first, seen + v.end, true);
        }
    }
    bool intervals(const FilterTile& t, TileColumns* rows) const override {
        for (int64_t r = 0; r < t.queries; ++r) rows[r] = columns(t, r);
        return true;
    }
    void check(const FilterExtent& of) const override { row_.check(of); }
    bool by_batch() const override { return Row::batched; }

private:
    TileColumns columns(const FilterTile& t, int64_t r) const {
        const Interval v = row_(t.batch, t.query + r);
        const int64_t first = std::clamp<int64_t>(v.first - t.key, 0, t.keys);
        return {first, std::clamp<int64_t>(v.end - t.key, first, t.keys)};
    }
    Row row_;
};

struct Unchecked {
    static constexpr bool batched = false;
    void check(const FilterExtent&) const {}
};

struct Band : Unchecked {
    int64_t before, last;  // i + before < j ≤ i + last
    bool same = false;     // queries and keys must be as many
    Interval operator()(int64_t, int64_t i) const {
        return {std::max<int64_t>(0, i + before + 1), i + last + 1};
    }
    void check(const FilterExtent& of) const {
        if (same && of.queries != of.keys)
            throw ShapeError("causal", of.queries, " queries and ", of.keys,
                             " keys: say the alignment, causal(0) for the first or "
                             "causal(keys − queries) for the last");
    }
};

struct DiagonalBlocks : Unchecked {
    int64_t l;
    Interval operator()(int64_t, int64_t i) const { return {i / l * l, i + 1}; }
};

constexpr int64_t unbounded = int64_t{1} << 62;

struct EarlierBlocks : Unchecked {
    int64_t l, c;
    Interval operator()(int64_t, int64_t i) const {
        int64_t end;
        return {0, __builtin_mul_overflow(i / l, c, &end) ? unbounded : end};
    }
};

struct Padding {
    static constexpr bool batched = true;
    std::vector<int64_t> lengths;
    Interval operator()(int64_t b, int64_t) const { return {0, lengths[size_t(b)]}; }
    void check(const FilterExtent& of) const {
        if (int64_t(lengths.size()) != of.batches)
            throw ShapeError("padding", lengths.size(), " lengths for ", of.batches,
                             " batch entries");
        for (int64_t n : lengths)
            if (n > of.keys)
                throw ShapeError("padding", "a length of ", n, " for ", of.keys, " keys");
    }
};

struct Packed : Unchecked {
    std::vector<int64_t> query_ends, key_offsets;
    Interval operator()(int64_t, int64_t i) const {
        const size_t n =
            size_t(std::upper_bound(query_ends.begin(), query_ends.end(), i) - query_ends.begin());
        return {key_offsets[n], key_offsets[n + 1]};
    }
    void check(const FilterExtent& of) const {
        if (query_ends.back() != of.queries || key_offsets.back() != of.keys)
            throw ShapeError("packed", "the offsets end at ", query_ends.back(), " queries and ",
                             key_offsets.back(), " keys, there are ", of.queries, " and ", of.keys);
    }
};

template <class Row>
Filter intervals(Row row) {
    return Filter(std::make_shared<Intervals<Row>>(std::move(row)));
}

void require_positive(const char* name, int64_t n, const char* what) {
    if (n < 1) throw ValueError(name, what, " is ", n, "; give 1 or more");
}

std::vector<int64_t> offsets_of(const Tensor& t) {
    std::vector<int64_t> out = index_list("packed", t);
    if (out.size() < 2 || out.front() != 0 || !std::is_sorted(out.begin(), out.end()))
        throw ValueError("packed", "offsets start at 0 and ascend, with one more than sequences");
    return out;
}

Band band(int64_t before, int64_t last, bool same) {
    constexpr int64_t far = unbounded / 2;  // beyond all queries and keys, as far as any
    Band b;
    b.before = std::clamp(before, -far, far), b.last = std::clamp(last, -far, far), b.same = same;
    return b;
}

}  // namespace

Filter causal() { return intervals(band(-unbounded, 0, true)); }
Filter causal(int64_t offset) { return intervals(band(-unbounded, offset, false)); }
Filter window(int64_t w, int64_t offset) {
    require_positive("window", w, "the width");
    int64_t before;
    if (__builtin_sub_overflow(offset, w, &before)) before = -unbounded;
    return intervals(band(before, offset, false));
}
Filter strided_local(int64_t l) {
    require_positive("strided_local", l, "the stride");
    return intervals(band(-l - 1, 0, false));
}
Filter fixed_local(int64_t l) {
    require_positive("fixed_local", l, "the block");
    DiagonalBlocks rows;
    rows.l = l;
    return intervals(rows);
}
Filter earlier_blocks(int64_t l, int64_t c) {
    require_positive("earlier_blocks", l, "the block");
    require_positive("earlier_blocks", c, "the number of its keys");
    EarlierBlocks rows;
    rows.l = l, rows.c = c;
    return intervals(rows);
}
Filter padding(const Tensor& lengths) {
    Padding rows;
    rows.lengths = index_list("padding", lengths);
    for (int64_t n : rows.lengths)
        if (n < 0) throw ValueError("padding", "a length of ", n);
    return intervals(std::move(rows));
}
Filter packed(const Tensor& offsets) { return packed(offsets, offsets); }
Filter packed(const Tensor& query_offsets, const Tensor& key_offsets) {
    Packed rows;
    rows.query_ends = offsets_of(query_offsets);
    rows.query_ends.erase(rows.query_ends.begin());
    rows.key_offsets = offsets_of(key_offsets);
    if (rows.key_offsets.size() != rows.query_ends.size() + 1)
        throw ShapeError("packed", rows.query_ends.size(), " sequences of queries, ",
                         rows.key_offsets.size() - 1, " of keys");
    return intervals(std::move(rows));
}

}  // namespace mercer
