// Scores that are no inner products, s_ij = Σ_h φ(q_ih, k_jh), on one instruction set: differences,
// φ = (q − k)², without the cancellation of ‖q‖² + ‖k‖² − 2⟨q, k⟩; additive, φ = w_h·tanh(q + k).
#pragma once

#include <cstdint>

namespace mercer::attention {

/// Queries row after row, keys transposed: k_jh at keys[h·key_row + j].
template <class T>
struct PairTile {
    int64_t rows, columns, width;
    const T *queries, *keys;
    int64_t key_row;
    const T* weights;  // w of additive
    T* scores;         // of the backward pass: their cotangents
    int64_t row;
};

template <class T>
struct PairTable {
    void (*scores[2])(const PairTile<T>& t);  // differences, additive
    /// dq (rows × width), dk (transposed), dw (width) += …; nullptr where not wanted.
    void (*backward[2])(const PairTile<T>& t, T* dq, T* dk, T* dw);
};

}  // namespace mercer::attention
