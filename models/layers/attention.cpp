#include "models/layers/attention.h"

#include <algorithm>

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

int64_t checked(int64_t width, int64_t heads) {
    if (heads < 1 || width % heads != 0)
        throw ValueError("attention", heads, " heads do not divide a width of ", width);
    return width;
}

}  // namespace

Attention::Attention(int64_t width, int64_t heads, SmootherOptions smoother, Key seed,
                     AttentionOptions more)
    : heads(heads),
      smoother(std::move(smoother)),
      options(std::move(more)),
      query(checked(width, heads), width, seed.split(0), options.bias),
      value(options.source > 0 ? options.source : width, width, seed.split(2), options.bias),
      output(width, width, seed.split(3), options.bias),
      position(width, heads, options.position, seed.split(4)),
      kernel_parameter(options.kernel.start.defined() ? options.kernel.start.clone() : Tensor()),
      normaliser_parameter(options.normaliser.start.defined() ? options.normaliser.start.clone()
                                                              : Tensor()) {
    const int64_t source = options.source > 0 ? options.source : width;
    if (!options.symmetric) key = Linear(source, width, seed.split(1), options.bias);
    const bool encoded = position.is_sum() || options.values != ValueInput::features;
    if (source != width && (options.symmetric || encoded))
        throw ValueError("attention",
                         "one matrix for both sides, and positions added to both, need states of "
                         "the width ",
                         width, ", not ", source);
    if (options.source > 0 && options.position.scheme == PositionOptions::Scheme::transformer_xl)
        throw ValueError("attention",
                         "Transformer-XL's distances are to a memory, not to another sequence");
    if (!std::holds_alternative<NoPosition>(this->smoother.position))
        throw ValueError("attention", "the layer makes the position: choose it in its options");
}

// [n, heads·d] to [1, heads, n, d], [B, n, heads·d] to [B, heads, n, d]
Var Attention::split_heads(const Var& x) const {
    const int64_t n = x.size(-2), d = x.size(-1) / heads;
    return permute(reshape(x, {x.rank() == 3 ? x.size(0) : 1, n, heads, d}), {0, 2, 1, 3});
}

Attention::Operands Attention::operands(const Binding& at, const Var& x, const Var& s) const {
    if (x.rank() < 2 || x.rank() > 3 || s.rank() != x.rank())
        throw ShapeError("attention", "states ", x.shape(), " and ", s.shape(),
                         " should both be [n, width], or [B, n, width]");
    const int64_t queries = x.size(-2), keys = s.size(-2),
                  first = options.source > 0 ? 0 : keys - queries;
    if (first < 0)
        throw ShapeError("attention", queries, " queries end with only ", keys,
                         " keys; for another sequence say its width as `source`");
    Operands out = projected(at, x, s, first, 0);
    out.smoother = smoother_at(at, queries, keys, first, x.dtype());
    return out;
}

Attention::Operands Attention::projected(const Binding& at, const Var& x, const Var& s,
                                         int64_t first, int64_t from) const {
    const auto placed = [&](const Var& f, int64_t place) {
        return add_positions(f, position.encoding(at, place, f.size(-2), f.dtype()));
    };
    const bool sum = position.is_sum();
    const Var asking = sum ? placed(x, first) : x, asked = sum ? placed(s, from) : s,
              given = options.values == ValueInput::features ? s
                      : sum                                  ? asked
                                                             : placed(s, from);
    return {split_heads(query.forward(at, asking)),
            split_heads((options.symmetric ? query : key).forward(at, asked)),
            split_heads(value.forward(at, given)), smoother};
}

SmootherOptions Attention::smoother_at(const Binding& at, int64_t queries, int64_t keys,
                                       int64_t first, DType dtype, Tensor* kept) const {
    SmootherOptions out = smoother;
    if (options.filter) out.filter = options.filter(queries, keys);
    if (options.kernel.make) out.kernel = options.kernel.make(at(kernel_parameter));
    if (options.normaliser.make) out.normaliser = options.normaliser.make(at(normaliser_parameter));
    out.position = position.scheme(at, queries, keys, first, dtype, kept);
    return out;
}

Var Attention::joined(const Binding& at, const Var& x, const Operands& o) const {
    const Var mixed = permute(attend(o.q, o.k, o.v, o.smoother), {0, 2, 1, 3});
    return output.forward(at, reshape(mixed, x.shape()));
}

Var Attention::forward(const Binding& at, const Var& x, const Var& s, WeightDropout dropout) const {
    Operands o = operands(at, x, s);
    o.smoother.dropout = dropout;
    return joined(at, x, o);
}

Tensor Attention::decode(const Tensor& x, KeyValueCache& cache) const {
    if (options.source > 0)
        throw ValueError("attention", "decoding is of a layer's own tokens, not another sequence");
    if (x.rank() < 2 || x.rank() > 3)
        throw ShapeError("attention", "states ", x.shape(),
                         " should be [n, width] or [B, n, width]");
    const Binding constants;
    const int64_t first = cache.length(), n = x.size(-2);
    Operands o = projected(constants, x, x, first, first);
    o.smoother = smoother_at(constants, n, first + n, first, x.dtype(), &cache.places);
    if (const Rotary* turn = std::get_if<Rotary>(&o.smoother.position)) {
        // Keys are turned once, when they come.
        const Tensor places = Tensor::arange(n, DType::f64, double(first));
        for (Var* side : {&o.q, &o.k})
            *side = rotate_pairs(*side, places, turn->layout, turn->base, turn->width);
        o.smoother.position = NoPosition{};
    }
    const auto [k, v] = cache.append(o.k.value(), o.v.value());
    o.k = k, o.v = v;
    try {
        return joined(constants, x, o).value();
    } catch (...) {
        cache.truncate(first);  // as if it had not been called
        throw;
    }
}

Var Attention::weights(const Binding& at, const Var& x, const Var& s) const {
    const Operands o = operands(at, x, s);
    const Var w = smoother_weights(o.q, o.k, o.smoother);
    return x.rank() == 3 ? w : squeeze(w, 0);
}

LayerProbe Attention::probe(const Binding& at, const Var& x, const Var& s) const {
    const Operands o = operands(at, x, s);
    const Positioned placed = place(o.smoother.position, o.q, o.k);
    return probe_layer(placed.q.value(), placed.k.value(), o.smoother.filter);
}

void Attention::collect(Parameters& parameters, const std::string& prefix) {
    query.collect(parameters, prefix + "query.");
    if (!options.symmetric) key.collect(parameters, prefix + "key.");
    value.collect(parameters, prefix + "value.");
    output.collect(parameters, prefix + "output.");
    position.collect(parameters, prefix + "position.");
    if (kernel_parameter.defined()) parameters.add(prefix + "kernel", kernel_parameter);
    if (normaliser_parameter.defined()) parameters.add(prefix + "normaliser", normaliser_parameter);
}

Var next_memory(const Var& memory, const Var& x, int64_t length) {
    if (length < 0) throw ValueError("next_memory", "the length must not be negative");
    const Var all = with_memory(memory, x.detach());
    return slice(all, -2, std::max<int64_t>(all.size(-2) - length, 0), all.size(-2));
}

}  // namespace mercer
