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
    if (options.length < 1 || options.columns < 1 || options.clip < 0 || options.clamp_length < 0)
        throw ValueError("position",
                         "length and columns are 1 or more, clip and clamp_length not negative");
    const auto matrix = [&](uint64_t part) {
        const double bound = 1 / std::sqrt(double(width));
        return uniform(key.split(part), {heads, width, d}, DType::f32, -bound, bound);
    };
    if (scheme == Scheme::transformer_xl || scheme == Scheme::symmetric || scheme == Scheme::grid)
        weight = matrix(0);
    if (scheme == Scheme::grid) column_weight = matrix(5);
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

bool PositionLayer::is_image() const {
    return options.scheme == Scheme::grid || options.scheme == Scheme::grid_sum;
}

std::pair<int64_t, int64_t> PositionLayer::image(int64_t first, int64_t n) const {
    if (first != 0 || n % options.columns != 0)
        throw ShapeError("position", n, " tokens from place ", first, " on are no image with ",
                         options.columns, " columns");
    return {n / options.columns, options.columns};
}

Var PositionLayer::encoding(const Binding& at, int64_t first, int64_t n, DType dtype) const {
    const auto sinusoids = [&](int64_t from, int64_t count) {
        return sinusoidal_encoding(Tensor::arange(count, DType::f64, double(from)), width, dtype,
                                   {.layout = options.layout});
    };
    if (is_image()) {
        const auto [height, columns] = image(first, n);
        return grid_encoding(sinusoids(0, height), sinusoids(0, columns));
    }
    if (options.scheme != Scheme::learned) return sinusoids(first, n);
    if (first + n > options.length)
        throw ShapeError("position", "tokens up to ", first + n, ", a table of ", options.length,
                         " places; learn a longer one");
    return slice(at(table), 0, first, first + n);
}

Position PositionLayer::scheme(const Binding& at, int64_t queries, int64_t keys, int64_t offset,
                               DType dtype, Tensor* kept) const {
    const auto learned = [&](const Tensor& t) { return t.defined() ? at(t) : Var(); };
    switch (options.scheme) {
        case Scheme::none:
        case Scheme::sinusoidal:
        case Scheme::learned:
        case Scheme::grid_sum: return NoPosition{};
        case Scheme::grid: {
            const auto [height, across] = image(offset, keys);
            const auto axis = [&](int64_t n, const Tensor& w) {
                return matmul(sinusoidal_encoding(Tensor::arange(n), width, dtype,
                                                  {.layout = options.layout}),
                              at(w));
            };
            return Grid{axis(height, weight), axis(across, column_weight)};
        }
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
        case Scheme::symmetric: {
            const int64_t needed = std::max(keys, offset + queries);
            if (kept && kept->defined() && kept->size(-2) >= needed)
                return Symmetric{Var(*kept), offset};
            const Var t = encoding(at, 0, kept ? std::max<int64_t>(2 * needed, 16) : needed, dtype);
            Symmetric out = symmetric(t, at(weight), offset);
            if (kept) *kept = out.projected.value();
            return out;
        }
        case Scheme::rotary: return Rotary{.layout = options.pairs, .offset = offset};
        case Scheme::alibi: break;
    }
    return alibi(heads, offset);
}

void PositionLayer::collect(Parameters& parameters, const std::string& prefix) {
    const std::pair<const char*, Tensor*> all[] = {{"weight", &weight}, {"columns", &column_weight},
                                                   {"u", &u},           {"v", &v},
                                                   {"table", &table},   {"values", &value_table}};
    for (const auto& [name, tensor] : all)
        if (tensor->defined()) parameters.add(prefix + name, *tensor);
}

}  // namespace mercer
