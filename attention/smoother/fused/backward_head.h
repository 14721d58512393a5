// One head on the way back: what the forward pass left of it, and everything that more than one tile
// reads.
#pragma once

#include <algorithm>
#include <cmath>

#include "attention/smoother/fused/tile.h"

namespace mercer::attention {

// Sums over all pairs of a head (of tables, of parameters) are made in at most so many parts, joined in
// order: what may run beside each other does not depend on the number of threads.
inline constexpr int64_t most_parts = 2;

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
            parallel_for(p.queries, p.piece(p.queries, 1024), [&](int64_t begin, int64_t end) {
                row_stages<T>().inner(end - begin, p.values, g + begin * p.values,
                                      saved.mean + (row + begin) * p.values, p.values, D + begin);
            });
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
        parallel_for(p.blocks(), p.piece(p.blocks(), 16), [&](int64_t begin, int64_t end) {
            for (int64_t b = begin; b < end; ++b) {
                const int64_t i = b * block_queries;
                pack_straight(width, std::min(block_queries, p.queries - i), x + i * width,
                              data + b * out.size);
            }
        });
        out.data = data;
        return out;
    }
    static int64_t parts() { return most_parts; }
    int64_t part_of(int64_t t) const { return t * most_parts / p.tiles(); }
};

}  // namespace mercer::attention
