#include "attention/smoother/sparse.h"

#include <numeric>

#include "attention/smoother/placed.h"
#include "autograd/functions.h"

namespace mercer::attention {
namespace {

// [B…, T, d] with zeros up to a multiple of l.
Var filled(const Var& x, int64_t l) {
    const int64_t missing = (l - x.size(-2) % l) % l;
    if (missing == 0) return x;
    const Dims none = Dims::filled(x.rank(), 0);
    Dims after = none;
    after[x.rank() - 2] = missing;
    return pad(x, std::span(none.begin(), none.end()), std::span(after.begin(), after.end()));
}

// [B…, n·l, d] to [B…, n, l, d], and back.
Var in_blocks(const Var& x, int64_t l) {
    Shape shape = x.shape();
    shape[x.rank() - 2] = x.size(-2) / l;
    shape[x.rank() - 1] = l;
    shape.push_back(x.size(-1));
    return reshape(x, shape);
}
Var in_one(const Var& x) {
    Shape shape = x.shape();
    shape[x.rank() - 3] *= shape[x.rank() - 2];
    shape.erase(x.rank() - 2);
    return reshape(x, shape);
}
Var swapped(const Var& x, int a, int b) {
    std::vector<int> axes(size_t(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[size_t(x.rank() + a)], axes[size_t(x.rank() + b)]);
    return permute(x, axes);
}

/// Keys i − l·m, m ≥ 2: queries and keys of the same place in their block, side by side.
Smoothed strided_part(const Var& q, const Var& k, const Var& v, int64_t l, SmootherOptions o) {
    const auto by_place = [&](const Var& x) { return swapped(in_blocks(filled(x, l), l), -3, -2); };
    o.filter = causal(-2);
    const Smoothed s = attend_measured(by_place(q), by_place(k), by_place(v), o);
    const auto rows = [&](const Var& x) { return slice(x, -2, 0, q.size(-2)); };
    const auto column = [&](const Var& x) {
        return rows(in_one(swapped(unsqueeze(x, -1), -3, -2)));
    };
    return {rows(in_one(swapped(s.out, -3, -2))), column(s.lse), {}};
}

/// The last c keys of every earlier block.
Smoothed fixed_part(const Var& q, const Var& k, const Var& v, int64_t l, int64_t c,
                    SmootherOptions o) {
    const int64_t whole = k.size(-2) / l * l;
    const auto summaries_of = [&](const Var& x) {
        return in_one(slice(in_blocks(slice(x, -2, 0, whole), l), -2, l - c, l));
    };
    o.filter = earlier_blocks(l, c);
    const Smoothed s = attend_measured(q, summaries_of(k), summaries_of(v), o);
    return {s.out, unsqueeze(s.lse, -1), {}};
}

}  // namespace

std::optional<Var> attend_sparse(const Var& q, const Var& k, const Var& v,
                                 const SmootherOptions& options) {
    using Kind = Normaliser::Kind;
    const FilterRule* rule = options.filter.rule();
    const SparsePattern* pattern = rule ? rule->pattern() : nullptr;
    const Kind kind = options.normaliser.kind;
    if (!pattern || options.kernel.direct || (kind != Kind::automatic && kind != Kind::softmax) ||
        options.dropout.rate != 0 || q.rank() < 2 || q.rank() > Shape::max_rank - 1 ||
        q.shape() != k.shape() || v.rank() != q.rank() || q.size(-2) < 4 * pattern->l)
        return std::nullopt;
    for (int a = 0; a < q.rank() - 1; ++a)
        if (v.size(a) != q.size(a)) return std::nullopt;
    const Positioned at = placed(q, k, options);
    if (at.inner || at.relative || at.horizon || at.value_rows.defined()) return std::nullopt;

    SmootherOptions o = options;
    o.position = NoPosition{};
    const bool strides = pattern->kind == SparsePattern::Kind::strided;
    o.filter = strides ? strided_local(pattern->l) : fixed_local(pattern->l);
    const Smoothed near = attend_measured(at.q, at.k, v, o);
    const Smoothed far = strides ? strided_part(at.q, at.k, v, pattern->l, o)
                                 : fixed_part(at.q, at.k, v, pattern->l, pattern->c, o);
    // Shares of both, from log Σe^z; what is near holds the query itself.
    const Var first = unsqueeze(near.lse, -1);
    const Var top = maximum(first.detach(), far.lse.detach());
    const Var a = exp(first - top), b = exp(far.lse - top);
    return (near.out * a + far.out * b) / (a + b);
}

}  // namespace mercer::attention
