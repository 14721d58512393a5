// What the dot product is made of (Song et al. 2021, Proposition 1): similarity times magnitude,
//
//   exp(⟨q, k⟩/√d) = exp(−‖q − k‖²/(2√d)) · exp((‖q‖² + ‖k‖²)/(2√d))
//
// The similarity is a Gaussian of length √√d; the magnitude favours long keys for every query. Which
// of the two a layer uses, and how that changes in training, is read off two numbers for each row
// (their Fig. 3): the largest log similarity, and the mean magnitude.
// q: [B…, Tq, d], k: [B…, Tk, d], after projection.
#pragma once

#include "attention/smoother/reference.h"

namespace mercer {

/// The logarithms: ⟨q_i, k_j⟩/√d = similarity_ij + query_i + key_j.
struct LogFactors {
    Var similarity;  // −‖q − k‖²/(2√d): [B…, Tq, Tk]
    Var query;       // ‖q‖²/(2√d): [B…, Tq, 1]
    Var key;         // ‖k‖²/(2√d): [B…, 1, Tk]
};
/// Differentiable. O(B·Tq·Tk·d) time; the squares are expanded, so that the error of a similarity is
/// that of the norms. ShapeError.
MERCER_API LogFactors similarity_and_magnitude(const Var& q, const Var& k);

/// For each query, over the keys it sees. f64, [B…, Tq]; NaN for a query that sees nothing.
struct RowProbes {
    Tensor log_similarity;  // max_j −‖q_i − k_j‖²/(2√d)
    Tensor magnitude;       // mean_j (‖q_i‖² + ‖k_j‖²)/(2√d)
};
/// Computed in f64, by blocks of queries: memory O(Tk·(d + 64)) beyond the result. The filter looks
/// at axes as attend() has it. ShapeError.
MERCER_API RowProbes probe_rows(const Tensor& q, const Tensor& k, const Filter& filter = full());

/// A layer's two numbers: the means of both over all rows that see something (NaN if none does).
struct LayerProbe {
    double log_similarity, magnitude;
};
MERCER_API LayerProbe probe_layer(const Tensor& q, const Tensor& k, const Filter& filter = full());

}  // namespace mercer
