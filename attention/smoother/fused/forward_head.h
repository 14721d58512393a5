// One head of the forward pass: keys and values, packed once for all queries.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "attention/smoother/fused/tile.h"
#include "engine/parallel.h"

namespace mercer::attention {

/// Keys and values of one head, packed for the products, tile after tile.
template <class T>
struct PackedHead {
    QuerySide<T> side;
    std::vector<KeyTile<T>> tiles;
    const T* values;
    int64_t value_tile, value_row = 0;  // or in place, rows so far apart
    Skewed<T> relative, value_rows;
    const char* poisoned = nullptr;
    bool finite = true;  // else keys or values hold NaN or infinities, unless they were taken out
    T longest = std::numeric_limits<T>::infinity();  // ‖k‖² at most, if it bounds softmax's logs
    T slack = T(0.5);                                // of softmax's maxima

    PackedHead(const Problem<T>& p, int64_t head, Scratch& scratch) {
        side = query_side(p, head, scratch);
        const KeyNorms<T> norms(p, head, scratch);
        const int64_t key_tile = key_tile_size(p), inner_tile = inner_tile_size(p);
        value_row = in_place(p, head);
        value_tile = value_row ? 0 : packed_size<T>(p.values, tile_keys);
        const int64_t all = value_tile + key_tile + inner_tile;
        T* const packed_values = take(p.tiles() * all, scratch);
        T* const packed_keys = packed_values + p.tiles() * value_tile;
        values = value_row ? p.row(Slot::values, head, 0) : packed_values;
        T* const packed_inner = packed_keys + p.tiles() * key_tile;
        tiles.resize(size_t(p.tiles()));
        std::atomic<bool> all_finite{true};
        std::atomic<bool> small{true};  // values
        std::vector<T> key_norms(size_t(p.tiles()));
        parallel_for(p.tiles(), p.piece(p.tiles(), 4), [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
                KeyTile<T>& k = tiles[size_t(t)];
                k = pack_keys(p, head, t, norms, packed_keys + t * key_tile,
                              packed_inner + t * inner_tile);
                if (!value_row)
                    pack_straight(p.values, k.n, p.row(Slot::values, head, k.j),
                                  packed_values + t * value_tile, p.operand[Slot::values].row);
                // Here, where they are in cache.
                const T squares = p.squares(Slot::values, head, k.j, k.n), norm = longest_key(p, k);
                const bool known = std::isfinite(norm) && std::isfinite(squares);
                key_norms[size_t(t)] = known ? norm : std::numeric_limits<T>::infinity();
                if (!(squares <= T(most_squares))) small = false;
                if (!p.guarded && !known &&
                    !(p.finite(keys, head, k.j, k.n) && p.finite(Slot::values, head, k.j, k.n)))
                    all_finite = false;
            }
        });
        finite = all_finite;
        if (!finite) return;
        if (small) slack = T(most_slack);
        if (p.affine)
            longest =
                key_norms.empty() ? T(0) : *std::max_element(key_norms.begin(), key_norms.end());
        if (p.has(relative_rows))
            relative = Skewed<T>(p, relative_rows, head, p.has(relative_left), false, scratch);
        if (p.has(Slot::value_rows))
            value_rows = Skewed<T>(p, Slot::value_rows, head, false, true, scratch);
        if (!p.poisoned.empty()) poisoned = p.poisoned.data() + head * p.keys;
    }

    /// out (+)= a·V of tile k, of whose rows those from `first` on.
    void multiply_values(const KeyTile<T>& k, int64_t first, Product<T> x) const {
        if (value_row) {
            x.b = values + (k.j + first) * value_row;
        } else {
            x.b = values + k.j / tile_keys * value_tile;
            x.b_depth = k.n, x.b_first = first;
        }
        multiply(x, value_row);
    }

private:
    /// The largest ‖k‖² of a packed tile; ∞ where keys are not packed for products.
    static T longest_key(const Problem<T>& p, const KeyTile<T>& k) {
        if (!p.product()) return std::numeric_limits<T>::infinity();
        const cpu::GemmTable<T>& gemm = cpu::gemm_kernels<T>();
        T most(0);
        for (int64_t c = 0; c < k.n; c += gemm.nr) {
            const int64_t panel = cpu::panel_width(gemm, k.n - c);
            const T norm = attend_rows<T>().longest(p.width, panel, k.keys + c * p.width, panel);
            if (!(norm <= most)) most = norm;
            if (!std::isfinite(most)) break;
        }
        return most;
    }
    /// Where products read values where they are, registers within lines, the elements between rows; else 0.
    /// From beyond the second-level cache panels come faster packed; but where a block of queries sees few,
    /// packing takes longer than it saves.
    static int64_t in_place(const Problem<T>& p, int64_t head) {
        constexpr size_t line = 64;
        const bool whole = p.values % cpu::gemm_kernels<T>().lanes == 0 &&
                           p.values * sizeof(T) % line == 0 &&
                           p.operand[Slot::values].row == p.values;
        const auto at = reinterpret_cast<size_t>(p.row(Slot::values, head, 0));
        return whole && at % line == 0 && (p.near() || p.fits(p.seen(head))) ? p.values : 0;
    }
    /// Much memory is given back after the head; a thread would keep its scratch.
    T* take(int64_t n, Scratch& scratch) {
        if (n * int64_t(sizeof(T)) < (1 << 20)) return scratch.take<T>(n);
        memory_ = Tensor::empty({n}, dtype_of<T>);
        return memory_.mutable_data<T>();
    }
    Tensor memory_;
};

}  // namespace mercer::attention
