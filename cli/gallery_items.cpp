#include "cli/gallery_items.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/encoding.h"
#include "autograd/functions.h"
#include "cli/report/assets.h"
#include "engine/random.h"

namespace mercer::cli {
namespace {

constexpr int64_t tokens = gallery_tokens, width = gallery_width;

Tensor normal(uint64_t stream, const Shape& shape) {
    return randn(Key{48, stream}, shape, DType::f64);
}

// Tokens on a smooth curve that comes back to itself every twelve tokens, a little changed, and
// swells once on the way: near tokens and those of the same season are alike, the middle ones are
// longer.
Tensor features() {
    std::vector<double> x;
    for (int64_t i = 0; i < tokens; ++i) {
        const double t = double(i) / double(tokens), season = 2 * M_PI * double(i) / 12;
        const double swell = 0.75 + 0.5 * std::sin(M_PI * t) * std::sin(M_PI * t);
        for (int64_t c = 0; c < width / 2; ++c) {
            const bool slow = c % 2 == 0;
            const double angle =
                slow ? 2 * M_PI * t * double(c + 1) / 2 : season * double(c + 1) / 2;
            const int64_t octave = c / 2 + 1;
            const double size = swell / std::sqrt(double(octave));
            x.push_back(size * std::sin(angle + double(c)));
            x.push_back(size * std::cos(angle + double(c)));
        }
    }
    return Tensor::from(x, {tokens, width});
}

// A slow wave, a season and noise.
Tensor signal() {
    const std::vector<double> noise = normal(9, {tokens}).to_vector<double>();
    std::vector<double> y;
    for (int64_t i = 0; i < tokens; ++i)
        y.push_back(std::sin(2 * M_PI * double(i) / double(tokens)) +
                    0.7 * std::sin(2 * M_PI * double(i) / 12) + 0.25 * noise[size_t(i)]);
    return Tensor::from(y, {tokens, 1});
}

Tensor encoding(int64_t from, int64_t count, double base) {
    return sinusoidal_encoding(Tensor::arange(count, DType::f64, double(from)), width, DType::f64,
                               {.base = base})
        .value();
}

// A ring with a chord from every token to the one opposite, in CSR.
std::pair<Tensor, Tensor> ring() {
    std::vector<int64_t> offsets{0}, columns;
    for (int64_t i = 0; i < tokens; ++i) {
        std::vector<int64_t> row;
        for (const int64_t step :
             {int64_t{-2}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, tokens / 2})
            row.push_back((i + step + tokens) % tokens);
        std::sort(row.begin(), row.end());
        columns.insert(columns.end(), row.begin(), row.end());
        offsets.push_back(int64_t(columns.size()));
    }
    return {Tensor::from(offsets), Tensor::from(columns)};
}

// Every other diagonal of a disc.
Tensor disc() {
    const auto seen = [](int64_t i, int64_t j) {
        const double x = double(i) - 23.5, y = double(j) - 23.5;
        return i == j || (x * x + y * y < 500 && (i + j) % 2 == 0);
    };
    Tensor out = Tensor::empty({tokens, tokens}, DType::boolean);
    for (int64_t i = 0; i < tokens; ++i)
        for (int64_t j = 0; j < tokens; ++j) out.mutable_data<bool>()[i * tokens + j] = seen(i, j);
    return out;
}

}  // namespace

Json gallery_groups() { return Json::parse(assets::gallery_items()); }

io::TensorMap gallery_inputs() {
    const Tensor x = features();
    const Tensor turn = 0.12 * normal(1, {width, width}), other = 0.12 * normal(2, {width, width});
    const auto heads = [](const Tensor& t) {
        return broadcast_to(t, {1, gallery_heads, tokens, t.size(-1)}).contiguous();
    };
    const auto [offsets, columns] = ring();
    // Tables of relative places: each distance turned by its own angles, fading with distance.
    const Tensor near = encoding(-6, 13, 50), back = encoding(1 - tokens, tokens, 200);
    return {{"q", heads(1.5 * (x + matmul(x, turn)))},
            {"k", heads(1.5 * (x + matmul(x, other)))},
            {"v", heads(signal())},
            {"w", 1.5 * normal(3, {width})},
            {"row_offsets", offsets},
            {"columns", columns},
            {"mask", disc()},
            {"sinusoids", 0.8 * encoding(0, tokens, 100)},
            {"learned", 0.35 * cumsum(normal(4, {tokens, width}), 0)},
            {"w_r", 0.3 * normal(5, {width, width})},
            {"u", 0.5 * normal(6, {width})},
            {"v_r", 0.8 * normal(7, {width})},
            {"w_t", 0.6 * normal(8, {width, width})},
            {"relative", 1.5 * near},
            {"relative_values", reshape(Tensor::arange(13, DType::f64, -1.2, 0.2), {13, 1})},
            {"skew", 1.2 * back},
            {"grid_rows", 1.5 * encoding(0, 6, 100)},
            {"grid_columns", 1.5 * encoding(0, 8, 100)}};
}

}  // namespace mercer::cli
