#include <algorithm>
#include <cmath>

#include "attention/smoother/fused/fused.h"
#include "attention/smoother/fused/tile.h"
#include "attention/smoother/placed.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

// Sums over all pairs of a head (of tables, of parameters) are made in at most so many parts, joined in
// order: what may run beside each other does not depend on the number of threads.
constexpr int64_t most_parts = 2;

/// Gradients of all heads, dense: of slot s, matrix h·parts + part. nullptr where not wanted.
template <class T>
struct Gradients {
    T* of[slots] = {};
    T* parameters[3] = {};  // of each head and tile
    bool keys_side() const {
        bool any = of[keys] || of[values] || of[inner_right] || of[relative_rows] ||
                   of[value_rows] || of[weights];
        for (T* p : parameters) any = any || p;
        return any;
    }
    bool queries_side() const {
        return of[queries] || of[inner_left] || of[relative_left] || of[alpha];
    }
};

/// What the forward pass left, and the cotangents, of all heads.
template <class T>
struct Saved {
    Statistics<T> statistics;
    const T *mean, *g, *lse, *entropy;  // g …: cotangents; nullptr where there are none
    const T* entropies;                 // the forward values, with entropy
};

/// One head, and everything of it that more than one tile reads.
template <class T>
struct Head {
    const Problem<T>& p;
    int64_t head;
    const T *v, *g;
    QuerySide<T> side;
    KeyNorms<T> norms;
    Skewed<T> relative, value_rows;
    Statistics<T> statistics;
    Gradients<T> to;  // of this head
    T *D, *slope = nullptr, *epsilon = nullptr;
    T *query_weights, *key_weights;  // cotangents of the norms
    // Packed, block after block: of dO, q, x, relative x.
    struct Blocks {
        T* data = nullptr;
        int64_t size = 0;
        const T* of(int64_t b) const { return data + b * size; }
    } g_blocks, q_blocks, x_blocks, r_blocks;

    Head(const Problem<T>& problem, int64_t h, const Saved<T>& saved, const Gradients<T>& all,
         Scratch& scratch)
        : p(problem), head(h), side(query_side(p, h, scratch)), norms(p, h, scratch) {
        const int64_t row = h * p.queries;
        v = p.of(values, h), g = saved.g + row * p.values;
        statistics = saved.statistics.from(row);
        for (int s = 0; s < slots; ++s)
            if (all.of[s]) to.of[s] = all.of[s] + h * size_of(Slot(s));
        for (size_t k = 0; k < p.learned; ++k)
            if (all.parameters[k]) to.parameters[k] = all.parameters[k] + h * p.tiles();
        D = scratch.take<T>(p.queries);
        if (p.tiles() > 1)
            row_stages<T>().inner(p.queries, p.values, g, saved.mean + row * p.values, p.values, D);
        else
            std::fill_n(D, p.queries, T(0));
        if (saved.lse)
            for (int64_t i = 0; i < p.queries; ++i) D[i] -= saved.lse[row + i];
        if (saved.entropy) {
            // ∂H/∂z = −p·(z − max − log Σ + H)
            slope = scratch.take<T>(p.queries);
            for (int64_t i = 0; i < p.queries; ++i) {
                const T share = statistics.of[1][i],
                        gh = share == T(0) ? T(0) : saved.entropy[row + i];
                slope[i] = -gh;
                if (gh != T(0)) D[i] += gh * (saved.entropies[row + i] + std::log(share));
            }
        }
        if (p.has(alpha)) {
            epsilon = scratch.take<T>(p.queries);
            for (int64_t i = 0; i < p.queries; ++i) epsilon[i] = p.of(alpha, h)[i] - T(1);
        }
        query_weights = scratch.take<T>(p.queries), key_weights = scratch.take<T>(p.keys);
        std::fill_n(query_weights, p.queries, T(0));
        std::fill_n(key_weights, p.keys, T(0));
        const bool table = p.has(relative_left);
        if (p.has(relative_rows)) relative = Skewed<T>(p, relative_rows, h, table, scratch);
        if (p.has(Slot::value_rows)) value_rows = Skewed<T>(p, Slot::value_rows, h, true, scratch);
        g_blocks = pack(g, p.values, all.of[values] || all.of[Slot::value_rows], scratch);
        q_blocks = pack(side.q, p.width, p.product() && all.of[keys], scratch);
        if (side.inner)
            x_blocks = pack(side.inner, p.operand[inner_left].width, all.of[inner_right], scratch);
        if (side.relative)
            r_blocks = pack(side.relative, relative.width(), all.of[relative_rows], scratch);
    }
    /// Elements of a slot's gradient for one head.
    int64_t size_of(Slot s) const {
        switch (s) {
            case relative_rows:
            case Slot::value_rows: return parts() * p.distances() * p.operand[s].width;
            case weights: return p.tiles() * p.width;
            case alpha: return p.queries;
            default: return p.operand[s].rows * p.operand[s].width;
        }
    }
    Blocks pack(const T* x, int64_t width, bool wanted, Scratch& scratch) const {
        if (!wanted) return {};
        Blocks out{nullptr, packed_size<T>(width, block_queries)};
        T* const data = scratch.take<T>(p.blocks() * out.size);
        for (int64_t b = 0; b < p.blocks(); ++b) {
            const int64_t i = b * block_queries;
            pack_straight(width, std::min(block_queries, p.queries - i), x + i * width,
                          data + b * out.size);
        }
        out.data = data;
        return out;
    }
    static int64_t parts() { return most_parts; }
    int64_t part_of(int64_t t) const { return t * most_parts / p.tiles(); }
};

/// A tile of keys and values, packed for the products that read it by columns.
template <class T>
struct PackedTile {
    int64_t t;
    KeyTile<T> k;
    T *values, *key_rows, *inner_rows, *dkeys;  // dkeys: of pair scores, transposed

    PackedTile(const Head<T>& h, int64_t tile, Scratch& scratch) : t(tile) {
        const Problem<T>& p = h.p;
        k = pack_keys(p, h.head, t, h.norms, scratch.take<T>(key_tile_size(p)),
                      scratch.take<T>(inner_tile_size(p)));
        values = scratch.take<T>(packed_size<T>(tile_keys, p.values));
        pack_transposed(k.n, p.values, h.v + k.j * p.values, values);
        key_rows = rows_of(p, keys, h.head, scratch);
        inner_rows = p.has(inner_right) ? rows_of(p, inner_right, h.head, scratch) : nullptr;
        dkeys = p.product() ? nullptr : scratch.take<T>(p.width * tile_keys);
        if (dkeys) std::fill_n(dkeys, p.width * tile_keys, T(0));
    }
    T* rows_of(const Problem<T>& p, Slot slot, int64_t head, Scratch& scratch) const {
        const int64_t width = p.operand[slot].width;
        T* const out = scratch.take<T>(packed_size<T>(width, k.n));
        pack_straight(width, k.n, p.of(slot, head) + k.j * width, out);
        return out;
    }
};

/// Scratch for one tile: scores; log weights, then weights; cotangents; what dropout keeps.
template <class T>
struct Stage {
    T *s, *z, *g, *kept = nullptr, *keep = nullptr, *wide = nullptr;
    FormulaGradient<T> formula{};
    TileView view;

    Stage(const Problem<T>& p, Scratch& scratch) : view(block_queries, scratch) {
        constexpr int64_t size = block_queries * tile_keys;
        s = scratch.take<T>(size), z = scratch.take<T>(size), g = scratch.take<T>(size);
        if (p.spec.dropout.rate > 0) kept = scratch.take<T>(size), keep = scratch.take<T>(size);
        if (p.has(relative_rows) || p.has(value_rows))
            wide = scratch.take<T>(block_queries * wide_row);
        if (!p.affine) {
            formula.scores = scratch.take<T>(size);
            if (p.reads_queries()) formula.query_norms = scratch.take<T>(size);
            if (p.reads_keys()) formula.key_norms = scratch.take<T>(size);
        }
        for (size_t k = 0; k < p.learned; ++k) formula.parameters[k] = scratch.take<T>(size);
    }
};

/// What queries of block b and keys of tile t give to each other.
template <class T>
class TilePair {
public:
    TilePair(const Head<T>& h, const PackedTile<T>& tile, int64_t b, const Gradients<T>& to,
             Stage<T>& x)
        : h_(h), p_(h.p), tile_(tile), b_(b), to_(to), x_(x) {
        at_.j = tile.k.j;
    }

    void run() {
        const int64_t i = b_ * block_queries;
        block_ = std::min(block_queries, p_.queries - i);
        if (x_.view.look(p_.spec.filter, p_.tile(h_.head, i, block_, at_.j, tile_.k.n)) ==
            TileClass::empty)
            return;
        const int64_t strip = x_.view.strip(block_);
        for (first_ = 0; first_ < block_; first_ += strip) {
            at_.i = i + first_, at_.m = std::min(strip, block_ - first_);
            columns_ = x_.view.extent(first_, at_.m);
            at_.n = columns_.end;
            if (at_.n > 0) run_rows();
        }
    }

private:
    int64_t used() const { return columns_.end - columns_.first; }

    void run_rows() {
        tile_scores(p_, h_.side, tile_.k, at_.i, at_.m, columns_, x_.s);
        // Where all is affine, z is read from the scores, which become the weights.
        T* const z = p_.affine ? x_.s : x_.z;
        tile_logs(p_, h_.side, tile_.k, h_.relative, at_, x_.s, z, x_.wide);
        weight_cotangents();
        to_logs(z);
        give_values(z);
        give_terms();
        give_scores();
    }

    /// g = dO·Vᵀ, and what rows of values add to it; times what dropout keeps.
    void weight_cotangents() {
        const int64_t nr = cpu::gemm_kernels<T>().nr, from = columns_.first / nr * nr;
        const T* g = h_.g + at_.i * p_.values;
        multiply<T>({at_.m, columns_.end - from, p_.values, g, p_.values, 1,
                     tile_.values + from * p_.values, x_.g + from, tile_keys, false, 0, 0,
                     tile_.k.n - from});
        if (h_.value_rows) h_.value_rows.add_inner(at_, g, x_.g, x_.wide);
        if (!x_.keep) return;
        for (int64_t r = 0; r < at_.m; ++r)
            keep_factors(p_.spec.dropout, (h_.head * p_.queries + at_.i + r) * p_.keys + at_.j,
                         at_.n, x_.keep + r * tile_keys);
        row_stages<T>().times(at_.m, at_.n, x_.g, x_.keep, tile_keys, x_.g);
    }
    void to_logs(T* z) {
        const WeightTable<T>& stages = weight_stages<T>();
        const Statistics<T> s = h_.statistics.from(at_.i);
        LogTile<T> tile{.rows = at_.m,
                        .columns = at_.n,
                        .z = z,
                        .row = tile_keys,
                        .scale = p_.score,
                        .column_terms = tile_.k.column_terms,
                        .whole = p_.tiles() == 1};
        x_.view.show(tile, first_);
        const T* const D = h_.D + at_.i;
        if (p_.spec.soft())
            stages.unsoften(tile, x_.g, s.of[0], s.of[1], D, h_.slope ? h_.slope + at_.i : nullptr);
        else if (p_.spec.divides())
            stages.undivide(tile, x_.g, s.of[1], D);
        else
            stages.unsparse(sparse_kind(p_.spec), tile, x_.g,
                            h_.epsilon ? h_.epsilon + at_.i : nullptr, s, D,
                            to_.of[alpha] ? to_.of[alpha] + at_.i : nullptr);
    }
    /// dV += pᵀ·dO.
    void give_values(const T* p) {
        if (!to_.of[values] && !to_.of[value_rows]) return;
        if (x_.keep) {
            row_stages<T>().times(at_.m, at_.n, p, x_.keep, tile_keys, x_.kept);
            p = x_.kept;
        }
        const T* g = h_.g_blocks.of(b_);
        if (to_.of[values])
            multiply<T>({used(), p_.values, at_.m, p + columns_.first, 1, tile_keys, g,
                         to_.of[values] + (at_.j + columns_.first) * p_.values, p_.values, true,
                         block_, first_});
        if (T* d = table(value_rows)) {
            h_.value_rows.spread(at_, p, x_.wide);
            h_.value_rows.add_gradient(at_, x_.wide, g, block_, first_, d);
        }
    }
    void give_terms() {
        const T* dz = x_.g;
        const auto wide = p_.operand[inner_left].width;
        if (T* d = to_.of[inner_left])
            multiply<T>({at_.m, wide, used(), dz + columns_.first, tile_keys, 1, tile_.inner_rows,
                         d + at_.i * wide, wide, true, tile_.k.n, columns_.first});
        if (T* d = to_.of[inner_right])
            multiply<T>({used(), wide, at_.m, dz + columns_.first, 1, tile_keys, h_.x_blocks.of(b_),
                         d + (at_.j + columns_.first) * wide, wide, true, block_, first_});
        T* const rows = table(relative_rows);
        if (T* d = to_.of[relative_left]) {
            h_.relative.add_combined(at_, dz, d + at_.i * h_.relative.width(), x_.wide);
        } else if (rows) {
            h_.relative.spread(at_, dz, x_.wide);
        }
        if (!rows) return;
        if (h_.side.relative)
            h_.relative.add_gradient(at_, x_.wide, h_.r_blocks.of(b_), block_, first_, rows);
        else
            h_.relative.add_gradient_itself(at_, x_.wide, rows);
    }
    /// The table's gradient that tile t adds to.
    T* table(Slot slot) const {
        T* const d = to_.of[slot];
        return d ? d + h_.part_of(tile_.t) * p_.distances() * p_.operand[slot].width : nullptr;
    }
    void give_scores() {
        T *const dq = to_.of[queries], *const dk = to_.of[keys];
        bool parameters = false;
        for (T* d : to_.parameters) parameters = parameters || d;
        if (!dq && !dk && !parameters && !to_.of[weights]) return;
        const T* ds = x_.g;  // affine: times `score`, at the end
        const T *da = nullptr, *db = x_.g;
        if (!p_.affine) {
            FormulaGradient<T> to = x_.formula;
            for (size_t k = 0; k < p_.learned; ++k)
                if (!to_.parameters[k]) to.parameters[k] = nullptr;
            formula_backward(p_, h_.side, tile_.k, at_, x_.s, x_.g, to);
            ds = to.scores, da = to.query_norms, db = to.key_norms;
            add_parameters(to);
        }
        if (p_.product())
            give_products(ds, dq, dk);
        else
            give_pairs(ds, dq, dk);
        if (dq && p_.reads_queries())
            row_stages<T>().add_rows(at_.m, at_.n, da, tile_keys, h_.query_weights + at_.i);
        if (dk && p_.reads_keys())
            row_stages<T>().add_columns(at_.m, at_.n, db, tile_keys, h_.key_weights + at_.j);
    }
    void add_parameters(const FormulaGradient<T>& from) {
        T sums[block_queries];
        for (size_t k = 0; k < p_.learned; ++k) {
            if (!to_.parameters[k]) continue;
            std::fill_n(sums, at_.m, T(0));
            row_stages<T>().add_rows(at_.m, at_.n, from.parameters[k], tile_keys, sums);
            T total(0);
            for (int64_t r = 0; r < at_.m; ++r) total += sums[r];
            to_.parameters[k][tile_.t] += total;
        }
    }
    void give_products(const T* ds, T* dq, T* dk) {
        if (dq)
            multiply<T>({at_.m, p_.width, used(), ds + columns_.first, tile_keys, 1, tile_.key_rows,
                         dq + at_.i * p_.width, p_.width, true, tile_.k.n, columns_.first});
        if (dk)
            multiply<T>({used(), p_.width, at_.m, ds + columns_.first, 1, tile_keys,
                         h_.q_blocks.of(b_), dk + (at_.j + columns_.first) * p_.width, p_.width,
                         true, block_, first_});
    }
    void give_pairs(const T* ds, T* dq, T* dk) {
        const bool additive = p_.spec.score == Kernel::Score::additive;
        // Sums of sums: fewer additions to a large one.
        Scratch scratch;
        T* const dw = to_.of[weights] ? scratch.take<T>(p_.width) : nullptr;
        if (dw) std::fill_n(dw, p_.width, T(0));
        pair_stages<T>().backward[additive](
            {at_.m, at_.n, p_.width, h_.side.q + at_.i * p_.width, tile_.k.keys, tile_keys,
             p_.operand[weights].data, const_cast<T*>(ds), tile_keys},
            dq ? dq + at_.i * p_.width : nullptr, dk ? tile_.dkeys : nullptr, dw);
        if (dw)
            row_stages<T>().add_columns(1, p_.width, dw, 0, to_.of[weights] + tile_.t * p_.width);
    }

    const Head<T>& h_;
    const Problem<T>& p_;
    const PackedTile<T>& tile_;
    int64_t b_;
    const Gradients<T>& to_;
    Stage<T>& x_;
    int64_t block_ = 0, first_ = 0;  // rows of the block; of them, the strip's first
    TilePlace at_{};                 // the strip, and the columns up to what it sees last
    Extent columns_{};
};

/// Whether queries of blocks [first, end) see any of tile t.
template <class T>
bool any_seen(const Problem<T>& p, int64_t head, int64_t t, int64_t first, int64_t end) {
    const int64_t j = t * tile_keys, n = std::min(tile_keys, p.keys - j);
    for (int64_t b = first; b < end; ++b) {
        const int64_t i = b * block_queries, m = std::min(block_queries, p.queries - i);
        if (p.spec.filter.classify(p.tile(head, i, m, j, n)) != TileClass::empty) return true;
    }
    return false;
}

/// Blocks [first, end) of queries against tile t.
template <class T>
void backward_tile(const Head<T>& h, int64_t t, int64_t first, int64_t end,
                   const Gradients<T>& to) {
    if (!any_seen(h.p, h.head, t, first, end)) return;
    Scratch scratch;
    const PackedTile<T> tile(h, t, scratch);
    Stage<T> stage(h.p, scratch);
    for (int64_t b = first; b < end; ++b) TilePair<T>(h, tile, b, to, stage).run();
    T* const dk = to.of[keys];
    if (!dk || !tile.dkeys) return;
    for (int64_t c = 0; c < tile.k.n; ++c)
        for (int64_t e = 0; e < h.p.width; ++e)
            dk[(tile.k.j + c) * h.p.width + e] += tile.dkeys[e * tile_keys + c];
}

/// What no tile could give alone.
template <class T>
void finish(const Head<T>& h) {
    const Problem<T>& p = h.p;
    T *const dq = h.to.of[queries], *const dk = h.to.of[keys], *const dv = h.to.of[values];
    if (p.affine && p.score != T(1)) {
        const std::vector<T> factors(size_t(std::max(p.queries, p.keys)), p.score);
        if (dq) row_stages<T>().rescale(p.queries, p.width, dq, p.width, factors.data());
        if (dk) row_stages<T>().rescale(p.keys, p.width, dk, p.width, factors.data());
    }
    if (p.affine && p.reads_keys())
        for (int64_t j = 0; j < p.keys; ++j) h.key_weights[j] *= p.norm;
    if (dq && p.reads_queries())
        row_stages<T>().add_norms(p.queries, p.width, h.query_weights, h.side.q, p.width, dq,
                                  p.width);
    if (dk && p.reads_keys())
        row_stages<T>().add_norms(p.keys, p.width, h.key_weights, p.of(keys, h.head), p.width, dk,
                                  p.width);
    if (!dv || !p.spec.divides()) return;
    for (int64_t i = 0; i < p.queries; ++i) {
        // A row that took its nearest key.
        const int64_t j = int64_t(h.statistics.of[0][i]);
        if (j < 0) continue;
        T keep(1);
        if (p.spec.dropout.rate > 0)
            keep_factors(p.spec.dropout, (h.head * p.queries + i) * p.keys + j, 1, &keep);
        for (int64_t c = 0; c < p.values; ++c) dv[j * p.values + c] += keep * h.g[i * p.values + c];
    }
}

template <class T>
void backward(const Problem<T>& p, const Saved<T>& saved, const Gradients<T>& to) {
    if (p.heads >= 2 * thread_count()) {
        parallel_for(p.heads, 1, [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
                Scratch scratch;
                const Head<T> h(p, n, saved, to, scratch);
                for (int64_t t = 0; t < p.tiles(); ++t) backward_tile(h, t, 0, p.blocks(), h.to);
                finish(h);
            }
        });
        return;
    }
    // Few heads: the keys' side is shared out by tiles, the queries' side by blocks, in a pass of its
    // own.
    for (int64_t n = 0; n < p.heads; ++n) {
        Scratch scratch;
        const Head<T> h(p, n, saved, to, scratch);
        Gradients<T> keys_side = h.to, queries_side{};
        for (Slot s : {queries, inner_left, relative_left, alpha}) {
            queries_side.of[s] = h.to.of[s];
            keys_side.of[s] = nullptr;
        }
        const bool tables = keys_side.of[relative_rows] || keys_side.of[value_rows];
        if (keys_side.keys_side()) {
            const int64_t jobs = tables ? std::min(most_parts, p.tiles()) : p.tiles();
            parallel_for(jobs, 1, [&](int64_t begin, int64_t end) {
                for (int64_t t = 0; t < p.tiles(); ++t) {
                    const int64_t job = tables ? h.part_of(t) : t;
                    if (job >= begin && job < end) backward_tile(h, t, 0, p.blocks(), keys_side);
                }
            });
        }
        if (queries_side.queries_side())
            parallel_for(p.blocks(), 1, [&](int64_t begin, int64_t end) {
                for (int64_t t = 0; t < p.tiles(); ++t)
                    backward_tile(h, t, begin, end, queries_side);
            });
        finish(h);
    }
}

/// The sum over what reads the same matrix: x [B…, rows, width] to `shape`, whose leading axes are
/// equal, 1, absent, or fewer by a factor.
Tensor reduced(const Tensor& x, const Shape& shape) {
    if (shape == x.shape()) return x;
    if (x.count() == 0) return Tensor::zeros(shape, x.dtype());
    const int r = x.rank(), s = shape.rank();
    if (s > 2 && shape[s - 3] > 1 && shape[s - 3] < x.size(r - 3)) {
        Shape split = x.shape();
        split[r - 3] = shape[s - 3];
        split[r - 2] = x.size(r - 3) / shape[s - 3];
        split[r - 1] = x.size(r - 2);
        split.push_back(x.size(r - 1));
        return reduced(sum(reshape(x, split), {-3}), shape);
    }
    return sum_to(x, shape);
}

/// The parts of a table's gradient, [B…, parts, distances, width], in the place of the first.
Tensor joined_parts(const Tensor& d, int64_t rows) {
    Tensor first = slice(slice(d, -3, 0, 1), -2, 0, rows);
    for (int64_t part = 1; part < d.size(-3); ++part)
        (first + slice(slice(d, -3, part, part + 1), -2, 0, rows)).copy_to(first);
    return squeeze(first, -3);
}

template <class T>
std::vector<Tensor> run(const FusedSpec& spec, std::span<const Tensor> inputs,
                        const FusedResult& forward, const FusedCotangents& cotangents,
                        const std::vector<bool>& wanted) {
    Problem<T> p(spec, inputs);
    p.guard();
    const DType dtype = inputs[0].dtype();
    const auto shaped = [&](std::initializer_list<int64_t> last) {
        Shape s = p.lead;
        for (int64_t n : last) s.push_back(n);
        return s;
    };
    // Of slots that heads share, one for each head at first.
    Gradients<T> to;
    std::vector<Tensor> full(inputs.size());
    for (int s = 0; s < slots; ++s) {
        if (spec.at[s] < 0 || !wanted[size_t(spec.at[s])]) continue;
        const Operand<T>& x = p.operand[s];
        Tensor& d = full[size_t(spec.at[s])];
        switch (s) {
            case relative_rows:
            case value_rows:
                d = Tensor::zeros(shaped({most_parts, p.distances(), x.width}), dtype);
                break;
            case weights: d = Tensor::zeros(shaped({p.tiles(), x.width}), dtype); break;
            default: d = Tensor::zeros(shaped({x.rows, x.width}), dtype);
        }
        to.of[s] = d.template mutable_data<T>();
    }
    for (size_t k = 0; k < p.learned; ++k) {
        const size_t at = size_t(spec.inputs) + k;
        if (!wanted[at]) continue;
        full[at] = Tensor::zeros(shaped({p.tiles()}), dtype);
        to.parameters[k] = full[at].template mutable_data<T>();
    }
    const auto contiguous = [](const Tensor& x) { return x.defined() ? x.contiguous() : x; };
    const Tensor g = cotangents.out.defined() ? cotangents.out.contiguous()
                                              : Tensor::zeros(forward.out.shape(), dtype),
                 measures = contiguous(cotangents.measures);
    Saved<T> saved{};
    T* const statistics = const_cast<T*>(forward.statistics.data<T>());
    for (int k = 0; k < forward.statistics.size(0); ++k)
        saved.statistics.of[k] = statistics + k * p.heads * p.queries;
    saved.mean = forward.mean.data<T>(), saved.g = g.data<T>();
    if (const int64_t n = p.heads * p.queries; measures.defined()) {
        saved.lse = measures.data<T>(), saved.entropy = saved.lse + n;
        saved.entropies = forward.measures.data<T>() + n;
    }
    backward(p, saved, to);

    for (size_t i = 0; i < inputs.size(); ++i) {
        Tensor& d = full[i];
        if (!d.defined()) continue;
        const Shape& shape = inputs[i].shape();
        const bool table = int(i) == spec.at[relative_rows] || int(i) == spec.at[value_rows];
        if (table) d = joined_parts(d, inputs[i].size(-2));
        if (int(i) == spec.at[weights]) {
            d = reshape(sum(reshape(d, {-1, p.width}), {0}), shape);
        } else if (i >= size_t(spec.inputs)) {
            d = reshape(sum(d), shape);
        } else {
            d = reduced(d, shape);
        }
        const bool guarded = int(i) == spec.at[keys] || int(i) == spec.at[values];
        if (guarded && !p.poisoned.empty())
            d = where(isfinite(inputs[i]), d, Tensor::scalar(0, dtype));
    }
    return full;
}

}  // namespace

std::vector<Tensor> fused_backward(const FusedSpec& spec, std::span<const Tensor> inputs,
                                   const FusedResult& forward, const FusedCotangents& g,
                                   const std::vector<bool>& wanted) {
    const OperationScope scope("attend", {&inputs[0], &inputs[1], &inputs[2]});
    return inputs[0].dtype() == DType::f64 ? run<double>(spec, inputs, forward, g, wanted)
                                           : run<float>(spec, inputs, forward, g, wanted);
}

}  // namespace mercer::attention
