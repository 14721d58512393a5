// From log weights to weights of a tile and back to their cotangents, on one instruction set. Rows
// are queries, `row` elements apart; columns are keys.
#pragma once

#include "attention/smoother/tile_columns.h"
#include "engine/cpu/pointwise_sum.h"

namespace mercer::attention {

/// A tile's columns, at most: sums of a row are cut here, so it is a constant.
inline constexpr int64_t tile_keys = 256;

/// Sums of a row are kept by lanes until all tiles have passed.
inline constexpr int64_t sum_lanes = cpu::kept_lanes;

/// The log weights (or weights) z of a tile: scale·z + column_terms_c. Those of softmax to the base 2.
template <class T>
struct LogTile {
    int64_t rows, columns;
    T* z;
    int64_t row;
    T scale;
    const T* column_terms = nullptr;
    // What is not seen counts as −∞. Either rows × seen_row flags, or of each row the interval that it
    // sees, or neither: all.
    const bool* seen = nullptr;
    int64_t seen_row = 0;
    TileColumns* intervals = nullptr;
    /// On the way back: the tile holds all keys, and D only what is added to Σ p·g (entmax: over Σe), which
    /// is then as exact as g: 0 slopes of a single key are 0.
    bool whole = false;
};

/// What a row's distribution is made of, for each row.
///   softmax    max, share = 1/Σ2^{z − max}
///   division   the key taken instead of a row of zeros, or −1; share = 1/Σw
///   entmax     the largest z; s and Σ (engine/cpu/kernels/entmax_threshold.h); and for α itself
///              Σ p·log p and Σ p·(log p)² or Σ p·(p^{1−α} − 1)
inline constexpr int most_statistics = 5;
template <class T>
struct Statistics {
    T* of[most_statistics];
    Statistics from(int64_t row) const {
        Statistics s = *this;
        for (T*& p : s.of) p = p ? p + row : p;
        return s;
    }
};

/// What softmax's logs of a tile are between before there are any: −lower ≤ z ≤ upper, infinite if unknown.
template <class T>
struct LogBounds {
    T upper, lower;
    /// What is subtracted from the logs may be less than their maximum by so much.
    T slack;
};
/// Sums of 2^most_slack times values whose squares add up to most_squares stay finite.
inline constexpr int most_slack = 24;
inline constexpr double most_squares = 0x1p100;

enum class SparseKind : uint8_t { sparsemax, entmax15, entmax };

template <class T>
struct WeightTable {
    /// z ← p = 2^{z − max}. max: the running maximum, or less by at most `slack`; parts (rows × sum_lanes) += p,
    /// moments (or nullptr) += p·(z − max), both made to fit a new maximum. False: it has stayed what it
    /// was in all rows; else factor: what sums of earlier tiles are to be multiplied by. The bounds save
    /// the search for maxima, and do not show.
    bool (*soften)(const LogTile<T>& t, const LogBounds<T>& bounds, T* max, T* parts, T* moments,
                   T* factor);
    /// share ← 1/Σ; a row that saw nothing: max and share 0. entropy (or nullptr) from moments.
    void (*finish_softmax)(int64_t rows, T* max, const T* parts, const T* moments, T* share,
                           T* entropy);
    /// Two softmaxes of the same rows as one, in the place of the first: what factor and other_factor
    /// make of their outputs. entropy and other_entropy: or nullptr.
    void (*join)(int64_t rows, T* max, T* share, T* entropy, const T* other_max,
                 const T* other_share, const T* other_entropy, T* factor, T* other_factor);
    /// z ← p, g ← p·(g − D + slope·ln 2·(z − max)): from cotangents of weights to those of logs. slope: or
    /// nullptr.
    void (*unsoften)(const LogTile<T>& t, T* g, const T* max, const T* share, const T* D,
                     const T* slope);
    /// z ← w, 0 where not seen; parts += w, sizes += |w|.
    void (*gather)(const LogTile<T>& t, T* parts, T* sizes);
    /// share ← 1/Σw, size ← Σ|w|; 0 where all are 0.
    void (*finish_division)(int64_t rows, const T* parts, const T* sizes, T* share, T* size);
    /// z ← w·share, g ← (g − D)·share.
    void (*undivide)(const LogTile<T>& t, T* g, const T* share, const T* D);
    /// z ← z, −∞ where not seen.
    void (*hide)(const LogTile<T>& t);
    /// The statistics of whole rows z. epsilon: α − 1 of each row; for_alpha: also those of α.
    void (*threshold)(SparseKind kind, int64_t rows, int64_t columns, const T* z, int64_t row,
                      const T* epsilon, bool for_alpha, const Statistics<T>& s);
    /// z ← p.
    void (*sparse)(SparseKind kind, const LogTile<T>& t, const T* epsilon, const Statistics<T>& s);
    /// totals += Σ e·g, sizes += Σ e, e = p^{2−α}.
    void (*escorts)(SparseKind kind, const LogTile<T>& t, const T* g, const T* epsilon,
                    const Statistics<T>& s, T* totals, T* sizes);
    /// z ← p, g ← p^{2−α}·(g − D); dalpha (or nullptr) += Σ g·∂p/∂α.
    void (*unsparse)(SparseKind kind, const LogTile<T>& t, T* g, const T* epsilon,
                     const Statistics<T>& s, const T* D, T* dalpha);
};

}  // namespace mercer::attention
