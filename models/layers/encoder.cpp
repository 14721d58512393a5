#include "models/layers/encoder.h"

#include "autograd/functions.h"

namespace mercer {

EncoderLayer::EncoderLayer(int64_t width, int64_t hidden, int64_t heads, SmootherOptions smoother,
                           Key key, AttentionOptions options)
    : attention(width, heads, std::move(smoother), key.split(0), std::move(options)),
      attention_norm(width),
      widen(width, hidden, key.split(1)),
      narrow(hidden, width, key.split(2)),
      output_norm(width) {}

Var EncoderLayer::forward(const Binding& at, const Var& x) const {
    const Var mixed = attention_norm.forward(at, x + attention.forward(at, x));
    const Var fed = relu(narrow.forward(at, relu(widen.forward(at, mixed))));
    return output_norm.forward(at, mixed + fed);
}

void EncoderLayer::collect(Parameters& parameters, const std::string& prefix) {
    attention.collect(parameters, prefix + "attention.");
    attention_norm.collect(parameters, prefix + "attention_norm.");
    widen.collect(parameters, prefix + "widen.");
    narrow.collect(parameters, prefix + "narrow.");
    output_norm.collect(parameters, prefix + "output_norm.");
}

}  // namespace mercer
