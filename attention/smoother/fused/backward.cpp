#include <algorithm>
#include <optional>

#include "attention/smoother/fused/backward_tile.h"
#include "attention/smoother/fused/fused.h"
#include "attention/smoother/placed.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

/// What one thread makes of blocks [first, end) of a head: the keys' side of tiles [tile, tile_end), the
/// queries' side of blocks [block, block_end). What both are made of is computed once.
struct Job {
    int64_t first, end, tile, tile_end, block, block_end;
    bool has_tile(int64_t t) const { return t >= tile && t < tile_end; }
    bool has_block(int64_t b) const { return b >= block && b < block_end; }
};

/// The job's share of what tile t and all blocks give to each other.
template <class T>
void backward_tile(const Head<T>& h, int64_t t, const Job& job, const Gradients<T>& keys_side,
                   const Gradients<T>& queries_side) {
    const bool mine = job.has_tile(t) && keys_side.keys_side();
    const Gradients<T>& own = mine ? h.to : queries_side;
    const int64_t first = mine ? job.first : job.block, end = mine ? job.end : job.block_end;
    if (!mine && !queries_side.queries_side()) return;
    Scratch scratch;
    std::optional<PackedTile<T>> tile;
    std::optional<BackwardStage<T>> stage;
    for_seen(
        first, end, [&](int64_t b, int64_t to) { return h.p.unseen(h.head, b, to, t, t + 1); },
        [&](int64_t b) {
            if (!tile) tile.emplace(h, t, scratch), stage.emplace(h.p, scratch);
            TilePair<T>(h, *tile, b, job.has_block(b) ? own : keys_side, *stage).run();
        });
    T* const dk = keys_side.of[keys];
    if (!mine || !tile || !dk || !tile->dkeys) return;
    for (int64_t c = 0; c < tile->k.n; ++c)
        for (int64_t e = 0; e < h.p.width; ++e)
            dk[(tile->k.j + c) * h.p.width + e] += tile->dkeys[e * tile_keys + c];
}
template <class T>
void run_job(const Head<T>& h, const Job& job) {
    Gradients<T> keys_side = h.to, queries_side{};
    for (Slot s : {queries, inner_left, relative_left, alpha}) {
        queries_side.of[s] = h.to.of[s];
        keys_side.of[s] = nullptr;
    }
    for (int64_t t = h.tile; t < h.tile_end; ++t) backward_tile(h, t, job, keys_side, queries_side);
}

/// D of entmax: a pass of its own, for dO·(ΣeV/Σe) would not be as exact as what it is taken from.
template <class T>
void escort_means(const Head<T>& h) {
    const Problem<T>& p = h.p;
    Scratch scratch;
    T* const sizes = scratch.take<T>(p.queries);
    std::fill_n(sizes, p.queries, T(0));
    const int64_t blocks = p.blocks(), jobs = p.whole_heads() ? 1 : 2 * thread_count();
    parallel_for(jobs, 1, [&](int64_t begin, int64_t end) {
        for (int64_t t = 0; t < p.tiles(); ++t) {
            Scratch of_tile;
            std::optional<PackedTile<T>> tile;
            std::optional<BackwardStage<T>> stage;
            for_seen(
                blocks * begin / jobs, blocks * end / jobs,
                [&](int64_t b, int64_t to) { return p.unseen(h.head, b, to, t, t + 1); },
                [&](int64_t b) {
                    if (!tile) tile.emplace(h, t, of_tile), stage.emplace(p, of_tile);
                    TilePair<T>(h, *tile, b, h.to, *stage).add_escorts(sizes);
                });
        }
    });
    for (int64_t i = 0; i < p.queries; ++i)
        if (sizes[i] != T(0)) h.D[i] /= sizes[i];
}

/// What no tile could give alone.
template <class T>
void finish(const Head<T>& h) {
    const Problem<T>& p = h.p;
    T *const dq = h.to.of[queries], *const dk = h.to.of[keys], *const dv = h.to.of[values];
    const auto rescale = [&](int64_t rows, T* x) {
        constexpr int64_t at_once = 64;
        T factors[at_once];
        std::fill_n(factors, at_once, p.score);
        parallel_for(x ? rows : 0, p.piece(rows, 1024), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; r += at_once)
                attend_rows<T>().rescale(std::min(at_once, end - r), p.width, x + r * p.width,
                                         p.width, factors);
        });
    };
    if (p.affine && p.score != T(1)) rescale(p.queries, dq), rescale(p.keys, dk);
    if (p.affine && p.reads_keys())
        for (int64_t j = 0; j < p.keys; ++j) h.key_weights[j] *= p.norm;
    if (dq && p.reads_queries())
        attend_rows<T>().add_norms(p.queries, p.width, h.query_weights, h.side.q, p.width, dq,
                                   p.width);
    if (dk && p.reads_keys())
        attend_rows<T>().add_norms(p.keys, p.width, h.key_weights, p.of(keys, h.head),
                                   p.operand[keys].row, dk, p.width);
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

/// Blocks [first, end) in jobs that may run beside each other. More of them share out better, fewer
/// compute less twice. Of tables each half is one job's (most_parts).
template <class T>
std::vector<Job> jobs_of(const Head<T>& h, int64_t first, int64_t end) {
    const Problem<T>& p = h.p;
    const int64_t threads = thread_count();
    const bool tables = h.to.of[relative_rows] || h.to.of[value_rows];
    std::vector<Job> jobs;
    const auto add = [&](int64_t count, bool tiles, bool blocks) {
        const auto bound = [&](bool wanted, int64_t n, int64_t from, int64_t to) {
            return wanted ? from + (n * (to - from) + count - 1) / count : to;
        };
        for (int64_t n = 0; n < count; ++n)
            jobs.push_back({first, end, bound(tiles, n, h.tile, h.tile_end),
                            bound(tiles, n + 1, h.tile, h.tile_end), bound(blocks, n, first, end),
                            bound(blocks, n + 1, first, end)});
    };
    if (p.whole_heads() || threads == 1) {
        add(1, true, true);
    } else if (tables && threads > most_parts) {
        add(most_parts, true, false);
        add(2 * threads, false, true);
    } else {
        add(tables ? most_parts : 2 * threads, true, true);
    }
    return jobs;
}

template <class T>
void backward_head(const Problem<T>& p, int64_t head, const Saved<T>& saved, const Gradients<T>& to,
                   Scratch& scratch) {
    Head<T> h(p, head, saved, to, scratch);
    if (p.spec.sparse() && !p.whole()) escort_means(h);
    for (int64_t b = 0; b < p.blocks(); b += most_blocks) {
        const int64_t last = std::min(b + most_blocks, p.blocks());
        h.bring(b, last);
        const std::vector<Job> jobs = jobs_of(h, b, last);
        parallel_for(int64_t(jobs.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) run_job(h, jobs[size_t(k)]);
        });
    }
    finish(h);
}

/// One group of a head's far part: as a problem of its own, whose gradients are then added.
template <class T>
void backward_group(const Problem<T>& all, int64_t head, int64_t n, const Saved<T>& saved,
                    const Gradients<T>& to) {
    Scratch scratch;
    const Group group = all.far->group(head % all.head_axis, n);
    const Problem<T> p(all, head, group, scratch);
    const int64_t row = head * all.queries;
    const auto rows_of = [&](const T* x, int64_t width) {
        return x ? gathered(group.queries, width, width, x + row * width, scratch) : nullptr;
    };
    Saved<T> near{{},
                  rows_of(saved.mean, p.values),
                  rows_of(saved.g, p.values),
                  rows_of(saved.lse, 1),
                  rows_of(saved.entropy, 1),
                  rows_of(saved.entropies, 1)};
    for (int k = 0; k < 2; ++k)
        near.statistics.of[k] = const_cast<T*>(rows_of(saved.statistics.of[k], 1));
    const auto zeros = [&](bool wanted, int64_t count) -> T* {
        if (!wanted) return nullptr;
        return std::fill_n(scratch.take<T>(count), count, T(0)) - count;
    };
    Gradients<T> d;
    for (Slot s : {queries, keys, values})
        d.of[s] = zeros(to.of[s], p.operand[s].rows * p.operand[s].width);
    d.of[weights] = zeros(to.of[weights], p.sums() * p.width);
    for (size_t k = 0; k < p.learned; ++k) d.parameters[k] = zeros(to.parameters[k], p.sums());
    backward_head(p, 0, near, d, scratch);

    for (Slot s : {queries, keys, values}) {
        if (!d.of[s]) continue;
        const Rows& rows = s == queries ? group.queries : group.keys;
        const int64_t width = p.operand[s].width;
        T* const out = to.of[s] + head * all.operand[s].rows * width;
        parallel_for(rows.count, p.piece(rows.count, 1024), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r)
                for (int64_t c = 0; c < width; ++c)
                    out[rows[r] * width + c] += d.of[s][r * width + c];
        });
    }
    // Sums of all pairs: in a place of its own.
    const int64_t place = head * all.sums() + all.tiles() + n;
    const auto total = [&](const T* sums, int64_t width, T* out) {
        for (int64_t t = 0; sums && t < p.sums(); ++t)
            for (int64_t c = 0; c < width; ++c) out[place * width + c] += sums[t * width + c];
    };
    total(d.of[weights], p.width, to.of[weights]);
    for (size_t k = 0; k < p.learned; ++k) total(d.parameters[k], 1, to.parameters[k]);
}

template <class T>
void backward(const Problem<T>& p, const Saved<T>& saved, const Gradients<T>& to) {
    const auto each = [](int64_t n, auto body) {
        parallel_for(n, n >= 2 * thread_count() ? 1 : n, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) body(i);
        });
    };
    each(p.heads, [&](int64_t head) {
        Scratch scratch;
        backward_head(p, head, saved, to, scratch);
    });
    if (!p.far) return;
    const int64_t groups = p.far->groups;
    each(p.heads * groups,
         [&](int64_t n) { backward_group(p, n / groups, n % groups, saved, to); });
}

/// The sum over what reads the same matrix: x [B…, rows, width] to `shape`, whose leading axes are
/// equal, 1, absent, or fewer by a factor.
Tensor reduced(const Tensor& x, const Shape& shape) {
    if (shape == x.shape()) return x;
    if (x.count() == 0) return Tensor::zeros(shape, x.dtype());
    if (x.count() == count(shape)) return reshape(x, shape);
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

template <class T>
std::vector<Tensor> run(const FusedSpec& spec, std::span<const Tensor> inputs,
                        const FusedResult& forward, const FusedCotangents& cotangents,
                        const std::vector<bool>& wanted, bool one_sum) {
    Problem<T> p(spec, inputs);
    p.guard(), p.guard_queries();
    const DType dtype = inputs[0].dtype();
    const auto shaped = [&](std::initializer_list<int64_t> last) {
        Shape s = p.lead;
        for (int64_t n : last) s.push_back(n);
        return s;
    };
    // Of slots that heads share, one for each head at first.
    Gradients<T> to;
    std::vector<Tensor> full(inputs.size()), others;
    for (int s = 0; s < slots; ++s) {
        if (spec.at[s] < 0 || !wanted[size_t(spec.at[s])]) continue;
        if (s == relative_left && one_sum) {
            to.of[s] = to.of[queries];
            continue;
        }
        const Operand<T>& x = p.operand[s];
        const Shape shape = shaped({s == weights ? p.sums() : x.rows, x.width});
        const auto zeros = [&](Tensor& d) {
            d = Tensor::zeros(shape, dtype);
            return d.template mutable_data<T>();
        };
        to.of[s] = zeros(full[size_t(spec.at[s])]);
        if (p.tiles() > 1 && (s == relative_rows || s == value_rows))
            to.other[s] = zeros(others.emplace_back());
    }
    for (size_t k = 0; k < p.learned; ++k) {
        const size_t at = size_t(spec.inputs) + k;
        if (!wanted[at]) continue;
        full[at] = Tensor::zeros(shaped({p.sums()}), dtype);
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
    for (int s = 0; s < slots; ++s)
        parallel_for(to.other[s] ? full[size_t(spec.at[s])].count() : 0, 1 << 15,
                     [&](int64_t begin, int64_t end) {
                         attend_rows<T>().add_columns(1, end - begin, to.other[s] + begin, 0,
                                                      to.of[s] + begin);
                     });
    others.clear();

    for (size_t i = 0; i < inputs.size(); ++i) {
        Tensor& d = full[i];
        if (!d.defined()) continue;
        const Shape& shape = inputs[i].shape();
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
                                   const std::vector<bool>& wanted, bool one_sum) {
    const OperationScope scope("attend", {&inputs[0], &inputs[1], &inputs[2]});
    return inputs[0].dtype() == DType::f64 ? run<double>(spec, inputs, forward, g, wanted, one_sum)
                                           : run<float>(spec, inputs, forward, g, wanted, one_sum);
}

}  // namespace mercer::attention
