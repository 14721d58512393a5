#include <algorithm>

#include "attention/smoother/fused/fused.h"
#include "attention/smoother/fused/head.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

template <class T>
struct Gradients {
    T *q, *k, *v;  // nullptr where not wanted
};

/// What the forward pass left, and the cotangent, of all heads.
template <class T>
struct Saved {
    const T *out, *max, *share, *g;
};

/// One head, and everything of it that more than one tile reads.
template <class T>
struct Head {
    const Problem<T>& p;
    int64_t head;
    const T *q, *k, *v, *max, *share, *g;
    Gradients<T> to;
    T *D, *query_norms, *key_norms;  // of each query; of each
    T *query_weights, *key_weights;  // cotangents of the norms
    T *g_blocks, *q_blocks;          // packed, block after block
    int64_t g_block, q_block;

    Head(const Problem<T>& problem, int64_t h, const Saved<T>& saved, const Gradients<T>& all,
         Scratch& scratch)
        : p(problem), head(h) {
        const int64_t rows = h * p.queries, columns = h * p.keys;
        q = p.q + rows * p.width, k = p.k + columns * p.width, v = p.v + columns * p.values;
        max = saved.max + rows, share = saved.share + rows, g = saved.g + rows * p.values;
        to = {all.q ? all.q + rows * p.width : nullptr, all.k ? all.k + columns * p.width : nullptr,
              all.v ? all.v + columns * p.values : nullptr};
        D = scratch.take<T>(p.queries);
        query_norms = scratch.take<T>(p.queries), key_norms = scratch.take<T>(p.keys);
        query_weights = scratch.take<T>(p.queries), key_weights = scratch.take<T>(p.keys);
        std::fill_n(query_weights, p.queries, T(0));
        std::fill_n(key_weights, p.keys, T(0));
        fused_kernels<T>().inner(p.queries, p.values, g, saved.out + rows * p.values, p.values, D);
        if (p.reads_queries()) squared_norms(q, p.queries, p.width, query_norms);
        if (p.reads_keys()) squared_norms(k, p.keys, p.width, key_norms);
        const cpu::GemmTable<T>& gemm = cpu::gemm_kernels<T>();
        g_block = packed_size<T>(p.values, block_queries),
        q_block = packed_size<T>(p.width, block_queries);
        g_blocks = scratch.take<T>(blocks() * g_block),
        q_blocks = scratch.take<T>(blocks() * q_block);
        for (int64_t b = 0; b < blocks(); ++b) {
            const int64_t i = b * block_queries, m = std::min(block_queries, p.queries - i);
            gemm.pack_columns(p.values, m, g + i * p.values, p.values, 1, g_blocks + b * g_block);
            gemm.pack_columns(p.width, m, q + i * p.width, p.width, 1, q_blocks + b * q_block);
        }
    }
    int64_t blocks() const { return (p.queries + block_queries - 1) / block_queries; }
    int64_t tiles() const { return (p.keys + tile_keys - 1) / tile_keys; }
};

/// A tile of keys and values, packed for the products that read it by columns.
template <class T>
struct PackedTile {
    int64_t j, n;
    T *keys, *values, *key_rows;

    PackedTile(const Head<T>& h, int64_t t, Scratch& scratch)
        : j(t * tile_keys), n(std::min(tile_keys, h.p.keys - j)) {
        const int64_t width = h.p.width, depth = h.p.values;
        const cpu::GemmTable<T>& gemm = cpu::gemm_kernels<T>();
        keys = scratch.take<T>(packed_size<T>(n, width));
        values = scratch.take<T>(packed_size<T>(n, depth));
        key_rows = scratch.take<T>(packed_size<T>(width, n));
        gemm.pack_columns(n, width, h.k + j * width, 1, width, keys);
        gemm.pack_columns(n, depth, h.v + j * depth, 1, depth, values);
        gemm.pack_columns(width, n, h.k + j * width, width, 1, key_rows);
    }
};

/// Scratch for one tile: scores; log weights, then weights; cotangents.
template <class T>
struct Stage {
    T *s, *z, *g, *da, *db;
    bool* mask;

    explicit Stage(Scratch& scratch) {
        constexpr int64_t size = block_queries * tile_keys;
        for (T** x : {&s, &z, &g, &da, &db}) *x = scratch.take<T>(size);
        mask = scratch.take<bool>(size);
    }
};

// What queries of block b and keys of tile t give to each other.
template <class T>
void backward_tile(const Head<T>& h, const PackedTile<T>& t, int64_t b, const Gradients<T>& to,
                   const Stage<T>& x) {
    const Problem<T>& p = h.p;
    const FusedTable<T>& stages = fused_kernels<T>();
    const int64_t i = b * block_queries, m = std::min(block_queries, p.queries - i), j = t.j,
                  n = t.n;
    const FilterTile place = p.tile(h.head, i, m, j, n);
    const TileClass seen = p.options->filter.classify(place);
    if (seen == TileClass::empty) return;
    if (seen == TileClass::partial) p.options->filter.rule()->mark(place, x.mask);
    const FormulaTile<T> formula{m, n, x.s, h.query_norms + i, h.key_norms + j};
    multiply<T>({m, n, p.width, h.q + i * p.width, p.width, 1, t.keys, x.s, tile_keys, false});
    formula_forward(p, formula, x.z);
    multiply<T>({m, n, p.values, h.g + i * p.values, p.values, 1, t.values, x.g, tile_keys, false});
    stages.unsoften(m, n, x.z, x.g, tile_keys, seen == TileClass::partial ? x.mask : nullptr,
                    h.max + i, h.share + i, h.D + i);
    if (to.v)
        multiply<T>({n, p.values, m, x.z, 1, tile_keys, h.g_blocks + b * h.g_block,
                     to.v + j * p.values, p.values, true});
    if (!to.q && !to.k) return;
    // The weights have served.
    formula_backward(p, formula, x.g, x.z, x.da, x.db);
    if (to.q) {
        multiply<T>(
            {m, p.width, n, x.z, tile_keys, 1, t.key_rows, to.q + i * p.width, p.width, true});
        if (p.reads_queries()) stages.add_rows(m, n, x.da, tile_keys, h.query_weights + i);
    }
    if (to.k) {
        multiply<T>({n, p.width, m, x.z, 1, tile_keys, h.q_blocks + b * h.q_block,
                     to.k + j * p.width, p.width, true});
        if (p.reads_keys()) stages.add_columns(m, n, x.db, tile_keys, h.key_weights + j);
    }
}

template <class T>
void backward_tiles(const Head<T>& h, int64_t t, const Gradients<T>& to) {
    Scratch scratch;
    const PackedTile<T> tile(h, t, scratch);
    const Stage<T> stage(scratch);
    for (int64_t b = 0; b < h.blocks(); ++b) backward_tile(h, tile, b, to, stage);
}

template <class T>
void add_norms(const Head<T>& h) {
    const Problem<T>& p = h.p;
    if (h.to.q && p.reads_queries())
        fused_kernels<T>().add_norms(p.queries, p.width, h.query_weights, h.q, p.width, h.to.q,
                                     p.width);
    if (h.to.k && p.reads_keys())
        fused_kernels<T>().add_norms(p.keys, p.width, h.key_weights, h.k, p.width, h.to.k, p.width);
}

template <class T>
void backward(const Problem<T>& p, const Saved<T>& saved, const Gradients<T>& to) {
    if (p.heads >= 2 * thread_count()) {
        parallel_for(p.heads, 1, [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
                Scratch scratch;
                const Head<T> h(p, n, saved, to, scratch);
                for (int64_t t = 0; t < h.tiles(); ++t) backward_tiles(h, t, h.to);
                add_norms(h);
            }
        });
        return;
    }
    // Few heads: the keys' side is shared out by tiles, the queries' side by blocks, in a pass of its
    // own.
    for (int64_t n = 0; n < p.heads; ++n) {
        Scratch scratch;
        const Head<T> h(p, n, saved, to, scratch);
        const Gradients<T> keys{nullptr, h.to.k, h.to.v}, queries{h.to.q, nullptr, nullptr};
        if (keys.k || keys.v)
            parallel_for(h.tiles(), 1, [&](int64_t begin, int64_t end) {
                for (int64_t t = begin; t < end; ++t) backward_tiles(h, t, keys);
            });
        if (queries.q)
            parallel_for(h.blocks(), 1, [&](int64_t begin, int64_t end) {
                for (int64_t t = 0; t < h.tiles(); ++t) {
                    Scratch local;
                    const PackedTile<T> tile(h, t, local);
                    const Stage<T> stage(local);
                    for (int64_t b = begin; b < end; ++b) backward_tile(h, tile, b, queries, stage);
                }
            });
        add_norms(h);
    }
}

template <class T>
T* data_or_null(Tensor& t) {
    return t.defined() ? t.mutable_data<T>() : nullptr;
}
template <class T>
void run(const Tensor& q, const Tensor& k, const Tensor& v, const FusedResult& r, const Tensor& g,
         const SmootherOptions& options, std::array<Tensor, 3>& to) {
    backward<T>(Problem<T>(q, k, v, options),
                {r.out.data<T>(), r.max.data<T>(), r.share.data<T>(), g.data<T>()},
                {data_or_null<T>(to[0]), data_or_null<T>(to[1]), data_or_null<T>(to[2])});
}

}  // namespace

std::array<Tensor, 3> fused_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                     const FusedResult& forward, const Tensor& g,
                                     const SmootherOptions& options, unsigned wanted) {
    const OperationScope scope("attend_backward", {&q, &k, &v, &g});
    std::array<Tensor, 3> to;
    const Tensor* const operands[] = {&q, &k, &v};
    for (int i = 0; i < 3; ++i)
        if (wanted & (1u << i)) to[size_t(i)] = Tensor::zeros(operands[i]->shape(), q.dtype());
    const Tensor cq = q.contiguous(), ck = k.contiguous(), cv = v.contiguous(), cg = g.contiguous();
    if (q.dtype() == DType::f64)
        run<double>(cq, ck, cv, forward, cg, options, to);
    else
        run<float>(cq, ck, cv, forward, cg, options, to);
    return to;
}

}  // namespace mercer::attention
