#include "attention/smoother/sparse.h"

namespace mercer::attention {

std::optional<FarPart> FarPart::of(const Filter& filter, int64_t queries, int64_t keys) {
    const SparsePattern* p = filter.rule() ? filter.rule()->pattern() : nullptr;
    if (!p || queries / 4 < p->l || keys < queries) return std::nullopt;
    if (p->kind == SparsePattern::Kind::strided)
        return FarPart{strided_local(p->l), causal(-2), p->l, *p, queries, keys};
    return FarPart{fixed_local(p->l), earlier_blocks(p->l, p->c), 1, *p, queries, keys};
}

Group FarPart::group(int64_t head, int64_t n) const {
    const auto& [kind, l, c, sub_blocks] = pattern;
    const auto every = [&](int64_t rows) { return Rows{(rows - n + l - 1) / l, n, 1, l}; };
    if (kind == SparsePattern::Kind::strided) return {every(queries), every(keys)};
    return {{queries}, {keys / l * c, l - c * (head % sub_blocks + 1), c, l}};
}

}  // namespace mercer::attention
