#include "models/layers/attention.h"

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {

Attention::Attention(int64_t width, int64_t heads, SmootherOptions smoother, Key key)
    : heads(heads),
      smoother(std::move(smoother)),
      query(width, width, key.split(0)),
      key(width, width, key.split(1)),
      value(width, width, key.split(2)),
      output(width, width, key.split(3)) {
    if (heads < 1 || width % heads != 0)
        throw ValueError("attention", std::to_string(heads) + " heads do not divide a width of " +
                                          std::to_string(width));
}

// [n, heads·d] to [heads, n, d]
Var Attention::split_heads(const Var& x) const {
    return permute(reshape(x, {x.size(0), heads, x.size(1) / heads}), {1, 0, 2});
}

Var Attention::forward(const Binding& at, const Var& x) const {
    const Var mixed = attend(split_heads(query.forward(at, x)), split_heads(key.forward(at, x)),
                             split_heads(value.forward(at, x)), smoother);
    return output.forward(at, reshape(permute(mixed, {1, 0, 2}), x.shape()));
}

Var Attention::weights(const Binding& at, const Var& x) const {
    return smoother_weights(split_heads(query.forward(at, x)), split_heads(key.forward(at, x)),
                            smoother);
}

void Attention::collect(Parameters& parameters, const std::string& prefix) {
    query.collect(parameters, prefix + "query.");
    key.collect(parameters, prefix + "key.");
    value.collect(parameters, prefix + "value.");
    output.collect(parameters, prefix + "output.");
}

}  // namespace mercer
