// A block of queries on its way over all tiles of keys: each normaliser's loop.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/smoother/fused/forward_head.h"
#include "attention/smoother/placed.h"

namespace mercer::attention {

template <class T>
struct Results {
    T *out, *entropy;  // entropy: nullptr where not wanted
    Statistics<T> statistics;
};

/// A block's scratch.
template <class T>
struct Stage {
    T *z, *wide, *keep, *parts, *more_parts, *factor;
    T* out;                // here while it is summed, for its own memory is far away
    T* queries = nullptr;  // room for them packed, where products read them

    Stage(const Problem<T>& p, int64_t rows, int64_t columns, bool more, Scratch& scratch) {
        if (p.product()) queries = scratch.take<T>(rows * p.width);
        z = scratch.take<T>(rows * columns);
        wide =
            p.has(relative_left) || p.has(value_rows) ? scratch.take<T>(rows * wide_row) : nullptr;
        keep = p.spec.dropout.rate > 0 ? scratch.take<T>(rows * tile_keys) : nullptr;
        parts = scratch.take<T>(rows * sum_lanes), more_parts = scratch.take<T>(rows * sum_lanes);
        std::fill_n(parts, rows * sum_lanes, T(0));
        if (more) std::fill_n(more_parts, rows * sum_lanes, T(0));
        factor = scratch.take<T>(rows);
        out = scratch.take<T>(rows * p.values);
        std::fill_n(out, rows * p.values, T(0));
    }
};

/// Rows [first, first + rows) of a block against the columns of tile t that they see.
struct Piece {
    int64_t t, first, rows;
    Extent columns;
};

/// Queries [i, i + m) of one head.
template <class T>
struct Block {
    const Problem<T>& p;
    const PackedHead<T>& packed;
    int64_t head, i, m;
    Results<T> to;    // from the block's first row on
    Ahead<T>* ahead;  // what comes next, or nullptr
    enum Poison : char { by_key = 1, by_itself = 2 };
    std::vector<char> poisoned = {};
    int looked = 0;  // at tiles
    bool packed_queries = false;

    LogBounds<T> bounds() const {
        constexpr T unknown = std::numeric_limits<T>::infinity();
        LogBounds<T> b{unknown, unknown, packed.slack};
        if (!std::isfinite(packed.longest)) return b;
        const T* const q = packed.side.q + i * p.width;
        T norms[block_queries], most(0);
        attend_rows<T>().inner(m, p.width, q, q, p.width, norms);
        for (int64_t r = 0; r < m; ++r) {
            if (!std::isfinite(norms[r])) return b;
            most = std::max(most, norms[r]);
        }
        p.bound(most, packed.longest, b);
        return b;
    }
    /// body(piece) for all that is seen.
    template <class Body>
    void for_pieces(TileView& view, Body body) {
        const auto unseen = [&](int64_t t, int64_t end) {
            const int64_t j = t * tile_keys, n = std::min(p.keys, end * tile_keys) - j;
            return p.filter.classify(p.tile(head, i, m, j, n)) == TileClass::empty;
        };
        const std::vector<char> bad = bad_queries();
        const bool notes = packed.poisoned || !bad.empty();
        for_seen(0, p.tiles(), unseen, [&](int64_t t) {
            const KeyTile<T>& k = packed.tiles[size_t(t)];
            view.look(p.filter, p.tile(head, i, m, k.j, k.n), notes);
            ++looked;
            if (notes) note_poison(k, view, bad);
            const int64_t strip = view.strip(m, sizeof(T));
            for (int64_t r = 0; r < m; r += strip) {
                const int64_t rows = std::min(strip, m - r);
                const Extent columns = view.extent(r, rows);
                if (columns.end > 0) body(Piece{t, r, rows, columns});
            }
        });
    }
    /// Which rows have NaN or infinities; none if none has.
    std::vector<char> bad_queries() const {
        if (p.finite(queries, head, i, m)) return {};
        std::vector<char> bad(static_cast<size_t>(m));
        for (int64_t r = 0; r < m; ++r) bad[size_t(r)] = !p.finite(queries, head, i + r, 1);
        return bad;
    }
    void note_poison(const KeyTile<T>& k, const TileView& view, const std::vector<char>& bad) {
        poisoned.resize(size_t(m));
        for (int64_t c = 0; packed.poisoned && c < k.n; ++c)
            for (int64_t r = 0; packed.poisoned[k.j + c] && r < m; ++r)
                if (view.sees(r, c)) poisoned[size_t(r)] |= by_key;
        for (size_t r = 0; r < bad.size(); ++r)
            for (int64_t c = 0; bad[r] && c < k.n; ++c)
                if (view.sees(int64_t(r), c)) poisoned[r] |= by_itself;
    }
    TilePlace place(const Piece& x) const {
        return {i + x.first, x.rows, packed.tiles[size_t(x.t)].j, x.columns.end};
    }
    void scores(const Piece& x, const Stage<T>& stage) {
        tile_scores(p, packed.side, packed.tiles[size_t(x.t)], i + x.first, x.rows, x.columns,
                    stage.z, packed_rows(x, stage), ahead);
    }
    /// The piece's z, rows tile_keys apart.
    void logs(const Piece& x, const Stage<T>& stage) {
        scores(x, stage);
        tile_logs(p, packed.side, packed.tiles[size_t(x.t)], packed.relative, place(x), stage.z,
                  stage.z, stage.wide);
    }
    /// z ← the piece's weights, which the rows' sums get.
    void weights(const Piece& x, const Stage<T>& stage, const TileView& view) {
        T* const parts = stage.parts + x.first * sum_lanes;
        T* const sizes = stage.more_parts + x.first * sum_lanes;
        const bool plain = !p.affine && !view.partial() && !packed.side.inner && !packed.relative;
        if (plain && p.spec.formula.op().sums) {
            scores(x, stage);
            tile_weights(p, packed.side, packed.tiles[size_t(x.t)], place(x), stage.z, stage.z,
                         parts, sizes);
        } else {
            logs(x, stage);
            attend_weights<T>().gather(log_tile(x, view, stage.z), parts, sizes);
        }
    }
    /// The piece's queries among the packed, if they are strips of their own there. For few tiles it
    /// takes less time to read them where they are.
    const T* packed_rows(const Piece& x, const Stage<T>& stage) {
        constexpr int few = 2;
        if (!stage.queries || looked <= few) return nullptr;
        const int64_t mr = cpu::gemm_kernels<T>().mr, left = m - x.first - x.rows;
        const bool whole = x.rows == m,
                   strips = x.first % mr == 0 && x.rows % mr == 0 && (left == 0 || 2 * left >= mr);
        if (!whole && !strips) return nullptr;
        if (!packed_queries)
            cpu::gemm_kernels<T>().pack_rows(m, p.width, packed.side.q + i * p.width, p.width, 1,
                                             stage.queries);
        packed_queries = true;
        return stage.queries + x.first * p.width;
    }
    LogTile<T> log_tile(const Piece& x, const TileView& view, T* z) const {
        LogTile<T> t{.rows = x.rows,
                     .columns = x.columns.end,
                     .z = z,
                     .row = tile_keys,
                     .scale = p.log_score,
                     .column_terms = packed.tiles[size_t(x.t)].column_terms};
        view.show(t, x.first);
        skip_columns(t, p.begin(x.columns));
        return t;
    }
    /// out += weights·V and what rows of values add.
    void add_values(const Piece& x, const T* weights, T* out, T* wide) const {
        const KeyTile<T>& k = packed.tiles[size_t(x.t)];
        const int64_t first = x.columns.first;
        packed.multiply_values(k, first,
                               {x.rows, p.values, x.columns.end - first, weights + first, tile_keys,
                                1, nullptr, out + x.first * p.values, p.values, true});
        if (packed.value_rows)
            packed.value_rows.add_combined({i + x.first, x.rows, k.j, x.columns.end}, weights,
                                           out + x.first * p.values, wide);
    }
    void drop(const Piece& x, T* weights, T* keep) const {
        if (!keep) return;
        const KeyTile<T>& k = packed.tiles[size_t(x.t)];
        for (int64_t r = 0; r < x.rows; ++r)
            keep_factors(p.spec.dropout, (head * p.queries + i + x.first + r) * p.keys + k.j,
                         x.columns.end, keep + r * tile_keys);
        attend_rows<T>().times(x.rows, x.columns.end, weights, keep, tile_keys, weights);
    }

    void softmax() {
        Scratch scratch;
        const Stage<T> x(p, m, tile_keys, to.entropy, scratch);
        const WeightTable<T>& stages = attend_weights<T>();
        T *const max = to.statistics.of[0], *const share = to.statistics.of[1];
        std::fill_n(max, m, -std::numeric_limits<T>::infinity());
        TileView view(m, scratch);
        const LogBounds<T> limits = bounds();
        for_pieces(view, [&](const Piece& piece) {
            const int64_t r = piece.first;
            logs(piece, x);
            if (stages.soften(log_tile(piece, view, x.z), limits, max + r, x.parts + r * sum_lanes,
                              to.entropy ? x.more_parts + r * sum_lanes : nullptr, x.factor))
                attend_rows<T>().rescale(piece.rows, p.values, x.out + r * p.values, p.values,
                                         x.factor);
            drop(piece, x.z, x.keep);
            add_values(piece, x.z, x.out, x.wide);
        });
        stages.finish_softmax(m, max, x.parts, x.more_parts, share, to.entropy);
        attend_rows<T>().scaled(m, p.values, x.out, share, to.out);
    }

    void divide(SmootherReport& report) {
        Scratch scratch;
        const Stage<T> x(p, m, tile_keys, true, scratch);
        const WeightTable<T>& stages = attend_weights<T>();
        TileView view(m, scratch);
        for_pieces(view, [&](const Piece& piece) {
            weights(piece, x, view);
            drop(piece, x.z, x.keep);
            add_values(piece, x.z, x.out, x.wide);
        });
        T *const instead = to.statistics.of[0], *const share = to.statistics.of[1];
        stages.finish_division(m, x.parts, x.more_parts, share, x.factor);
        attend_rows<T>().scaled(m, p.values, x.out, share, to.out);
        for (int64_t r = 0; r < m; ++r) {
            instead[r] = T(-1);
            if (x.factor[r] != T(0))
                report.nonpositive += share[r] <= T(0) || std::isinf(share[r]);
            else
                take_nearest(r, x, view, report);
        }
    }
    /// A row whose visible weights are zero, or too faint, takes its nearest visible key.
    void take_nearest(int64_t r, const Stage<T>& x, TileView& view, SmootherReport& report) const {
        const bool nearer_is_less = p.spec.score == Kernel::Score::difference;
        int64_t best = -1;
        T least = std::numeric_limits<T>::infinity();
        for (const KeyTile<T>& k : packed.tiles) {
            const FilterTile place = p.tile(head, i + r, 1, k.j, k.n);
            if (view.look(p.filter, place, true) == TileClass::empty) continue;
            tile_scores(p, packed.side, k, i + r, 1, {0, k.n}, x.z);
            for (int64_t c = 0; c < k.n; ++c) {
                if (!view.sees(0, c)) continue;
                const T s = nearer_is_less ? x.z[c] : -x.z[c];
                if (best < 0 || s < least) least = s, best = k.j + c;
            }
        }
        if (best < 0) return;  // it sees nothing
        ++report.fallbacks;
        to.statistics.of[0][r] = T(best);
        T keep(1);
        if (x.keep)
            keep_factors(p.spec.dropout, (head * p.queries + i + r) * p.keys + best, 1, &keep);
        const T* v = p.row(Slot::values, head, best);
        for (int64_t c = 0; c < p.values; ++c) to.out[r * p.values + c] = keep * v[c];
    }

    void sparse(SparseKind kind, const T* epsilon, bool for_alpha) {
        Scratch scratch;
        const int64_t tiles = p.tiles();
        // The scores of tile t stand side by side with those of the others, row by row.
        const int64_t row = tiles * tile_keys;
        T* const panel = scratch.take<T>(m * row);
        std::fill_n(panel, m * row, -std::numeric_limits<T>::infinity());
        const Stage<T> x(p, m, tile_keys, false, scratch);
        const WeightTable<T>& stages = attend_weights<T>();
        std::vector<Extent> extents(size_t(tiles), Extent{0, 0});
        TileView view(m, scratch);
        for_pieces(view, [&](const Piece& piece) {
            Extent& all = extents[size_t(piece.t)];
            all.end = std::max(all.end, piece.columns.end);
            logs(piece, x);
            if (view.partial()) stages.hide(log_tile(piece, view, x.z));
            for (int64_t r = 0; r < piece.rows; ++r)
                std::copy_n(x.z + r * tile_keys, piece.columns.end,
                            panel + (piece.first + r) * row + piece.t * tile_keys);
        });
        stages.threshold(kind, m, p.keys, panel, row, epsilon, for_alpha, to.statistics);
        for (int64_t t = 0; t < tiles; ++t) {
            const Piece piece{t, 0, m, extents[size_t(t)]};
            const int64_t columns = piece.columns.end;
            if (columns == 0) continue;
            for (int64_t r = 0; r < m; ++r)
                std::copy_n(panel + r * row + t * tile_keys, columns, x.z + r * tile_keys);
            stages.sparse(
                kind, {.rows = m, .columns = columns, .z = x.z, .row = tile_keys, .scale = T(1)},
                epsilon, to.statistics);
            drop(piece, x.z, x.keep);
            add_values(piece, x.z, x.out, x.wide);
        }
        std::copy_n(x.out, m * p.values, to.out);
    }
};

}  // namespace mercer::attention
