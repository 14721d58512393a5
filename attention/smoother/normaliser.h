// How the weights of a row come from what the kernel gives: a probability over the keys it sees.
#pragma once

#include "autograd/var.h"

namespace mercer {

struct Normaliser {
    enum class Kind : uint8_t {
        automatic,  // softmax of log weights, division of direct ones
        softmax,    // e^{z_j}/Σ e^{z_j}
        division,   // w_j/Σ w_j, of direct weights, also signed ones
        sparsemax,  // the nearest probability to z (Martins and Astudillo 2016)
        entmax15,   // Tsallis α = 3/2 (Peters et al. 2019)
        entmax      // any α in [1, 1e6], which may be learned
    } kind = Kind::automatic;
    Var alpha;  // of entmax: one element, or one for each row
};
inline Normaliser softmax_weights() { return {Normaliser::Kind::softmax, {}}; }
inline Normaliser division() { return {Normaliser::Kind::division, {}}; }
inline Normaliser sparsemax_weights() { return {Normaliser::Kind::sparsemax, {}}; }
inline Normaliser entmax15_weights() { return {Normaliser::Kind::entmax15, {}}; }
inline Normaliser entmax_weights(Var alpha) { return {Normaliser::Kind::entmax, std::move(alpha)}; }

/// What a division met, added up over calls.
struct SmootherReport {
    /// Rows whose visible weights were all zero, or too faint for 1/Σ|w|: the nearest visible key
    /// was taken.
    int64_t fallbacks = 0;
    int64_t nonpositive = 0;  // rows with a sum of weights that is negative, or 0 by cancellation
};

}  // namespace mercer
