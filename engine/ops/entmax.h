// Sparse relatives of the softmax: sparsemax, 1.5-entmax, α-entmax; and their Fenchel–Young losses.
#pragma once

#include "engine/cpu/entmax_table.h"
#include "engine/ops/op.h"

namespace mercer {

/// ValueError if one is outside [1, 1e6].
MERCER_API void require_alpha(const char* name, const Tensor& alpha);

/// Inputs: x, and for EntmaxAlpha::any alpha ≥ 1, which broadcasts to x with size 1 along the axis.
template <EntmaxAlpha kind>
struct MERCER_API Entmax : Reads<output_bit | (kind == EntmaxAlpha::any ? input_bit(1) : 0)> {
    using Attrs = AxisAttrs;
    MERCER_OPERATION_MEMBERS(kind == EntmaxAlpha::two            ? "sparsemax"
                             : kind == EntmaxAlpha::three_halves ? "entmax15"
                                                                 : "entmax",
                             Tensor)
    /// dx, and dalpha if wanted: first order only, tested against the text of vjp.
    static std::array<Tensor, 2> backward(const Attrs&, const Tensor& p, const Tensor& alpha,
                                          const Tensor& g, bool wants_alpha);
};
extern template struct Entmax<EntmaxAlpha::two>;
extern template struct Entmax<EntmaxAlpha::three_halves>;
extern template struct Entmax<EntmaxAlpha::any>;

/// The entmax over the last axis for a fixed alpha, by the shortest way.
template <class X>
X entmax_with(const X& x, double alpha) {
    if (alpha == 1) return softmax(x, -1);
    if (alpha == 1.5) return entmax15(x, -1);
    if (alpha == 2) return sparsemax(x, -1);
    return entmax(x, X(Tensor::scalar(alpha, x.dtype())), -1);
}

/// Inputs: x […, n], n ≥ 1, target of x's shape, a distribution in each row. Results: of each row its loss;
/// its largest x, s and Σ (engine/cpu/entmax_table.h).
struct MERCER_API FenchelYoung
    : Reads<input_bit(0) | input_bit(1) | output_bit_of(1) | output_bit_of(2) | output_bit_of(3)> {
    struct Attrs {
        double alpha;
    };
    MERCER_OPERATION_MEMBERS("fenchel_young", Tensors<4>)
    /// g·(p − y) in one pass: first order only.
    static Tensor backward(const Attrs&, const Tensor& x, const Tensor& target, const Tensor& top,
                           const Tensor& s, const Tensor& sum, const Tensor& g);
};

}  // namespace mercer
