// What a block of queries and a tile of keys give to each other on the way back.
#pragma once

#include "attention/smoother/fused/backward_head.h"
#include "attention/smoother/placed.h"

namespace mercer::attention {

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
        pack_transposed(k.n, p.values, p.row(Slot::values, h.head, k.j), values,
                        p.operand[Slot::values].row);
        key_rows = rows_of(p, keys, h.head, scratch);
        inner_rows = p.has(inner_right) ? rows_of(p, inner_right, h.head, scratch) : nullptr;
        dkeys = p.product() ? nullptr : scratch.take<T>(p.width * tile_keys);
        if (dkeys) std::fill_n(dkeys, p.width * tile_keys, T(0));
    }
    T* rows_of(const Problem<T>& p, Slot slot, int64_t head, Scratch& scratch) const {
        const int64_t width = p.operand[slot].width;
        T* const out = scratch.take<T>(packed_size<T>(width, k.n));
        pack_straight(width, k.n, p.row(slot, head, k.j), out, p.operand[slot].row);
        return out;
    }
};

/// Scratch for one tile: scores; log weights, then weights; cotangents; what dropout keeps.
template <class T>
struct BackwardStage {
    T *s, *z, *g, *kept = nullptr, *keep = nullptr, *wide = nullptr;
    FormulaGradient<T> formula{};
    TileView view;

    BackwardStage(const Problem<T>& p, Scratch& scratch) : view(block_queries, scratch) {
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

/// Strips of a block that see something of a tile, and what.
template <class T>
struct SeenStrips {
    struct Strip {
        int64_t first, rows;
        Extent columns;
    };
    Strip strips[block_queries];
    int count = 0;
    int64_t first = 0, end = 0;  // rows
    Extent columns{0, 0};

    void add(int64_t at, int64_t rows, Extent c) {
        if (count == 0) first = at, columns = c;
        columns = {std::min(columns.first, c.first), std::max(columns.end, c.end)};
        end = at + rows;
        strips[count++] = {at, rows, c};
    }
    /// 0 in what no strip has written of the rows and columns.
    void clear(T* x) const {
        int64_t row = first;
        const auto fill = [&](int64_t from, int64_t to) {
            if (from < to) std::fill_n(x + row * tile_keys + from, to - from, T(0));
        };
        for (int n = 0; n < count; ++n) {
            const Strip& s = strips[n];
            for (; row < s.first; ++row) fill(columns.first, columns.end);
            for (; row < s.first + s.rows; ++row)
                fill(columns.first, s.columns.first), fill(s.columns.end, columns.end);
        }
    }
};

/// What queries of block b and keys of tile t give to each other.
template <class T>
class TilePair {
public:
    TilePair(const Head<T>& h, const PackedTile<T>& tile, int64_t b, const Gradients<T>& to,
             BackwardStage<T>& x)
        : h_(h), p_(h.p), tile_(tile), b_(b), to_(to), x_(x) {
        at_.j = tile.k.j;
    }

    void run() {
        for_strips([&] {
            seen_.add(first_, at_.m, columns_);
            run_rows();
        });
        if (seen_.columns.end > 0) give_columns();
    }
    /// D += Σ e·g, sizes += Σ e, of entmax's escorts e.
    void add_escorts(T* sizes) {
        for_strips([&] {
            T* const z = logs();
            weight_cotangents();
            attend_weights<T>().escorts(sparse_kind(p_.spec), log_tile(z), here(x_.g), epsilon(),
                                        h_.statistics.from(at_.i), h_.D + at_.i, sizes + at_.i);
        });
    }

private:
    /// body() for the rows of each strip that see something.
    template <class Body>
    void for_strips(Body body) {
        const int64_t i = b_ * block_queries;
        block_ = std::min(block_queries, p_.queries - i);
        if (x_.view.look(p_.filter, p_.tile(h_.head, i, block_, at_.j, tile_.k.n)) ==
            TileClass::empty)
            return;
        const int64_t strip = x_.view.strip(block_, sizeof(T));
        for (first_ = 0; first_ < block_; first_ += strip) {
            at_.i = i + first_, at_.m = std::min(strip, block_ - first_);
            columns_ = x_.view.extent(first_, at_.m);
            at_.n = columns_.end;
            if (at_.n > 0) body();
        }
    }
    /// The strip's rows of a tile.
    T* here(T* x) const { return x ? x + first_ * tile_keys : nullptr; }
    int64_t used() const { return columns_.end - columns_.first; }

    T* logs() {
        T* const s = here(x_.s);
        tile_scores(p_, h_.side, tile_.k, at_.i, at_.m, columns_, s);
        // Where all is affine, z is read from the scores, which become the weights.
        T* const z = p_.affine ? s : here(x_.z);
        tile_logs(p_, h_.side, tile_.k, h_.relative, at_, s, z, x_.wide);
        return z;
    }
    void run_rows() {
        T* const z = logs();
        weight_cotangents();
        to_logs(z);
        give_values(z);
        give_terms();
        give_scores();
    }
    /// What the keys' side gets as products: from all strips at once, since each product reads and
    /// writes all of it.
    void give_columns() {
        T* const p = x_.keep ? x_.kept : p_.affine ? x_.s : x_.z;
        give_columns(values, p, h_.g_blocks, p_.values);
        give_columns(inner_right, x_.g, h_.x_blocks, p_.operand[inner_left].width);
        if (p_.product())
            give_columns(keys, p_.affine ? x_.g : x_.formula.scores, h_.q_blocks, p_.width);
    }
    /// d += xᵀ·block
    void give_columns(Slot slot, T* x, const typename Head<T>::Blocks& blocks, int64_t width) {
        T* const d = to_.of[slot];
        if (!d) return;
        seen_.clear(x);
        const Extent c = seen_.columns;
        const int64_t first = seen_.first;
        multiply<T>({c.end - c.first, width, seen_.end - first, x + first * tile_keys + c.first, 1,
                     tile_keys, blocks.of(b_), d + (at_.j + c.first) * width, width, true, block_,
                     first});
    }

    /// g = dO·Vᵀ, and what rows of values add to it; times what dropout keeps.
    void weight_cotangents() {
        const T* g = h_.g + at_.i * p_.values;
        T* const to = here(x_.g);
        multiply_columns<T>(
            {at_.m, tile_.k.n, p_.values, g, p_.values, 1, tile_.values, to, tile_keys, false},
            columns_);
        if (h_.value_rows) h_.value_rows.add_inner(at_, g, to, x_.wide);
        if (!x_.keep) return;
        for (int64_t r = 0; r < at_.m; ++r)
            keep_factors(p_.spec.dropout, (h_.head * p_.queries + at_.i + r) * p_.keys + at_.j,
                         at_.n, x_.keep + r * tile_keys);
        attend_rows<T>().times(at_.m, at_.n, to, x_.keep, tile_keys, to);
    }
    const T* epsilon() const { return h_.epsilon ? h_.epsilon + at_.i : nullptr; }
    LogTile<T> log_tile(T* z) const {
        LogTile<T> tile{.rows = at_.m,
                        .columns = at_.n,
                        .z = z,
                        .row = tile_keys,
                        .scale = p_.log_score,
                        .column_terms = tile_.k.column_terms,
                        .whole = p_.whole()};
        x_.view.show(tile, first_);
        skip_columns(tile, p_.begin(columns_));
        return tile;
    }
    void to_logs(T* z) {
        const WeightTable<T>& stages = attend_weights<T>();
        const Statistics<T> s = h_.statistics.from(at_.i);
        const LogTile<T> tile = log_tile(z);
        T* const g = here(x_.g) + p_.begin(columns_);
        const T* const D = h_.D + at_.i;
        if (p_.spec.soft())
            stages.unsoften(tile, g, s.of[0], s.of[1], D, h_.slope ? h_.slope + at_.i : nullptr);
        else if (p_.spec.divides())
            stages.undivide(tile, g, s.of[1], D);
        else
            stages.unsparse(sparse_kind(p_.spec), tile, g, epsilon(), s, D,
                            to_.of[alpha] ? to_.of[alpha] + at_.i : nullptr);
    }
    /// What dropout keeps of p, and what that gives to rows of values.
    void give_values(const T* p) {
        if (!to_.of[values] && !to_.of[value_rows]) return;
        if (x_.keep) {
            attend_rows<T>().times(at_.m, at_.n, p, x_.keep, tile_keys, here(x_.kept));
            p = here(x_.kept);
        }
        if (T* d = table(value_rows)) {
            h_.value_rows.spread(at_, p, x_.wide);
            h_.value_rows.add_gradient(at_, x_.wide, h_.g_blocks.of(b_), block_, first_, d);
        }
    }
    void give_terms() {
        const T* dz = here(x_.g);
        const auto wide = p_.operand[inner_left].width;
        if (T* d = to_.of[inner_left])
            multiply<T>({at_.m, wide, used(), dz + columns_.first, tile_keys, 1, tile_.inner_rows,
                         d + at_.i * wide, wide, true, tile_.k.n, columns_.first});
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
        return h_.part_of(tile_.t) && to_.of[slot] ? to_.other[slot] : to_.of[slot];
    }
    void give_scores() {
        T *const dq = to_.of[queries], *const dk = to_.of[keys];
        bool parameters = false;
        for (T* d : to_.parameters) parameters = parameters || d;
        if (!dq && !dk && !parameters && !to_.of[weights]) return;
        const T* ds = here(x_.g);  // affine: times `score`, at the end
        const T *da = nullptr, *db = ds;
        if (!p_.affine) {
            FormulaGradient<T> to = x_.formula;
            for (T** x : {&to.scores, &to.query_norms, &to.key_norms}) *x = here(*x);
            for (size_t k = 0; k < p_.learned; ++k)
                to.parameters[k] = to_.parameters[k] ? here(to.parameters[k]) : nullptr;
            formula_backward(p_, h_.side, tile_.k, at_, here(x_.s), here(x_.g), to);
            ds = to.scores, da = to.query_norms, db = to.key_norms;
            add_parameters(to);
        }
        if (!p_.product())
            give_pairs(ds, dq, dk);
        else if (dq)
            multiply<T>({at_.m, p_.width, used(), ds + columns_.first, tile_keys, 1, tile_.key_rows,
                         dq + at_.i * p_.width, p_.width, true, tile_.k.n, columns_.first});
        if (dq && p_.reads_queries())
            attend_rows<T>().add_rows(at_.m, at_.n, da, tile_keys, h_.query_weights + at_.i);
        if (dk && p_.reads_keys())
            attend_rows<T>().add_columns(at_.m, used(), db + columns_.first, tile_keys,
                                         h_.key_weights + at_.j + columns_.first);
    }
    void add_parameters(const FormulaGradient<T>& from) {
        T sums[block_queries];
        for (size_t k = 0; k < p_.learned; ++k) {
            if (!to_.parameters[k]) continue;
            std::fill_n(sums, at_.m, T(0));
            attend_rows<T>().add_rows(at_.m, at_.n, from.parameters[k], tile_keys, sums);
            T total(0);
            for (int64_t r = 0; r < at_.m; ++r) total += sums[r];
            to_.parameters[k][tile_.t] += total;
        }
    }
    void give_pairs(const T* ds, T* dq, T* dk) {
        const bool additive = p_.spec.score == Kernel::Score::additive;
        // Sums of sums: fewer additions to a large one.
        Scratch scratch;
        T* const dw = to_.of[weights] ? scratch.take<T>(p_.width) : nullptr;
        if (dw) std::fill_n(dw, p_.width, T(0));
        attend_pairs<T>().backward[additive](
            {at_.m, at_.n, p_.width, h_.side.q + at_.i * p_.width, tile_.k.keys, tile_keys,
             p_.operand[weights].data, const_cast<T*>(ds), tile_keys},
            dq ? dq + at_.i * p_.width : nullptr, dk ? tile_.dkeys : nullptr, dw);
        if (dw)
            attend_rows<T>().add_columns(1, p_.width, dw, 0, to_.of[weights] + tile_.t * p_.width);
    }

    const Head<T>& h_;
    const Problem<T>& p_;
    const PackedTile<T>& tile_;
    int64_t b_;
    const Gradients<T>& to_;
    BackwardStage<T>& x_;
    int64_t block_ = 0, first_ = 0;  // rows of the block; of them, the strip's first
    TilePlace at_{};                 // the strip, and the columns up to what it sees last
    Extent columns_{};
    SeenStrips<T> seen_;
};

}  // namespace mercer::attention
