#include "attention/graph/fused.h"

#include <algorithm>

#include "attention/graph/table.h"
#include "engine/cpu/dispatch.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_TYPED(attention::GraphTable, graph_attention)
MERCER_DISPATCH_TYPED(attention::GraphTable, graph_attention)
}  // namespace mercer

namespace mercer::attention {
namespace {

template <class T>
T* in(const Tensor& t) {
    return static_cast<T*>(t.raw());
}
/// The numbers (n, H) of each node that the passes share.
template <class T>
struct Saved {
    T *source, *target, *max, *share;

    explicit Saved(const GraphForward& r)
        : source(in<T>(r.scores)),
          target(source + r.scores.count() / 2),
          max(in<T>(r.rows)),
          share(max + r.rows.count() / 2) {}
};

// Rows of a CSR in groups whose edges' numbers stay in cache; where they are cut does not show.
struct Rows {
    const int64_t *offsets, *column;
    int64_t n, heads, width;

    Rows(const Tensor& at, const Tensor& to, const Tensor& h)
        : offsets(in<int64_t>(at)),
          column(in<int64_t>(to)),
          n(at.count() - 1),
          heads(h.size(1)),
          width(h.size(2)) {}

    /// body(rows, number of their edges' numbers)
    template <class Body>
    void for_groups(Body body) const {
        constexpr int64_t cached = 1 << 12;
        const int64_t cost = (offsets[n] / std::max<int64_t>(n, 1) + 1) * (heads * width / 4 + 8);
        parallel_for(n, grain_for(cost), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin, j = i; i < end; i = j) {
                while (j < end && (j == i || (offsets[j + 1] - offsets[i]) * heads <= cached)) ++j;
                body(GraphRows{offsets, column, i, j, heads, width},
                     (offsets[j] - offsets[i]) * heads);
            }
        });
    }
};

// 0 or 1/(1 − p) for each weight (e, H); undefined: all are kept.
Tensor kept_weights(const Graph& graph, const Tensor& h, const GraphAttentionOptions& o) {
    if (o.dropout.rate == 0) return {};
    return dropout(Tensor::ones({graph.edges(), h.size(1)}, h.dtype()), o.dropout.rate,
                   o.dropout.key);
}

// x·keep; what is dropped may be anything.
template <class T>
void thin(const T* keep, int64_t count, const T* x, T* y) {
    for (int64_t k = 0; k < count; ++k) y[k] = keep[k] == T(0) ? T(0) : x[k] * keep[k];
}

template <class T>
void forward(const Tensor& h, const Tensor& a_source, const Tensor& a_target, const Graph& graph,
             const GraphAttentionOptions& o, const GraphForward& r) {
    const GraphTable<T>& table = graph_attention<T>();
    const Rows rows(graph.offsets(), graph.sources(), h);
    const Saved<T> saved(r);
    const Tensor keep = kept_weights(graph, h, o);
    parallel_for(rows.n, grain_for(rows.heads * rows.width), [&](int64_t begin, int64_t end) {
        table.scores(begin, end, rows.heads, rows.width, in<T>(h), in<T>(a_source), in<T>(a_target),
                     saved.source, saved.target);
    });
    rows.for_groups([&](const GraphRows& group, int64_t count) {
        Scratch scratch;
        T *const p = scratch.take<T>(count), *const q = scratch.take<T>(count);
        table.weights(group, saved.source, saved.target, T(o.slope), false, saved.max, saved.share,
                      q, p);
        if (keep.defined()) thin(in<T>(keep) + rows.offsets[group.begin] * rows.heads, count, p, p);
        table.weighted_sum(group, nullptr, nullptr, p, in<T>(h), in<T>(r.out));
    });
}

// Σ d_i·x_i over all nodes: of runs of 256, then of these.
template <class T>
Tensor sum_nodes(const Rows& rows, const Tensor& d, const Tensor& h) {
    constexpr int64_t run = 256;
    const int64_t runs = (rows.n + run - 1) / run, width = rows.heads * rows.width;
    const Tensor parts = Tensor::empty({runs, width}, h.dtype());
    parallel_for(runs, grain_for(run * width / 4), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
            graph_attention<T>().sum_nodes(b * run, std::min(rows.n, (b + 1) * run), rows.heads,
                                           rows.width, in<T>(d), in<T>(h),
                                           in<T>(parts) + b * width);
    });
    return reshape(sum(parts, {0}), {rows.heads, rows.width});
}

// Calls zero(i) for rows i whose cotangent is 0, and body for the runs between them: what such a row
// holds, NaN perhaps, reaches no gradient, and costs nothing (most rows, where few nodes are labelled).
template <class T, class Zero, class Body>
void for_rows_that_give(GraphRows group, const T* g, Zero zero, Body body) {
    const int64_t width = group.heads * group.width, end = group.end;
    const auto gives = [&](int64_t i) {
        const T* row = g + i * width;
        return std::any_of(row, row + width, [](T x) { return x != T(0); });
    };
    for (int64_t i = group.begin; i < end;) {
        group.begin = group.end = i;
        while (group.end < end && gives(group.end)) ++group.end;
        if (group.end > i) body(group);
        for (i = group.end; i < end && !gives(i); ++i) zero(i);
    }
}

template <class T>
std::array<Tensor, 3> backward(const Tensor& h, const Tensor& a_source, const Tensor& a_target,
                               const GraphForward& f, const Tensor& g, const Graph& graph,
                               const GraphAttentionOptions& o, unsigned wanted) {
    const GraphTable<T>& table = graph_attention<T>();
    const Rows rows(graph.offsets(), graph.sources(), h),
        columns(graph.by_source_offsets(), graph.by_source_targets(), h);
    const int64_t* order = in<int64_t>(graph.by_source());
    const Shape numbers{graph.edges(), rows.heads};
    const Tensor keep = kept_weights(graph, h, o), w = Tensor::empty(numbers, h.dtype()),
                 du = Tensor::empty(numbers, h.dtype()),
                 dt = Tensor::empty({rows.n, rows.heads}, h.dtype()),
                 ds = Tensor::empty({rows.n, rows.heads}, h.dtype());
    const Saved<T> saved(f);
    // By target: weights, and the derivatives of scores.
    const auto zero = [&](int64_t i) {
        const int64_t first = rows.offsets[i] * rows.heads, end = rows.offsets[i + 1] * rows.heads;
        std::fill(in<T>(w) + first, in<T>(w) + end, T(0));
        std::fill(in<T>(du) + first, in<T>(du) + end, T(0));
        std::fill_n(in<T>(dt) + i * rows.heads, rows.heads, T(0));
    };
    const auto by_target = [&](const GraphRows& group) {
        const int64_t first = rows.offsets[group.begin] * rows.heads,
                      count = rows.offsets[group.end] * rows.heads - first;
        Scratch scratch;
        T *const p = in<T>(w) + first, *const d = scratch.take<T>(count);
        table.weights(group, saved.source, saved.target, T(o.slope), true, saved.max, saved.share,
                      d, p);
        table.products(group, in<T>(g), in<T>(h), d);
        if (keep.defined()) thin(in<T>(keep) + first, count, d, d);
        table.unweigh(group, saved.source, saved.target, T(o.slope), p, d, in<T>(du) + first,
                      in<T>(dt));
        if (keep.defined()) thin(in<T>(keep) + first, count, p, p);
    };
    rows.for_groups([&](const GraphRows& group, int64_t) {
        for_rows_that_give(group, in<T>(g), zero, by_target);
    });
    // By source: what goes back to them.
    const GraphScores<T> back{in<T>(ds), in<T>(dt), in<T>(a_source), in<T>(a_target)};
    std::array<Tensor, 3> out;
    if (wanted & 1) out[0] = Tensor::empty(h.shape(), h.dtype());
    if (wanted & 3)
        columns.for_groups([&](const GraphRows& group, int64_t) {
            table.sum_edges(group, order, in<T>(du), in<T>(ds));
            if (!(wanted & 1)) return;
            table.weighted_sum(group, &back, order, in<T>(w), in<T>(g), in<T>(out[0]));
        });
    if (wanted & 2) out[1] = sum_nodes<T>(rows, ds, h);
    if (wanted & 4) out[2] = sum_nodes<T>(rows, dt, h);
    return out;
}

}  // namespace

GraphForward graph_forward(const Tensor& h, const Tensor& attention_source,
                           const Tensor& attention_target, const Graph& graph,
                           const GraphAttentionOptions& options) {
    const OperationScope scope("graph_attention", {&h, &attention_source, &attention_target});
    const Shape numbers{2, h.size(0), h.size(1)};
    GraphForward r{Tensor::empty(h.shape(), h.dtype()), Tensor::empty(numbers, h.dtype()),
                   Tensor::empty(numbers, h.dtype())};
    const Tensor x = h.contiguous(), s = attention_source.contiguous(),
                 t = attention_target.contiguous();
    if (h.dtype() == DType::f64)
        forward<double>(x, s, t, graph, options, r);
    else
        forward<float>(x, s, t, graph, options, r);
    return r;
}

std::array<Tensor, 3> graph_backward(const Tensor& h, const Tensor& attention_source,
                                     const Tensor& attention_target, const GraphForward& forward,
                                     const Tensor& g, const Graph& graph,
                                     const GraphAttentionOptions& options, unsigned wanted) {
    const OperationScope scope("graph_attention", {&h, &attention_source, &attention_target, &g});
    const Tensor x = h.contiguous(), s = attention_source.contiguous(),
                 t = attention_target.contiguous(), grad = g.contiguous();
    return h.dtype() == DType::f64
               ? backward<double>(x, s, t, forward, grad, graph, options, wanted)
               : backward<float>(x, s, t, forward, grad, graph, options, wanted);
}

}  // namespace mercer::attention
