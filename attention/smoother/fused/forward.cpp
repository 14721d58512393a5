#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "attention/smoother/fused/fused.h"
#include "attention/smoother/fused/tile.h"
#include "attention/smoother/placed.h"
#include "engine/cpu/caches.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

constexpr int64_t panel_rows = 28;  // of queries whose scores of all keys are held at once

template <class T>
struct Results {
    T *out, *escort, *entropy;  // escort, entropy: nullptr where not wanted
    Statistics<T> statistics;
};

/// Keys and values of one head, packed for the products, tile after tile.
template <class T>
struct PackedHead {
    QuerySide<T> side;
    std::vector<KeyTile<T>> tiles;
    T* values;
    int64_t value_tile;
    Skewed<T> relative, value_rows;
    const char* poisoned = nullptr;
    bool finite = true;  // else keys or values hold NaN or infinities, unless they were taken out

    PackedHead(const Problem<T>& p, int64_t head, Scratch& scratch) {
        side = query_side(p, head, scratch);
        const KeyNorms<T> norms(p, head, scratch);
        const int64_t key_tile = key_tile_size(p), inner_tile = inner_tile_size(p);
        value_tile = packed_size<T>(p.values, tile_keys);
        const int64_t all = value_tile + key_tile + inner_tile;
        values = take(p.tiles() * all, scratch);
        T* const packed_keys = values + p.tiles() * value_tile;
        T* const packed_inner = packed_keys + p.tiles() * key_tile;
        tiles.resize(size_t(p.tiles()));
        std::atomic<bool> all_finite{true};
        parallel_for(p.tiles(), p.piece(p.tiles(), 4), [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
                KeyTile<T>& k = tiles[size_t(t)];
                k = pack_keys(p, head, t, norms, packed_keys + t * key_tile,
                              packed_inner + t * inner_tile);
                pack_straight(p.values, k.n, p.row(Slot::values, head, k.j),
                              values + t * value_tile, p.operand[Slot::values].row);
                // Here, where they are in cache.
                for (const Slot slot : {Slot::keys, Slot::values})
                    if (!p.guarded && !p.finite(slot, head, k.j, k.n)) all_finite = false;
            }
        });
        finite = all_finite;
        if (!finite) return;
        if (p.has(relative_rows))
            relative = Skewed<T>(p, relative_rows, head, p.has(relative_left), false, scratch);
        if (p.has(Slot::value_rows))
            value_rows = Skewed<T>(p, Slot::value_rows, head, false, true, scratch);
        if (!p.poisoned.empty()) poisoned = p.poisoned.data() + head * p.keys;
    }

private:
    /// Much memory is given back after the head; a thread would keep its scratch.
    T* take(int64_t n, Scratch& scratch) {
        if (n * int64_t(sizeof(T)) < (1 << 20)) return scratch.take<T>(n);
        memory_ = Tensor::empty({n}, dtype_of<T>);
        return memory_.mutable_data<T>();
    }
    Tensor memory_;
};

/// A block's scratch.
template <class T>
struct Stage {
    T *z, *wide, *keep, *parts, *more_parts, *factor;
    T* out;                // here while it is summed, for its own memory is far away
    T* queries = nullptr;  // packed, where products read them

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
    Results<T> to;   // from the block's first row on
    Ahead<T> ahead;  // what comes next
    std::vector<char> poisoned = {};

    /// Packs the queries.
    void begin(const Stage<T>& x) const {
        if (x.queries)
            cpu::gemm_kernels<T>().pack_rows(m, p.width, packed.side.q + i * p.width, p.width, 1,
                                             x.queries);
    }

    /// body(piece) for all that is seen.
    template <class Body>
    void for_pieces(TileView& view, Body body) {
        const auto unseen = [&](int64_t t, int64_t end) {
            const int64_t j = t * tile_keys, n = std::min(p.keys, end * tile_keys) - j;
            return p.filter.classify(p.tile(head, i, m, j, n)) == TileClass::empty;
        };
        for_seen(0, p.tiles(), unseen, [&](int64_t t) {
            const KeyTile<T>& k = packed.tiles[size_t(t)];
            view.look(p.filter, p.tile(head, i, m, k.j, k.n), packed.poisoned);
            if (packed.poisoned) note_poison(k, view);
            const int64_t strip = view.strip(m, sizeof(T));
            for (int64_t r = 0; r < m; r += strip) {
                const int64_t rows = std::min(strip, m - r);
                const Extent columns = view.extent(r, rows);
                if (columns.end > 0) body(Piece{t, r, rows, columns});
            }
        });
    }
    void note_poison(const KeyTile<T>& k, const TileView& view) {
        poisoned.resize(size_t(m));
        for (int64_t c = 0; c < k.n; ++c)
            for (int64_t r = 0; packed.poisoned[k.j + c] && r < m; ++r)
                poisoned[size_t(r)] |= char(view.sees(r, c));
    }
    /// The piece's z, rows tile_keys apart.
    void logs(const Piece& x, const Stage<T>& stage) {
        const KeyTile<T>& k = packed.tiles[size_t(x.t)];
        T *const z = stage.z, *const wide = stage.wide;
        tile_scores(p, packed.side, k, i + x.first, x.rows, x.columns, z, packed_rows(x, stage),
                    &ahead);
        tile_logs(p, packed.side, k, packed.relative, {i + x.first, x.rows, k.j, x.columns.end}, z,
                  z, wide);
    }
    /// The piece's queries among the packed, if they are strips of their own there.
    const T* packed_rows(const Piece& x, const Stage<T>& stage) const {
        const int64_t mr = cpu::gemm_kernels<T>().mr, left = m - x.first - x.rows;
        const bool whole = x.rows == m, strips = x.rows % mr == 0 && (left == 0 || 2 * left >= mr);
        return stage.queries && (whole || strips) ? stage.queries + x.first * p.width : nullptr;
    }
    LogTile<T> log_tile(const Piece& x, const TileView& view, T* z) const {
        LogTile<T> t{.rows = x.rows,
                     .columns = x.columns.end,
                     .z = z,
                     .row = tile_keys,
                     .scale = p.score,
                     .column_terms = packed.tiles[size_t(x.t)].column_terms};
        view.show(t, x.first);
        skip_columns(t, p.begin(x.columns));
        return t;
    }
    /// out += weights·V and what rows of values add.
    void add_values(const Piece& x, const T* weights, T* out, T* wide) const {
        const KeyTile<T>& k = packed.tiles[size_t(x.t)];
        const int64_t first = x.columns.first;
        multiply<T>({x.rows, p.values, x.columns.end - first, weights + first, tile_keys, 1,
                     packed.values + x.t * packed.value_tile, out + x.first * p.values, p.values,
                     true, k.n, first});
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
        row_stages<T>().times(x.rows, x.columns.end, weights, keep, tile_keys, weights);
    }

    void softmax() {
        Scratch scratch;
        const Stage<T> x(p, m, tile_keys, to.entropy, scratch);
        begin(x);
        const WeightTable<T>& stages = weight_stages<T>();
        T *const max = to.statistics.of[0], *const share = to.statistics.of[1];
        std::fill_n(max, m, -std::numeric_limits<T>::infinity());
        TileView view(m, scratch);
        for_pieces(view, [&](const Piece& piece) {
            const int64_t r = piece.first;
            logs(piece, x);
            stages.soften(log_tile(piece, view, x.z), max + r, x.parts + r * sum_lanes,
                          to.entropy ? x.more_parts + r * sum_lanes : nullptr, x.factor);
            row_stages<T>().rescale(piece.rows, p.values, x.out + r * p.values, p.values, x.factor);
            drop(piece, x.z, x.keep);
            add_values(piece, x.z, x.out, x.wide);
        });
        stages.finish_softmax(m, max, x.parts, x.more_parts, share, to.entropy);
        row_stages<T>().scaled(m, p.values, x.out, share, to.out);
    }

    void divide(SmootherReport& report) {
        Scratch scratch;
        const Stage<T> x(p, m, tile_keys, true, scratch);
        begin(x);
        const WeightTable<T>& stages = weight_stages<T>();
        TileView view(m, scratch);
        for_pieces(view, [&](const Piece& piece) {
            const int64_t r = piece.first;
            logs(piece, x);
            stages.gather(log_tile(piece, view, x.z), x.parts + r * sum_lanes,
                          x.more_parts + r * sum_lanes);
            drop(piece, x.z, x.keep);
            add_values(piece, x.z, x.out, x.wide);
        });
        T *const instead = to.statistics.of[0], *const share = to.statistics.of[1];
        stages.finish_division(m, x.parts, x.more_parts, share, x.factor);
        row_stages<T>().scaled(m, p.values, x.out, share, to.out);
        for (int64_t r = 0; r < m; ++r) {
            instead[r] = T(-1);
            if (x.factor[r] != T(0))
                report.nonpositive += share[r] <= T(0) || std::isinf(share[r]);
            else
                take_nearest(r, x, view, report);
        }
    }
    /// A row whose visible weights are all zero takes its nearest visible key.
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
        const int64_t tiles = p.tiles(), whole = m * tile_keys;
        // The scores of tile t stand side by side with those of the others, row by row.
        const int64_t row = tiles * tile_keys;
        T* const panel = scratch.take<T>(m * row);
        std::fill_n(panel, m * row, -std::numeric_limits<T>::infinity());
        const Stage<T> x(p, m, tile_keys, false, scratch);
        begin(x);
        T* const e = to.escort ? scratch.take<T>(whole) : nullptr;
        const WeightTable<T>& stages = weight_stages<T>();
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
                epsilon, to.statistics, e, x.parts);
            drop(piece, x.z, x.keep);
            add_values(piece, x.z, x.out, x.wide);
            if (!e) continue;
            if (x.keep) row_stages<T>().times(m, columns, e, x.keep, tile_keys, e);
            add_values(piece, e, to.escort, x.wide);
        }
        std::copy_n(x.out, m * p.values, to.out);
        if (!e) return;
        for (int64_t r = 0; r < m; ++r) {
            T sum(0);
            for (int64_t c = 0; c < sum_lanes; ++c) sum += x.parts[r * sum_lanes + c];
            x.factor[r] = sum == T(0) ? T(0) : T(1) / sum;
        }
        row_stages<T>().rescale(m, p.values, to.escort, p.values, x.factor);
    }
};

template <class T>
class Forward {
public:
    Forward(const Problem<T>& p, FusedWants wants, FusedResult& r) : p_(p), wants_(wants), r_(r) {}

    /// False where keys or values hold NaN or infinities and nothing was computed to use.
    bool run() {
        const int64_t step = p_.spec.sparse() ? panel_rows : block_queries;
        const int64_t blocks = (p_.queries + step - 1) / step;
        const bool whole = p_.whole_heads();
        parallel_for(p_.heads, whole ? 1 : p_.heads, [&](int64_t begin, int64_t end) {
            for (int64_t head = begin; head < end; ++head) {
                Scratch scratch;
                const PackedHead<T> packed(p_, head, scratch);
                if (!packed.finite) finite_ = false;
                if (!finite_) return;
                const int64_t next = whole && head + 1 < end ? head + 1 : p_.heads;
                parallel_for(blocks, whole ? blocks : 1, [&](int64_t first, int64_t last) {
                    for (int64_t b = first; b < last; ++b)
                        block(packed, head, next, b * step, step);
                });
            }
        });
        if (!finite_) return false;
        if (p_.far) far();
        if (p_.spec.report) {
            p_.spec.report->fallbacks += report_.fallbacks;
            p_.spec.report->nonpositive += report_.nonpositive;
        }
        poison();
        return true;
    }

private:
    void block(const PackedHead<T>& packed, int64_t head, int64_t next, int64_t i, int64_t step) {
        const int64_t m = std::min(step, p_.queries - i), row = head * p_.queries + i;
        const bool sparse = p_.spec.sparse();
        Statistics<T> s{};
        T* const statistics = r_.statistics.mutable_data<T>();
        for (int k = 0; k < most_statistics; ++k)
            if (k < r_.statistics.size(0)) s.of[k] = statistics + k * p_.heads * p_.queries + row;
        Results<T> to{r_.out.mutable_data<T>() + row * p_.values, nullptr, nullptr, s};
        if (sparse && wants_.gradient) to.escort = r_.mean.mutable_data<T>() + row * p_.values;
        if (wants_.measures)
            to.entropy = r_.measures.mutable_data<T>() + p_.heads * p_.queries + row;
        if (to.escort) std::fill_n(to.escort, m * p_.values, T(0));
        Block<T> b{p_, packed, head, i, m, to, ahead(head, next, i, step)};
        if (p_.spec.soft()) {
            b.softmax();
        } else if (p_.spec.divides()) {
            SmootherReport report;
            b.divide(report);
            const std::lock_guard lock(mutex_);
            report_.fallbacks += report.fallbacks, report_.nonpositive += report.nonpositive;
        } else {
            std::vector<T> epsilon;
            const bool any = p_.spec.normaliser == Normaliser::Kind::entmax;
            if (any)
                for (int64_t r = 0; r < m; ++r) epsilon.push_back(p_.of(alpha, head)[i + r] - T(1));
            b.sparse(sparse_kind(p_.spec), epsilon.data(), any && wants_.gradient);
        }
        note_poison(b, row, 1);
    }
    /// What is far, joined with what is near, group by group.
    void far() {
        const int64_t groups = p_.far->groups, all = p_.heads * groups;
        const bool whole = all >= 2 * thread_count();
        parallel_for(all, whole ? 1 : all, [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
                Scratch scratch;
                const Group group = p_.far->group(n / groups % p_.head_axis, n % groups);
                const Problem<T> p(p_, n / groups, group, scratch);
                const PackedHead<T> packed(p, 0, scratch);
                parallel_for(p.blocks(), whole ? p.blocks() : 1, [&](int64_t first, int64_t last) {
                    for (int64_t b = first; b < last; ++b)
                        far_block(packed, p, n / groups, group.queries, b * block_queries);
                });
            }
        });
    }
    void far_block(const PackedHead<T>& packed, const Problem<T>& p, int64_t head,
                   const Rows& queries, int64_t i) {
        Scratch scratch;
        const int64_t m = std::min(block_queries, p.queries - i), n = p_.heads * p_.queries,
                      row = head * p_.queries + queries[i];
        T* const out = scratch.take<T>(m * p.values);
        // max, share, entropy; of what is near too; factors of both
        T* const x = scratch.take<T>(8 * block_queries);
        const auto of = [&](int k) { return x + k * block_queries; };
        T* const entropy = wants_.measures ? of(2) : nullptr;
        Block<T> b{p, packed, 0, i, m, {out, nullptr, entropy, {{of(0), of(1)}}}, {}};
        b.softmax();
        T* const statistics = r_.statistics.mutable_data<T>() + row;
        T* const near[] = {statistics, statistics + n,
                           entropy ? r_.measures.mutable_data<T>() + n + row : nullptr};
        for (int k = 0; k < (entropy ? 3 : 2); ++k)
            for (int64_t r = 0; r < m; ++r) of(3 + k)[r] = near[k][r * queries.step];
        weight_stages<T>().join(m, of(3), of(4), entropy ? of(5) : nullptr, of(0), of(1), entropy,
                                of(6), of(7));
        for (int k = 0; k < (entropy ? 3 : 2); ++k)
            for (int64_t r = 0; r < m; ++r) near[k][r * queries.step] = of(3 + k)[r];
        row_stages<T>().blend(m, p.values, of(6), r_.out.mutable_data<T>() + row * p.values,
                              queries.step * p.values, of(7), out, p.values);
        note_poison(b, row, queries.step);
    }
    void note_poison(const Block<T>& b, int64_t row, int64_t step) {
        if (b.poisoned.empty()) return;
        const std::lock_guard lock(mutex_);
        for (int64_t r = 0; r < b.m; ++r)
            if (b.poisoned[size_t(r)]) poisoned_.push_back(row + r * step);
    }
    /// What comes after queries [i, i + step): where results go, the next ones, and if it fits the
    /// second-level cache beside this head, a part of the next.
    Ahead<T> ahead(int64_t head, int64_t next, int64_t i, int64_t step) const {
        Ahead<T> a;
        const int64_t m = std::min(step, p_.queries - i), end = i + m;
        a.add(r_.out.data<T>() + (head * p_.queries + i) * p_.values, m * p_.values);
        const auto rows = [&](Slot slot, int64_t h, int64_t first, int64_t last) {
            const auto& [width, apart] = std::pair(p_.operand[slot].width, p_.operand[slot].row);
            if (apart == width) a.add(p_.row(slot, h, first), (last - first) * width);
        };
        if (end < p_.queries)
            rows(queries, head, end, std::min(end + step, p_.queries));
        else if (next < p_.heads)
            rows(queries, next, 0, std::min(step, p_.queries));
        const int64_t size = p_.keys * (p_.width + p_.values) * int64_t(sizeof(T));
        if (next >= p_.heads || 4 * size > cpu::caches().l2) return a;
        for (const Slot slot : {keys, Slot::values})
            rows(slot, next, p_.keys * i / p_.queries, p_.keys * end / p_.queries);
        return a;
    }
    /// Queries that see NaN or infinities get NaN; D of the backward pass is made of what they would
    /// be without.
    void poison() {
        if (poisoned_.empty()) return;
        if (!p_.spec.sparse() && wants_.gradient) r_.mean = r_.out.clone();
        for (int64_t row : poisoned_)
            std::fill_n(r_.out.mutable_data<T>() + row * p_.values, p_.values,
                        std::numeric_limits<T>::quiet_NaN());
    }

    const Problem<T>& p_;
    FusedWants wants_;
    FusedResult& r_;
    std::mutex mutex_;
    std::atomic<bool> finite_{true};
    SmootherReport report_;
    std::vector<int64_t> poisoned_;
};

template <class T>
void forward(const FusedSpec& spec, std::span<const Tensor> inputs, FusedWants wants,
             FusedResult& r) {
    Problem<T> p(spec, inputs);
    const DType dtype = inputs[0].dtype();
    Shape shape = p.lead, rows = p.lead;
    rows.push_back(p.queries);
    shape.push_back(p.queries), shape.push_back(p.values);
    r.out = Tensor::empty(shape, dtype);
    const int kept = !spec.sparse() ? 2 : spec.normaliser == Normaliser::Kind::entmax ? 5 : 3;
    r.statistics = Tensor::empty({kept, p.heads, p.queries}, dtype);
    r.mean = spec.sparse() && wants.gradient ? Tensor::empty(shape, dtype) : r.out;
    Shape measures{2};
    for (int64_t n : rows) measures.push_back(n);
    if (wants.measures) r.measures = Tensor::empty(measures, dtype);
    if (!Forward<T>(p, wants, r).run()) {
        p.guard();
        Forward<T>(p, wants, r).run();
    }
    if (!wants.measures) return;
    // log Σe^z = max − log share; −∞ for a row that saw nothing.
    const int64_t n = p.heads * p.queries;
    const T *max = r.statistics.data<T>(), *share = max + n;
    T* const lse = r.measures.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i)
        lse[i] =
            share[i] == T(0) ? -std::numeric_limits<T>::infinity() : max[i] - std::log(share[i]);
}

}  // namespace

FusedResult fused_forward(const FusedSpec& spec, std::span<const Tensor> inputs, FusedWants wants) {
    const Tensor &q = inputs[0], &k = inputs[1], &v = inputs[2];
    const OperationScope scope("attend", {&q, &k, &v});
    if (const FilterRule* rule = spec.filter.rule())
        rule->check(q.rank() > 2 ? q.size(0) : 1, q.size(-2), k.size(-2));
    FusedResult r;
    if (q.dtype() == DType::f64)
        forward<double>(spec, inputs, wants, r);
    else
        forward<float>(spec, inputs, wants, r);
    return r;
}

}  // namespace mercer::attention
