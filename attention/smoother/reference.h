// Attention as a kernel smoother, in its reference form: line by line the definition, in
// differentiable functions.
//
//   Att(x_q) = Σ_{x ∈ M(x_q)} k(x_q, x) / Σ_{x' ∈ M(x_q)} k(x_q, x') · v(x)
//
// (Tsai et al. 2019, Def. 1, Eq. 2).
// A smoother is Kernel × Filter × Normaliser. The kernel gives log k(q, k) (so that the quotient is a
// stable softmax) or k, the filter says which keys a query sees. q: [B…, Tq, d], k: [B…, Tk, d],
// v: [B…, Tk, D]; result [B…, Tq, D]. f32 or f64. Time O(B·Tq·Tk·(d + D)), memory O(B·Tq·Tk).
#pragma once

#include "attention/smoother/filter.h"
#include "attention/smoother/kernel.h"
#include "attention/smoother/normaliser.h"
#include "attention/smoother/position/position.h"
#include "engine/random.h"

namespace mercer {

/// Each normalised weight becomes 0 with probability `rate`, else is divided by 1 − rate; which, the
/// key and the weight's place in [B…, Tq, Tk] say (as dropout() of the weights).
struct WeightDropout {
    double rate = 0;
    Key key{};
};

struct SmootherOptions {
    Kernel kernel = dot_product();
    Filter filter = full();
    /// A scheme with a term joins log weights only.
    Position position = {};
    Normaliser normaliser = {};
    /// Where to count what a division met; may be nullptr.
    SmootherReport* report = nullptr;
    WeightDropout dropout = {};
};

/// log k(q, k), up to terms that depend on the query only; −∞ where filtered out. ValueError for a
/// kernel that gives weights.
MERCER_API Var log_weights(const Var& q, const Var& k, const SmootherOptions& options = {});
/// The normalised weights, before dropout: each row sums to 1; a row that sees nothing is 0. Of signed weights whose sum
/// is 0: infinite.
MERCER_API Var smoother_weights(const Var& q, const Var& k, const SmootherOptions& options = {});
/// The smoother. A query with NaN or infinities, or that sees a key or value with them, gets NaN;
/// what a query does not see has no influence on it nor on its gradients, and it none on theirs (in tables of positions:
/// as long as they are finite).
/// ShapeError when shapes do not fit, DTypeError unless q, k and v are all f32 or all f64,
/// ValueError for a bandwidth that is not positive, a normaliser that does not fit the kernel.
/// It is fused, in memory linear in length, also for derivatives of second order; with parameters
/// and positions of another dtype, or filters by head over more than four axes, it is
/// attend_reference(). Keys and values may have fewer heads (third last axis), by a factor: each is
/// then read by as many query heads, in order.
MERCER_API Var attend(const Var& q, const Var& k, const Var& v,
                      const SmootherOptions& options = {});
/// The same, line by line the definition.
MERCER_API Var attend_reference(const Var& q, const Var& k, const Var& v,
                                const SmootherOptions& options = {});

struct Smoothed {
    Var out;
    Var lse, entropy;  // log Σ_j e^{z_ij} and −Σ_j w_ij·log w_ij: [B…, Tq]
};
/// The same with what softmax weights say about each row. Differentiable. ValueError for direct
/// kernels and other normalisers.
MERCER_API Smoothed attend_measured(const Var& q, const Var& k, const Var& v,
                                    const SmootherOptions& options = {});

}  // namespace mercer
