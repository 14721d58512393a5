// One head on the way back: what the forward pass left of it, and everything that more than one tile
// reads.
#pragma once

#include <algorithm>
#include <cmath>

#include "attention/smoother/fused/tile.h"

namespace mercer::attention {

// Sums of tables over all pairs of a head are made in at most so many parts, joined in order: what may
// run beside each other does not depend on the number of threads.
inline constexpr int64_t most_parts = 2;
// Blocks of queries that are packed at once: of the memory of a head so much does not grow with length.
inline constexpr int64_t most_blocks = 128;

/// Gradients of all heads, dense. nullptr where not wanted. Slots that are one input share one.
template <class T>
struct Gradients {
    T* of[slots] = {};
    T* other[slots] = {};   // of tables: the second part
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
    const T* g;
    QuerySide<T> side;
    KeyNorms<T> norms;
    Skewed<T> relative, value_rows;
    Statistics<T> statistics;
    Gradients<T> to;  // of this head
    T *D, *slope = nullptr, *epsilon = nullptr;
    T *query_weights, *key_weights;  // cotangents of the norms
    // Tiles that the packed blocks see lie between these, so that a job's own meet its blocks.
    int64_t tile = 0, tile_end = 0;
    // Packed, block after block from the `first` on: of dO, q, x, relative x.
    struct Blocks {
        const T* from = nullptr;
        int64_t width = 0, size = 0, first = 0;
        T* data = nullptr;
        const T* of(int64_t b) const { return data + (b - first) * size; }
    } g_blocks, q_blocks, x_blocks, r_blocks;

    Head(const Problem<T>& problem, int64_t h, const Saved<T>& saved, const Gradients<T>& all,
         Scratch& scratch)
        : p(problem), head(h), side(query_side(p, h, scratch)), norms(p, h, scratch) {
        const int64_t row = h * p.queries;
        g = saved.g + row * p.values;
        statistics = saved.statistics.from(row);
        for (int s = 0; s < slots; ++s) {
            if (all.of[s]) to.of[s] = all.of[s] + h * size_of(Slot(s));
            if (all.other[s]) to.other[s] = all.other[s] + h * size_of(Slot(s));
        }
        for (size_t k = 0; k < p.learned; ++k)
            if (all.parameters[k]) to.parameters[k] = all.parameters[k] + h * p.sums();
        D = scratch.take<T>(p.queries);
        if (!p.whole() && !p.spec.sparse())
            parallel_for(p.queries, p.piece(p.queries, 1024), [&](int64_t begin, int64_t end) {
                attend_rows<T>().inner(end - begin, p.values, g + begin * p.values,
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
        if (p.has(relative_rows))
            relative = Skewed<T>(p, relative_rows, h, table, all.of[relative_left], scratch);
        if (p.has(Slot::value_rows))
            value_rows = Skewed<T>(p, Slot::value_rows, h, true, false, scratch);
        const auto take = [&](Blocks& x, const T* from, int64_t width, bool wanted) {
            if (!from || !wanted) return;
            x = {from, width, packed_size<T>(width, block_queries)};
            x.data = scratch.take<T>(std::min(p.blocks(), most_blocks) * x.size);
        };
        take(g_blocks, g, p.values, all.of[values] || all.of[Slot::value_rows]);
        take(q_blocks, side.q, p.width, p.product() && all.of[keys]);
        take(x_blocks, side.inner, p.operand[inner_left].width, all.of[inner_right]);
        take(r_blocks, side.relative, relative.width(), all.of[relative_rows]);
    }
    /// Packs blocks [first, end), at most most_blocks, and sees which tiles they see.
    void bring(int64_t first, int64_t end) {
        tile = tile_end = 0;
        for_seen(
            0, p.tiles(), [&](int64_t t, int64_t to) { return p.unseen(head, first, end, t, to); },
            [&](int64_t t) { tile = tile_end ? tile : t, tile_end = t + 1; });
        for (Blocks* x : {&g_blocks, &q_blocks, &x_blocks, &r_blocks}) {
            x->first = first;
            parallel_for(x->data ? end - first : 0, p.piece(end - first, 16),
                         [&](int64_t begin, int64_t to) {
                             for (int64_t b = first + begin; b < first + to; ++b) pack(*x, b);
                         });
        }
    }
    /// Elements of a slot's gradient for one head.
    int64_t size_of(Slot s) const {
        switch (s) {
            case weights: return p.sums() * p.width;
            case alpha: return p.queries;
            default: return p.operand[s].rows * p.operand[s].width;
        }
    }
    void pack(const Blocks& x, int64_t b) const {
        const int64_t i = b * block_queries;
        pack_straight(x.width, std::min(block_queries, p.queries - i), x.from + i * x.width,
                      x.data + (b - x.first) * x.size);
    }
    int64_t part_of(int64_t t) const { return (t - tile) * most_parts / (tile_end - tile); }
};

}  // namespace mercer::attention
