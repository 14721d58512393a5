// Attention as a kernel smoother, in its reference form: line by line the definition, in
// differentiable functions.
//
//   Att(x_q) = Σ_{x ∈ M(x_q)} k(x_q, x) / Σ_{x' ∈ M(x_q)} k(x_q, x') · v(x)
//
// (Tsai et al. 2019, Def. 1, Eq. 2).
// A smoother is Kernel × Filter. The kernel gives log k(q, k) (so that the quotient is a stable
// softmax), the filter says which keys a query sees. q: [B…, Tq, d], k: [B…, Tk, d],
// v: [B…, Tk, D]; result [B…, Tq, D]. f32 or f64. Time O(B·Tq·Tk·(d + D)), memory O(B·Tq·Tk).
#pragma once

#include "attention/smoother/filter.h"
#include "autograd/var.h"

namespace mercer {

/// log k(q, k) for all pairs: [B…, Tq, Tk]. Terms that depend on the query only may be left out:
/// they cancel.
struct Kernel {
    enum class Kind { dot_product, rbf, nadaraya_watson } kind = Kind::dot_product;
    /// nadaraya_watson: the bandwidth h, one positive element; may stand on a tape, to be learned.
    Var bandwidth;
};

/// k = exp(⟨q, k⟩/√d)  (Vaswani et al. 2017; Tsai Eq. 3)
inline Kernel dot_product() { return {Kernel::Kind::dot_product, {}}; }
/// k = exp(−‖q − k‖²/√d)  (Tsai et al. 2019, table 2), by ‖q‖² + ‖k‖² − 2⟨q, k⟩, whose first term
/// cancels
inline Kernel rbf() { return {Kernel::Kind::rbf, {}}; }
/// k = exp(−‖q − k‖²/(2h²)): the Gaussian Nadaraya–Watson smoother (Nadaraya 1964, Watson 1964), by
/// plain differences
MERCER_API Kernel nadaraya_watson(double bandwidth);
inline Kernel nadaraya_watson(Var bandwidth) {
    return {Kernel::Kind::nadaraya_watson, std::move(bandwidth)};
}

struct SmootherOptions {
    Kernel kernel = dot_product();
    Filter filter = full();
};

/// log k(q, k), −∞ where filtered out.
MERCER_API Var log_weights(const Var& q, const Var& k, const SmootherOptions& options = {});
/// k(q, k)/Σ k: each row sums to 1; a row that sees nothing is 0.
MERCER_API Var smoother_weights(const Var& q, const Var& k, const SmootherOptions& options = {});
/// The smoother. ShapeError when shapes do not fit, ValueError for a bandwidth that is not
/// positive.
MERCER_API Var attend(const Var& q, const Var& k, const Var& v,
                      const SmootherOptions& options = {});

}  // namespace mercer
