#include "models/layers/position.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

using Scheme = PositionOptions::Scheme;

Tensor small(Key key, const Shape& shape) { return randn(key, shape) * 0.02; }

}  // namespace

PositionLayer::PositionLayer(int64_t width, int64_t heads, const PositionOptions& options, Key key)
    : options(options), width(width), heads(heads) {
    const int64_t d = width / heads, rows = 2 * options.clip + 1;
    const Scheme scheme = options.scheme;
    if (options.length < 1 || options.clip < 0 || options.clamp_length < 0)
        throw ValueError("position", "length, clip and clamp_length must not be negative");
    if (scheme == Scheme::transformer_xl || scheme == Scheme::symmetric) {
        const double bound = 1 / std::sqrt(double(width));
        weight = uniform(key.split(0), {heads, width, d}, DType::f32, -bound, bound);
    }
    if (scheme == Scheme::transformer_xl && options.biases) {
        u = small(key.split(1), {heads, d});
        v = small(key.split(2), {heads, d});
    }
    if (scheme == Scheme::learned) table = small(key.split(3), {options.length, width});
    if (scheme == Scheme::lookup) table = small(key.split(3), {heads, rows, d});
    if (scheme == Scheme::skew) table = small(key.split(3), {heads, options.length, d});
    if (scheme == Scheme::lookup && options.values)
        value_table = small(key.split(4), {heads, rows, d});
}

Var PositionLayer::encoding(const Binding& at, int64_t first, int64_t n, DType dtype) const {
    if (options.scheme != Scheme::learned)
        return sinusoidal_encoding(Tensor::arange(n, DType::f64, double(first)), width, dtype,
                                   {.layout = options.layout});
    if (first + n > options.length)
        throw ShapeError("position", "tokens up to " + std::to_string(first + n) + ", a table of " +
                                         std::to_string(options.length) +
                                         " places; learn a longer one");
    return slice(at(table), 0, first, first + n);
}

Position PositionLayer::scheme(const Binding& at, int64_t queries, int64_t keys, int64_t offset,
                               DType dtype) const {
    const auto learned = [&](const Tensor& t) { return t.defined() ? at(t) : Var(); };
    switch (options.scheme) {
        case Scheme::none:
        case Scheme::sinusoidal:
        case Scheme::learned: return NoPosition{};
        case Scheme::transformer_xl:
            return TransformerXl{.weight = at(weight),
                                 .u = learned(u),
                                 .v = learned(v),
                                 .scale_positions = options.scaled,
                                 .clamp_length = options.clamp_length,
                                 .layout = options.layout};
        case Scheme::lookup:
            return Lookup{.table = at(table),
                          .values = learned(value_table),
                          .scaled = options.scaled,
                          .offset = offset};
        case Scheme::skew:
            return Skew{.table = at(table), .scaled = options.scaled, .offset = offset};
        case Scheme::symmetric:
            return symmetric(encoding(at, 0, std::max(keys, offset + queries), dtype), at(weight),
                             offset);
        case Scheme::rotary: return Rotary{.layout = options.pairs, .offset = offset};
        case Scheme::alibi: break;
    }
    return alibi(heads, offset);
}

void PositionLayer::collect(Parameters& parameters, const std::string& prefix) {
    const std::pair<const char*, Tensor*> all[] = {
        {"weight", &weight}, {"u", &u}, {"v", &v}, {"table", &table}, {"values", &value_table}};
    for (const auto& [name, tensor] : all)
        if (tensor->defined()) parameters.add(prefix + name, *tensor);
}

}  // namespace mercer
