#include "attention/smoother/fused/tile.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/caches.h"
#include "engine/cpu/pointwise.h"

namespace mercer::attention {
namespace {

constexpr int max_operands = max_pointwise_inputs;

// Operands of the formula: where each is, and its strides over rows and columns.
template <class T>
struct Operands {
    const void* in[max_operands + 2];
    int64_t row[max_operands + 2], column[max_operands + 2];
    int count = 0;

    void add(const T* at, int64_t by_row, int64_t by_column) {
        in[count] = at, row[count] = by_row, column[count] = by_column;
        ++count;
    }
    void add_all(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k, int64_t i,
                 const T* s) {
        add(s, tile_keys, 1);
        if (p.reads_queries()) add(side.norms + i, 1, 0);
        if (p.reads_keys()) add(k.norms, 0, 1);
        for (const T& x : p.parameters) add(&x, 0, 0);
    }
};

template <class T>
void formula_forward(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
                     const TilePlace& at, const T* s, const cpu::PointwiseFn* kernel,
                     std::initializer_list<void*> out) {
    Operands<T> x;
    x.add_all(p, side, k, at.i, s);
    kernel[sizeof(T) == 8](
        {at.m, at.n, x.in, x.row, x.column, out.begin(), tile_keys, p.spec.formula.state(), false});
}

template <class T>
void squared_norms(const Problem<T>& p, Slot slot, int64_t head, T* out) {
    const Operand<T>& x = p.operand[slot];
    parallel_for(x.rows, p.piece(x.rows, 1024), [&](int64_t begin, int64_t end) {
        const T* from = p.row(slot, head, begin);
        attend_rows<T>().inner(end - begin, x.width, from, from, x.row, out + begin);
    });
}

}  // namespace

template <class T>
KeyNorms<T>::KeyNorms(const Problem<T>& p, int64_t head, Scratch& scratch) {
    if (!p.reads_keys()) return;
    norms = scratch.take<T>(p.keys);
    squared_norms(p, keys, head, norms);
    if (!p.affine) return;
    terms = scratch.take<T>(p.keys);
    for (int64_t j = 0; j < p.keys; ++j) terms[j] = norms[j] * p.log_norm;
}

template <class T>
QuerySide<T> query_side(const Problem<T>& p, int64_t head, Scratch& scratch) {
    QuerySide<T> side{p.of(queries, head), nullptr, p.of(inner_left, head),
                      p.of(relative_left, head)};
    if (p.reads_queries()) {
        T* const norms = scratch.take<T>(p.queries);
        squared_norms(p, queries, head, norms);
        side.norms = norms;
    }
    return side;
}

template <class T>
int64_t key_tile_size(const Problem<T>& p) {
    return p.product() ? packed_size<T>(tile_keys, p.width) : tile_keys * p.width;
}

template <class T>
KeyTile<T> pack_keys(const Problem<T>& p, int64_t head, int64_t t, const KeyNorms<T>& norms,
                     T* packed, T* inner) {
    const int64_t j = t * tile_keys, n = std::min(tile_keys, p.keys - j);
    const T* k = p.row(keys, head, j);
    const int64_t row = p.operand[keys].row;
    if (p.product()) {
        pack_transposed(n, p.width, k, packed, row);
    } else {
        for (int64_t h = 0; h < p.width; ++h)
            for (int64_t c = 0; c < n; ++c) packed[h * tile_keys + c] = k[c * row + h];
    }
    if (p.has(inner_right)) {
        const int64_t e = p.operand[inner_right].width;
        pack_transposed(n, e, p.of(inner_right, head) + j * e, inner);
    }
    return {j,      n,
            packed, norms.norms ? norms.norms + j : nullptr,
            inner,  norms.terms ? norms.terms + j : nullptr};
}

TileClass TileView::look(const Filter& filter, const FilterTile& tile, bool flags) {
    class_ = filter.classify(tile);
    columns_ = tile.keys;
    if (class_ != TileClass::partial) return class_;
    flags_ = flags || !filter.rule()->intervals(tile, intervals_);
    if (flags_) filter.rule()->mark(tile, mask_);
    return class_;
}

int64_t TileView::strip(int64_t rows, int64_t bytes) const {
    constexpr int64_t few = 14;
    if (partial()) return few;
    // Of the first-level cache half and a little.
    const int64_t fit = cpu::caches().l1 * 3 / 5 / (tile_keys * bytes);
    return std::min(rows, std::max(few, fit / few * few));
}

Extent TileView::extent(int64_t first_row, int64_t rows) const {
    if (!partial()) return {0, columns_};
    Extent e{columns_, 0};
    for (int64_t r = first_row; r < first_row + rows; ++r) {
        if (!flags_) {
            const TileColumns& v = intervals_[r];
            if (v.first < v.end) e = {std::min(e.first, v.first), std::max(e.end, v.end)};
            continue;
        }
        const bool* seen = mask_ + r * columns_;
        if (const void* at = std::memchr(seen, true, size_t(e.first)))
            e.first = static_cast<const bool*>(at) - seen;
        while (const void* at = std::memchr(seen + e.end, true, size_t(columns_ - e.end)))
            e.end = static_cast<const bool*>(at) - seen + 1;
    }
    return e.end ? e : Extent{0, 0};
}

template <class T>
void tile_scores(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k, int64_t i,
                 int64_t m, Extent columns, T* s, const T* packed, Ahead<T>* ahead) {
    const T* q = side.q + i * p.width;
    if (p.product()) {
        // A formula's slopes of what is not computed might be NaN.
        multiply_columns<T>({m, k.n, p.width, packed ? packed : q, p.width, 1, k.keys, s, tile_keys,
                             false, 0, 0, packed != nullptr, ahead},
                            {p.affine ? columns.first : 0, columns.end});
        return;
    }
    const bool additive = p.spec.score == Kernel::Score::additive;
    attend_pairs<T>().scores[additive](
        {m, columns.end, p.width, q, k.keys, tile_keys, p.operand[weights].data, s, tile_keys});
}

template <class T>
void tile_logs(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
               const Skewed<T>& relative, const TilePlace& at, const T* s, T* z, T* wide) {
    if (p.affine) return;
    formula_forward(p, side, k, at, s, p.spec.formula.op().kernels().forward, {z});
    if (side.inner) {
        const int64_t e = p.operand[inner_left].width;
        multiply_columns<T>(
            {at.m, k.n, e, side.inner + at.i * e, e, 1, k.inner, z, tile_keys, true}, {0, at.n});
    }
    if (!relative) return;
    if (side.relative)
        relative.add_inner(at, side.relative + at.i * relative.width(), z, wide);
    else
        relative.add_itself(at, z);
}

template <class T>
void tile_weights(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
                  const TilePlace& at, const T* s, T* z, T* sums, T* sizes) {
    formula_forward(p, side, k, at, s, p.spec.formula.op().sums().keep, {z, sums, sizes});
}

template <class T>
void formula_backward(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
                      const TilePlace& at, const T* s, const T* dz, const FormulaGradient<T>& to) {
    Operands<T> x;
    x.add(dz, tile_keys, 1);
    x.add_all(p, side, k, at.i, s);
    x.add(nullptr, 0, 0);  // z, which no formula of a map reads
    void* out[max_operands] = {};
    int n = 0;
    out[n++] = to.scores;
    if (p.reads_queries()) out[n++] = to.query_norms;
    if (p.reads_keys()) out[n++] = to.key_norms;
    for (size_t i = 0; i < p.learned; ++i) out[n++] = to.parameters[i];
    p.spec.formula.op().kernels().backward[sizeof(T) == 8](
        {at.m, at.n, x.in, x.row, x.column, out, tile_keys, p.spec.formula.state(), false});
}

#define MERCER_INSTANTIATE(T)                                                                     \
    template struct KeyNorms<T>;                                                                  \
    template QuerySide<T> query_side(const Problem<T>&, int64_t, Scratch&);                       \
    template int64_t key_tile_size(const Problem<T>&);                                            \
    template KeyTile<T> pack_keys(const Problem<T>&, int64_t, int64_t, const KeyNorms<T>&, T*,    \
                                  T*);                                                            \
    template void tile_scores(const Problem<T>&, const QuerySide<T>&, const KeyTile<T>&, int64_t, \
                              int64_t, Extent, T*, const T*, Ahead<T>*);                          \
    template void tile_logs(const Problem<T>&, const QuerySide<T>&, const KeyTile<T>&,            \
                            const Skewed<T>&, const TilePlace&, const T*, T*, T*);                \
    template void tile_weights(const Problem<T>&, const QuerySide<T>&, const KeyTile<T>&,         \
                               const TilePlace&, const T*, T*, T*, T*);                           \
    template void formula_backward(const Problem<T>&, const QuerySide<T>&, const KeyTile<T>&,     \
                                   const TilePlace&, const T*, const T*,                          \
                                   const FormulaGradient<T>&);
MERCER_INSTANTIATE(float)
MERCER_INSTANTIATE(double)
#undef MERCER_INSTANTIATE

}  // namespace mercer::attention
