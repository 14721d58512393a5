#include "attention/smoother/fused/spec.h"

#include <algorithm>

#include "attention/smoother/placed.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/ops/entmax.h"

namespace mercer::attention {
namespace {

// Whether the leading axes of x (those before its last two) fit those of q.
bool fits(const Var& q, const Var& x) {
    if (x.rank() < 2 || x.rank() > q.rank()) return false;
    for (int a = 3; a <= x.rank(); ++a) {
        const int64_t n = x.size(-a), of = q.size(-a);
        if (n != of && n != 1 && !(a == 3 && n > 0 && of % n == 0)) return false;
    }
    return true;
}

/// A rule for queries that begin at `first` of `queries`.
class Shifted : public FilterRule {
public:
    Shifted(Filter filter, int64_t first, int64_t queries)
        : filter_(std::move(filter)), first_(first), queries_(queries) {}
    bool sees(const Seat& s) const override {
        return filter_.rule()->sees({s.batch, s.head, s.query + first_, s.key});
    }
    TileClass classify(const FilterTile& t) const override { return filter_.classify(moved(t)); }
    void mark(const FilterTile& t, bool* seen) const override {
        filter_.rule()->mark(moved(t), seen);
    }
    bool intervals(const FilterTile& t, TileColumns* rows) const override {
        return filter_.rule()->intervals(moved(t), rows);
    }
    void check(const FilterExtent& of) const override {
        filter_.rule()->check({of.batches, of.heads, queries_, of.keys});
    }
    bool by_batch() const override { return filter_.rule()->by_batch(); }
    bool by_head() const override { return filter_.rule()->by_head(); }

private:
    FilterTile moved(FilterTile t) const {
        t.query += first_;
        return t;
    }
    Filter filter_;
    int64_t first_, queries_;
};

}  // namespace

std::optional<Prepared> prepare(const Var& q, const Var& k, const Var& v,
                                const SmootherOptions& options) {
    check_normaliser(options.kernel, options.normaliser);
    const Kernel& kernel = options.kernel;
    if (q.rank() < 2 || !is_floating(q.dtype()) || k.dtype() != q.dtype() ||
        v.dtype() != q.dtype() || !fits(q, k) || !fits(q, v) || q.size(-1) != k.size(-1) ||
        k.size(-2) != v.size(-2))
        return std::nullopt;
    const FilterRule* rule = options.filter.rule();
    if (rule && (rule->by_batch() || rule->by_head()) && q.rank() > 4) return std::nullopt;

    // Keys in groups stay so, unless the scheme looks at heads.
    const Positioned at = options.position.index() == 0 ? Positioned{q, k} : placed(q, k, options);
    Prepared out{{.formula = kernel.formula(q.size(-1)),
                  .score = kernel.score,
                  .norms = kernel.norms,
                  .direct = kernel.direct,
                  .kernel_name = kernel.name,
                  .normaliser = options.normaliser.kind,
                  .filter = filter_of(at, options),
                  .dropout = options.dropout,
                  .report = options.report,
                  .relative_at = at.relative ? at.relative->at : Distances{},
                  .value_at = at.value_at,
                  .relative_scale = at.relative ? at.relative->scale : 1,
                  .at = {},
                  .inputs = 0},
                 {}};
    FusedSpec& spec = out.spec;
    if (spec.normaliser == Normaliser::Kind::automatic)
        spec.normaliser = kernel.direct ? Normaliser::Kind::division : Normaliser::Kind::softmax;
    if (kernel.direct && (at.inner || at.relative)) return std::nullopt;
    if (!(spec.dropout.rate >= 0 && spec.dropout.rate < 1)) return std::nullopt;

    std::fill(std::begin(spec.at), std::end(spec.at), int8_t(-1));
    const auto add = [&](Slot slot, const Var& x) {
        spec.at[slot] = int8_t(out.inputs.size());
        out.inputs.push_back(x);
        return x.dtype() == q.dtype() && (slot == weights || fits(at.q, x));
    };
    if (!add(queries, at.q) || !add(keys, at.k) || !add(values, v)) return std::nullopt;
    if (at.inner && (!add(inner_left, at.inner->queries) || !add(inner_right, at.inner->keys)))
        return std::nullopt;
    if (at.relative) {
        const auto& [x, rows, distances, scale] = *at.relative;
        if (!x.defined() && distances.reversed) return std::nullopt;
        if (x.defined() && !add(relative_left, x)) return std::nullopt;
        if (!add(relative_rows, x.defined() ? rows : unsqueeze(rows, -1))) return std::nullopt;
    }
    if (at.value_rows.defined() &&
        (at.value_rows.size(-1) != v.size(-1) || !add(value_rows, at.value_rows)))
        return std::nullopt;
    const bool additive = kernel.score == Kernel::Score::additive;
    if (additive) {
        const Var& w = kernel.parameters.front();
        if (w.rank() != 1 || w.count() != q.size(-1) || !add(weights, w)) return std::nullopt;
    }
    if (spec.normaliser == Normaliser::Kind::entmax) {
        if (!options.normaliser.alpha.defined()) return std::nullopt;
        Var a = cast(options.normaliser.alpha, q.dtype());
        require_alpha("attend", a.value());
        if (a.count() == 1) a = reshape(a, {1, 1});
        Shape shape = at.q.shape();
        shape[shape.rank() - 1] = 1;
        if (a.rank() > shape.rank() || a.rank() < 2 || a.size(-1) != 1) return std::nullopt;
        for (int i = 1; i <= a.rank(); ++i)
            if (a.size(-i) != 1 && a.size(-i) != shape[shape.rank() - i]) return std::nullopt;
        if (!add(alpha, broadcast_to(a, shape))) return std::nullopt;
    }
    spec.inputs = int(out.inputs.size());
    for (size_t i = additive; i < kernel.parameters.size(); ++i)
        out.inputs.push_back(formula_parameter(kernel, kernel.parameters[i], q.dtype()));
    return out;
}

std::vector<Var> smooth_rows(const FusedSpec& spec, std::span<const Var> inputs, bool measures,
                             int64_t first, int64_t rows) {
    const auto of = [&](Slot slot) {
        return spec.at[slot] < 0 ? Var() : inputs[size_t(spec.at[slot])];
    };
    Positioned at{of(queries), for_heads_of(of(queries), of(keys))};
    if (spec.at[inner_left] >= 0) at.inner = InnerTerm{of(inner_left), of(inner_right)};
    if (spec.at[relative_rows] >= 0) {
        const Var x = of(relative_left), rows = of(relative_rows);
        at.relative = RelativeTerm{x, x.defined() ? rows : squeeze(rows, -1), spec.relative_at,
                                   spec.relative_scale};
        at.relative->at.first += std::max<int64_t>(first, 0);
    }
    at.value_rows = of(value_rows), at.value_at = spec.value_at;
    at.value_at.first += std::max<int64_t>(first, 0);
    SmootherOptions o;
    o.kernel = {.name = spec.kernel_name,
                .formula = [f = spec.formula](int64_t) { return f; },
                .score = spec.score,
                .norms = spec.norms,
                .direct = spec.direct,
                .parameters = {}};
    if (spec.at[weights] >= 0) o.kernel.parameters.push_back(of(weights));
    for (size_t i = size_t(spec.inputs); i < inputs.size(); ++i)
        o.kernel.parameters.push_back(inputs[i]);
    o.filter = spec.filter.rule() && first >= 0
                   ? Filter(std::make_shared<Shifted>(spec.filter, first, rows))
                   : spec.filter;
    o.normaliser = {spec.normaliser, of(alpha)};
    o.dropout = spec.dropout;
    return attend_placed(at, of(values), o, measures, {first, rows});
}

}  // namespace mercer::attention
