#include "attention/smoother/position/transformer_xl.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/relative.h"
#include "attention/smoother/position/rotary.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

constexpr const char* name = "transformer_xl";

// q + bias, for all heads or one each.
Var plus_bias(const char* what, const Var& q, const Var& bias) {
    if (!bias.defined()) return q;
    require_parameter(name, what, bias, 1, q, q.shape().back());
    return q + (bias.rank() == 1 ? bias : unsqueeze(bias, 1));
}

}  // namespace

Var log_sinusoid_kernel(const Var& c, const Var& query_positions, const Var& key_positions,
                        double base) {
    const Var turned = rotate_pairs(c, query_positions, PairLayout::interleaved, base);
    const Var encoded = sinusoidal_encoding(-cast(key_positions, DType::f64), c.size(-1), c.dtype(),
                                            {.base = base});
    return matmul(turned, transpose(encoded));
}

Positioned place(const TransformerXl& scheme, const Var& q, const Var& k) {
    const int64_t memory = k.rank() < 2 || q.rank() < 2 ? 0 : k.size(-2) - q.size(-2);
    const PairLengths t = pair_lengths(name, q, k, memory);
    if (memory < 0)
        throw ShapeError(name, "keys " + to_string(k.shape()) + " are fewer than queries " +
                                   to_string(q.shape()) +
                                   "; they must be the memory and the queries' own segment");
    require_parameter(name, "W_R", scheme.weight, 2, q, q.size(-1));

    // Column r holds distance Tk − 1 − r, down to 0, or to that of the first query and the last key.
    const int64_t columns = t.keys + (scheme.causal ? 0 : std::max<int64_t>(t.queries - 1, 0));
    Tensor distances = Tensor::arange(columns, DType::f64, double(t.keys - 1), -1);
    if (scheme.clamp_length > 0) {
        const double most = double(scheme.clamp_length);
        distances = clamp(distances, -most, most);
    }
    const Var encoded = sinusoidal_encoding(distances, scheme.weight.size(-2), q.dtype(),
                                            {.layout = scheme.layout});
    Var x = plus_bias("v", q, scheme.v);
    if (scheme.scale_positions) x = x * (1 / std::sqrt(double(q.size(-1))));
    Positioned out{plus_bias("u", q, scheme.u), k};
    out.relative = RelativeTerm{x, matmul(encoded, scheme.weight)};
    if (scheme.causal) out.horizon = t.offset;
    return out;
}

Var with_memory(const Var& memory, const Var& x) {
    return memory.defined() ? concat({memory.detach(), x}, -2) : x;
}

}  // namespace mercer
