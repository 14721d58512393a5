#include "attention/smoother/position/transformer_xl.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/relative.h"
#include "attention/smoother/position/rotary.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {
namespace {

constexpr const char* name = "transformer_xl";

// A bias for all heads, or one each, beside queries [..., Tq, d].
Var row_of(const char* what, const Var& q, const Var& bias) {
    require_parameter(name, what, bias, 1, q, q.shape().back());
    return unsqueeze(bias, -2);
}

// ⟨c, PE(t_q − t_k)⟩ = ⟨c turned by t_q, PE(−t_k)⟩, for PE(t − s) is PE(t) turned by s.
InnerTerm turned_term(const Var& c, const Var& query_positions, const Var& key_positions,
                      EncodingLayout layout, double base) {
    const PairLayout pairs =
        layout == EncodingLayout::interleaved ? PairLayout::interleaved : PairLayout::halves;
    return {rotate_pairs(c, query_positions, pairs, base),
            sinusoidal_encoding(-cast(key_positions, DType::f64), c.size(-1), c.dtype(),
                                {.layout = layout, .base = base})};
}

}  // namespace

Var log_sinusoid_kernel(const Var& c, const Var& query_positions, const Var& key_positions,
                        double base) {
    const CalledAs called("log_sinusoid_kernel");
    const InnerTerm term =
        turned_term(c, query_positions, key_positions, EncodingLayout::interleaved, base);
    return matmul(term.queries, transpose(term.keys));
}

Positioned place(const TransformerXl& scheme, const Var& q, const Var& k) {
    const int64_t memory = k.rank() < 2 || q.rank() < 2 ? 0 : k.size(-2) - q.size(-2);
    const PairLengths t = pair_lengths(name, q, k, memory);
    if (memory < 0)
        throw ShapeError(name, "keys ", k.shape(), " are fewer than queries ", q.shape(),
                         "; they must be the memory and the queries' own segment");
    require_parameter(name, "W_R", scheme.weight, 2, q, q.size(-1));

    // ⟨q + v, W_R PE⟩ = ⟨c, PE⟩, c = (q + v)·W_Rᵀ: what is learned stands with the queries.
    Var weight = transpose(scheme.weight);
    if (scheme.scale_positions) weight = weight * (1 / std::sqrt(double(q.size(-1))));
    Var c = matmul(q, weight);
    if (scheme.v.defined()) c = c + matmul(row_of("v", q, scheme.v), weight);
    Positioned out{scheme.u.defined() ? q + row_of("u", q, scheme.u) : q, k};
    if (scheme.clamp_length <= 0 && scheme.layout != EncodingLayout::fairseq) {
        out.inner = turned_term(c, Tensor::arange(t.queries, DType::f64, double(t.offset)),
                                Tensor::arange(t.keys, DType::f64), scheme.layout, 10000);
    } else {
        // One row for each distance, from the largest down. fairseq's encoding is none of padding.
        const int64_t most = scheme.clamp_length > 0 ? scheme.clamp_length : t.queries + t.keys,
                      far = std::min(most, std::max<int64_t>(t.keys - 1, 0)),
                      near = std::min(most, std::max<int64_t>(t.queries - 1, 0));
        const Tensor distances = Tensor::arange(far + near + 1, DType::f64, double(far), -1);
        out.relative = RelativeTerm{c,
                                    sinusoidal_encoding(distances, scheme.weight.size(-2),
                                                        q.dtype(), {.layout = scheme.layout}),
                                    {t.offset - far, true}};
    }
    if (scheme.causal) out.horizon = t.offset;
    return out;
}

Var with_memory(const Var& memory, const Var& x) {
    const CalledAs called("with_memory");
    return memory.defined() ? concat({memory.detach(), x}, -2) : x;
}

}  // namespace mercer
