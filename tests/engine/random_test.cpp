// Philox against its authors' known answers; the moments of what is made from it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/isa.h"
#include "engine/random.h"

using namespace mercer;
using Words = std::array<uint32_t, 4>;

// Random123 1.14, tests/kat_vectors, rows "philox4x32 10".
TEST_CASE("known answers of Philox4x32-10") {
    CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
          Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers and dropout's mask are the words of Philox by position") {
    const Key key{0x123456789abcdef0, 0xfedcba9876543210};
    const auto word = [&](uint64_t w) {
        return philox({uint32_t(w / 4), uint32_t(w / 4 >> 32), uint32_t(key.stream),
                       uint32_t(key.stream >> 32)},
                      {uint32_t(key.seed), uint32_t(key.seed >> 32)})[w % 4];
    };
    const int64_t n = 777;
    for (Isa isa : available_isas()) {
        set_isa(isa);
        const std::vector<float> few = uniform(key, {n}, DType::f32).to_vector<float>();
        const std::vector<double> many = uniform(key, {n}, DType::f64).to_vector<double>();
        for (const double p : {0.0, 0.3, 0.99999999}) {
            const Tensor x = Tensor::ones({n}, DType::f32), wide = Tensor::ones({n}, DType::f64);
            const std::vector<float> kept = dropout(x, p, key).to_vector<float>();
            const std::vector<double> kept_wide = dropout(wide, p, key).to_vector<double>();
            for (size_t i = 0; i < size_t(n); ++i) {
                const float u = float(word(i) >> 8) * 0x1p-24f;
                CHECK(kept[i] == (u >= float(p) ? float(1 / (1 - p)) : 0));
                CHECK(kept_wide[i] == (u >= float(p) ? 1 / (1 - p) : 0));
            }
        }
        for (size_t i = 0; i < size_t(n); ++i) {
            CHECK(few[i] == float(word(i) >> 8) * 0x1p-24f);
            const uint64_t pair = (uint64_t(word(2 * i + 1)) << 32) | word(2 * i);
            CHECK(many[i] == double(pair >> 11) * 0x1p-53);
        }
    }
}

TEST_CASE("moments") {
    const int64_t n = 1 << 20;
    for (DType dtype : {DType::f32, DType::f64}) {
        const Tensor z = cast(randn(Key{1, 2}, {n}, dtype), DType::f64),
                     u = cast(uniform(Key{1, 3}, {n}, dtype, -1, 3), DType::f64);
        const auto average = [](const Tensor& t) { return mean(t).item<double>(); };
        CHECK(std::abs(average(z)) < 5 / std::sqrt(double(n)));
        CHECK(std::abs(average(square(z)) - 1) < 5 * std::sqrt(2.0 / double(n)));
        CHECK(std::abs(average(square(square(z))) - 3) < 5 * std::sqrt(96.0 / double(n)));
        CHECK(std::abs(average(u) - 1) < 5 * std::sqrt(16.0 / 12 / double(n)));
        CHECK(min(u).item<double>() >= -1);
        CHECK(max(u).item<double>() < 3);
        // neighbours and the two halves of a Box–Muller pair are uncorrelated
        for (int64_t lag : {1, 128})
            CHECK(std::abs(average(slice(z, 0, 0, n - lag) * slice(z, 0, lag, n))) <
                  5 / std::sqrt(double(n)));
    }
}

TEST_CASE("element i depends on key and i only") {
    const std::vector<float> many = randn(Key{5, 6}, {1000}).to_vector<float>(),
                             few = randn(Key{5, 6}, {300}).to_vector<float>();
    CHECK(std::equal(few.begin(), few.end(), many.begin()));
    CHECK(randn(Key{5, 7}, {300}).to_vector<float>() != few);
    CHECK(randn(Key{5, 6}.split(0), {300}).to_vector<float>() != few);
    CHECK(randn(Key{5, 6}.split(0), {300}).to_vector<float>() !=
          randn(Key{5, 6}.split(1), {300}).to_vector<float>());
}

TEST_CASE("a permutation holds every number once") {
    std::vector<int64_t> p = permutation(Key{9, 9}, 1000).to_vector<int64_t>();
    CHECK(p != permutation(Key{9, 10}, 1000).to_vector<int64_t>());
    std::sort(p.begin(), p.end());
    for (int64_t i = 0; i < 1000; ++i) CHECK(p[size_t(i)] == i);
    CHECK(permutation(Key{}, 0).count() == 0);
}

TEST_CASE("a permutation orders its draws as unsigned numbers") {
    const Key key{0x123456789abcdef0u, 0xfedcba9876543210u};
    std::vector<std::pair<uint64_t, int64_t>> draws;
    for (uint32_t i = 0; i < 300000; ++i) {
        const Words w = philox({i, 0, uint32_t(key.stream), uint32_t(key.stream >> 32)},
                               {uint32_t(key.seed), uint32_t(key.seed >> 32)});
        draws.emplace_back(uint64_t(w[1]) << 32 | w[0], i);
    }
    std::sort(draws.begin(), draws.end());
    const auto level = [](auto a, auto b) { return a.first >> 32 == b.first >> 32; };
    CHECK(std::ranges::adjacent_find(draws, level) != draws.end());  // upper halves alike
    const std::vector<int64_t> p = permutation(key, 300000).to_vector<int64_t>();
    CHECK(std::ranges::equal(p, draws, {}, {}, [](const auto& draw) { return draw.second; }));
}

TEST_CASE("bad arguments") {
    CHECK_THROWS_AS(uniform(Key{}, {2}, DType::f32, 1, 1), ValueError);
    CHECK_THROWS_AS(uniform(Key{}, {2}, DType::f32, -3e38, 3e38), ValueError);
    CHECK_THROWS_AS(uniform(Key{}, {2}, DType::f32, 1e300, 1e301), ValueError);
    CHECK_THROWS_AS(uniform(Key{}, {2}, DType::f64, -1.7e308, 1.7e308), ValueError);
    CHECK_THROWS_AS(uniform(Key{}, {2}, DType::f64, -INFINITY, 0), ValueError);
    CHECK_NOTHROW(uniform(Key{}, {2}, DType::f64, 0, 1.7e308));
    CHECK_THROWS_AS(randn(Key{}, {2}, DType::i64), DTypeError);
}
