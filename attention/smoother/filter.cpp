#include "attention/smoother/filter.h"

#include <algorithm>

#include "engine/error.h"

namespace mercer {
namespace {

// Seen by both filters, or by either.
class Both : public FilterRule {
public:
    Both(Filter a, Filter b, bool both) : a_(std::move(a)), b_(std::move(b)), both_(both) {}
    bool sees(const Seat& s) const override {
        const bool a = a_.rule()->sees(s);
        return a == both_ ? b_.rule()->sees(s) : a;
    }
    TileClass classify(const FilterTile& t) const override {
        // What decides alone: emptiness of one for &, fullness of one for |.
        const TileClass deciding = both_ ? TileClass::empty : TileClass::full,
                        neutral = both_ ? TileClass::full : TileClass::empty;
        const TileClass a = a_.classify(t);
        if (a == deciding) return a;
        const TileClass b = b_.classify(t);
        if (b == deciding || a == neutral) return b;
        return b == neutral ? a : TileClass::partial;
    }
    void mark(const FilterTile& t, bool* seen) const override {
        a_.rule()->mark(t, seen);
        const std::unique_ptr<bool[]> other(new bool[size_t(t.queries * t.keys)]);
        b_.rule()->mark(t, other.get());
        for (int64_t n = 0; n < t.queries * t.keys; ++n)
            seen[n] = both_ ? seen[n] && other[size_t(n)] : seen[n] || other[size_t(n)];
    }
    bool intervals(const FilterTile& t, TileColumns* rows) const override {
        if (!both_ || !a_.rule()->intervals(t, rows)) return false;
        std::vector<TileColumns> other(size_t(t.queries));
        if (!b_.rule()->intervals(t, other.data())) return false;
        for (int64_t r = 0; r < t.queries; ++r) {
            const TileColumns& o = other[size_t(r)];
            rows[r].first = std::max(rows[r].first, o.first);
            rows[r].end = std::max(rows[r].first, std::min(rows[r].end, o.end));
        }
        return true;
    }
    void check(const FilterExtent& of) const override {
        a_.rule()->check(of);
        b_.rule()->check(of);
    }
    bool by_batch() const override { return a_.rule()->by_batch() || b_.rule()->by_batch(); }
    bool by_head() const override { return a_.rule()->by_head() || b_.rule()->by_head(); }

private:
    Filter a_, b_;
    bool both_;
};

class ByHead : public FilterRule {
public:
    explicit ByHead(std::vector<Filter> filters) : filters_(std::move(filters)) {}
    bool sees(const Seat& s) const override {
        const FilterRule* rule = of(s.head).rule();
        return !rule || rule->sees(s);
    }
    TileClass classify(const FilterTile& t) const override { return of(t.head).classify(t); }
    void mark(const FilterTile& t, bool* seen) const override {
        if (const FilterRule* rule = of(t.head).rule())
            rule->mark(t, seen);
        else
            std::fill_n(seen, t.queries * t.keys, true);
    }
    bool intervals(const FilterTile& t, TileColumns* rows) const override {
        const FilterRule* rule = of(t.head).rule();
        return rule && rule->intervals(t, rows);
    }
    void check(const FilterExtent& of) const override {
        for (const Filter& f : filters_)
            if (f.rule()) f.rule()->check(of);
    }
    bool by_batch() const override {
        return std::any_of(filters_.begin(), filters_.end(),
                           [](const Filter& f) { return f.rule() && f.rule()->by_batch(); });
    }
    bool by_head() const override { return true; }

private:
    const Filter& of(int64_t head) const { return filters_[size_t(head) % filters_.size()]; }
    std::vector<Filter> filters_;
};

class Predicate : public FilterRule {
public:
    Predicate(std::function<bool(const Seat&)> sees, bool by_batch, bool by_head)
        : sees_(std::move(sees)), by_batch_(by_batch), by_head_(by_head) {}
    bool sees(const Seat& s) const override { return sees_(s); }
    TileClass classify(const FilterTile&) const override { return TileClass::partial; }
    bool by_batch() const override { return by_batch_; }
    bool by_head() const override { return by_head_; }

private:
    std::function<bool(const Seat&)> sees_;
    bool by_batch_, by_head_;
};

}  // namespace

void FilterRule::mark(const FilterTile& t, bool* seen) const {
    for (int64_t r = 0; r < t.queries; ++r)
        for (int64_t c = 0; c < t.keys; ++c)
            *seen++ = sees({t.batch, t.head, t.query + r, t.key + c});
}
bool FilterRule::intervals(const FilterTile&, TileColumns*) const { return false; }
void FilterRule::check(const FilterExtent&) const {}

Filter operator&(const Filter& a, const Filter& b) {
    if (!a.rule()) return b;
    if (!b.rule()) return a;
    return Filter(std::make_shared<Both>(a, b, true));
}
Filter operator|(const Filter& a, const Filter& b) {
    if (!a.rule() || !b.rule()) return {};
    return Filter(std::make_shared<Both>(a, b, false));
}

Filter by_head(std::vector<Filter> filters) {
    if (filters.empty()) throw ValueError("by_head", "needs at least one filter");
    return Filter(std::make_shared<ByHead>(std::move(filters)));
}
Filter filter(std::function<bool(const Seat&)> sees, bool by_batch, bool by_head) {
    if (!sees) throw ValueError("filter", "the function is empty");
    return Filter(std::make_shared<Predicate>(std::move(sees), by_batch, by_head));
}

FilterExtent extent(const Shape& queries, int64_t keys) {
    const int rank = queries.rank();
    return {rank > 2 ? queries[0] : 1, rank > 3 ? queries[1] : 1, queries[rank - 2], keys};
}

Tensor visible(const Filter& filter, const Shape& scores) {
    const int rank = scores.rank();
    if (rank < 2) throw ShapeError("visible", "scores ", scores, " need two axes or more");
    const int64_t queries = scores[rank - 2], keys = scores[rank - 1];
    const FilterRule* rule = filter.rule();
    if (!rule) return Tensor::full({1, 1}, 1, DType::boolean);
    const bool batched = rule->by_batch() && rank > 2, headed = rule->by_head() && rank > 3;
    if ((rule->by_batch() || rule->by_head()) && rank > 4)
        throw ShapeError("visible", "the filter looks at batch entries or heads; scores ", scores,
                         " should be [B, H, Tq, Tk]");
    rule->check(extent(scores, keys));
    Shape shape = scores;
    for (int a = 0; a < rank - 2; ++a) shape[a] = 1;
    if (batched) shape[0] = scores[0];
    if (headed) shape[1] = scores[1];
    Tensor mask = Tensor::empty(shape, DType::boolean);
    bool* seen = mask.mutable_data<bool>();
    for (int64_t b = 0; b < (batched ? scores[0] : 1); ++b)
        for (int64_t h = 0; h < (headed ? scores[1] : 1); ++h, seen += queries * keys)
            rule->mark({b, h, 0, queries, 0, keys}, seen);
    return mask;
}

}  // namespace mercer
