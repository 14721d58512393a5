#include <algorithm>

#include "attention/smoother/fused/backward_tile.h"
#include "attention/smoother/fused/fused.h"
#include "attention/smoother/placed.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

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
    BackwardStage<T> stage(h.p, scratch);
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
