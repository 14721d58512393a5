#include "attention/smoother/position/alibi.h"

#include <algorithm>
#include <bit>

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

Tensor alibi_slopes(int64_t heads) {
    if (heads < 1) throw ValueError("alibi_slopes", heads, " heads; there must be one or more");
    const CalledAs called("alibi_slopes");
    const int64_t below = int64_t(std::bit_floor(uint64_t(heads)));
    Tensor exponents = Tensor::empty({heads}, DType::f64);
    double* const e = exponents.mutable_data<double>();
    for (int64_t h = 0; h < heads; ++h)
        e[h] =
            (h < below ? -8.0 * double(h + 1) : -4.0 * double(2 * (h - below) + 1)) / double(below);
    return exp2(exponents);
}

Positioned place(const Alibi& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("alibi", q, k, scheme.offset);
    require_parameter("alibi", "slopes", scheme.slopes, 0, q, -1);
    // Row r holds j − i = r − (Tq − 1).
    const int64_t rows = std::max<int64_t>(t.queries + t.keys - 1, 0);
    const Tensor bias = -abs(Tensor::arange(rows, q.dtype(), double(1 - t.queries - t.offset)));
    Var slopes = cast(scheme.slopes, q.dtype());
    if (q.rank() == 2 && slopes.count() == 1) slopes = reshape(slopes, {});  // no axis of heads
    Positioned out{q, k};
    out.relative =
        RelativeTerm{{}, (slopes.rank() ? unsqueeze(slopes, -1) : slopes) * bias, {1 - t.queries}};
    if (scheme.causal) out.horizon = t.offset;
    return out;
}

}  // namespace mercer
