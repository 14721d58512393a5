#include <algorithm>
#include <atomic>
#include <limits>

#include "attention/smoother/fused/fused.h"
#include "attention/smoother/fused/head.h"
#include "engine/error.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

/// Keys and values of one head, packed for the products.
template <class T>
struct PackedHead {
    T *keys, *values, *norms;  // tile after tile
    int64_t key_tile, value_tile;

    // Whether all of them are finite.
    bool pack(const Problem<T>& p, int64_t head, Scratch& scratch) {
        const int64_t tiles = (p.keys + tile_keys - 1) / tile_keys;
        key_tile = packed_size<T>(tile_keys, p.width);
        value_tile = packed_size<T>(p.values, tile_keys);
        keys = scratch.take<T>(tiles * key_tile);
        values = scratch.take<T>(tiles * value_tile);
        norms = scratch.take<T>(p.keys);
        const T* k = p.k + head * p.keys * p.width;
        const T* v = p.v + head * p.keys * p.values;
        const FusedTable<T>& stages = fused_kernels<T>();
        const cpu::GemmTable<T>& gemm = cpu::gemm_kernels<T>();
        if (!stages.finite(k, p.keys * p.width) || !stages.finite(v, p.keys * p.values))
            return false;
        for (int64_t t = 0; t < tiles; ++t) {
            const int64_t j = t * tile_keys, n = std::min(tile_keys, p.keys - j);
            gemm.pack_columns(n, p.width, k + j * p.width, 1, p.width, keys + t * key_tile);
            gemm.pack_columns(p.values, n, v + j * p.values, p.values, 1, values + t * value_tile);
        }
        if (p.reads_keys()) squared_norms(k, p.keys, p.width, norms);
        return true;
    }
};

// Queries [i, i + m) of one head against all its keys.
template <class T>
void forward_block(const Problem<T>& p, const PackedHead<T>& packed, int64_t head, int64_t i,
                   int64_t m, T* out, T* max, T* sum) {
    Scratch scratch;
    T* const z = scratch.take<T>(m * tile_keys);
    bool* const mask = scratch.take<bool>(m * tile_keys);
    T *const factor = scratch.take<T>(m), *const norms = scratch.take<T>(m);
    const FusedTable<T>& stages = fused_kernels<T>();
    const T* q = p.q + (head * p.queries + i) * p.width;
    std::fill_n(max, m, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, m, T(0));
    std::fill_n(out, m * p.values, T(0));
    if (p.reads_queries()) squared_norms(q, m, p.width, norms);
    bool fresh = true;
    for (int64_t j = 0, t = 0; j < p.keys; j += tile_keys, ++t) {
        const int64_t n = std::min(tile_keys, p.keys - j);
        const FilterTile place = p.tile(head, i, m, j, n);
        const TileClass seen = p.options->filter.classify(place);
        if (seen == TileClass::empty) continue;
        if (seen == TileClass::partial) p.options->filter.rule()->mark(place, mask);
        multiply<T>(
            {m, n, p.width, q, p.width, 1, packed.keys + t * packed.key_tile, z, tile_keys, false});
        formula_forward(p, {m, n, z, norms, packed.norms + j}, z);
        stages.soften(m, n, z, tile_keys, seen == TileClass::partial ? mask : nullptr, max, sum,
                      factor);
        if (!fresh) stages.rescale(m, p.values, out, p.values, factor);
        multiply<T>({m, p.values, n, z, tile_keys, 1, packed.values + t * packed.value_tile, out,
                     p.values, true});
        fresh = false;
    }
    stages.finish(m, p.values, out, p.values, max, sum);
}

template <class T>
bool forward(const Problem<T>& p, T* out, T* max, T* share) {
    std::atomic<bool> finite{true};
    const int64_t blocks = (p.queries + block_queries - 1) / block_queries;
    const auto run = [&](const PackedHead<T>& packed, int64_t head, int64_t b) {
        const int64_t i = b * block_queries, row = head * p.queries + i;
        forward_block(p, packed, head, i, std::min(block_queries, p.queries - i),
                      out + row * p.values, max + row, share + row);
    };
    // Heads are handed out whole where there are enough of them; else each is packed once, and its
    // queries are shared.
    if (p.heads >= 2 * thread_count()) {
        parallel_for(p.heads, 1, [&](int64_t begin, int64_t end) {
            for (int64_t head = begin; head < end; ++head) {
                Scratch scratch;
                PackedHead<T> packed;
                if (!packed.pack(p, head, scratch)) {
                    finite = false;
                    return;
                }
                for (int64_t b = 0; b < blocks; ++b) run(packed, head, b);
            }
        });
        return finite;
    }
    for (int64_t head = 0; head < p.heads; ++head) {
        Scratch scratch;
        PackedHead<T> packed;
        if (!packed.pack(p, head, scratch)) return false;
        parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
            for (int64_t b = begin; b < end; ++b) run(packed, head, b);
        });
    }
    return true;
}

template <class T>
bool run(const Tensor& q, const Tensor& k, const Tensor& v, const SmootherOptions& options,
         FusedResult& r) {
    return forward(Problem<T>(q, k, v, options), r.out.mutable_data<T>(), r.max.mutable_data<T>(),
                   r.share.mutable_data<T>());
}

}  // namespace

bool can_fuse(const Var& q, const Var& k, const Var& v, const SmootherOptions& options) {
    const Kernel& kernel = options.kernel;
    const auto kind = options.normaliser.kind;
    const bool soft = kind == Normaliser::Kind::automatic || kind == Normaliser::Kind::softmax;
    if (kernel.direct || kernel.score != Kernel::Score::product || !soft) return false;
    if (options.position.index() != 0 || options.dropout.rate != 0) return false;
    for (const Var& p : kernel.parameters)
        if (!p.is_constant()) return false;
    if (q.rank() < 2 || q.rank() != k.rank() || q.rank() != v.rank()) return false;
    for (int a = 0; a < q.rank() - 2; ++a)
        if (q.size(a) != k.size(a) || q.size(a) != v.size(a)) return false;
    return q.dtype() == k.dtype() && q.dtype() == v.dtype() && is_floating(q.dtype());
}

FusedResult fused_forward(const Tensor& q, const Tensor& k, const Tensor& v,
                          const SmootherOptions& options) {
    const OperationScope scope("attend", {&q, &k, &v});
    if (options.filter.rule())
        options.filter.rule()->check(q.rank() > 2 ? q.size(0) : 1, q.size(-2), k.size(-2));
    Shape shape = q.shape();
    const Shape rows(std::span(q.shape().begin(), size_t(q.rank() - 1)));
    shape[q.rank() - 1] = v.size(-1);
    FusedResult r{Tensor::empty(shape, q.dtype()), Tensor::empty(rows, q.dtype()),
                  Tensor::empty(rows, q.dtype()), true};
    const Tensor cq = q.contiguous(), ck = k.contiguous(), cv = v.contiguous();
    r.finite = q.dtype() == DType::f64 ? run<double>(cq, ck, cv, options, r)
                                       : run<float>(cq, ck, cv, options, r);
    return r;
}

}  // namespace mercer::attention
