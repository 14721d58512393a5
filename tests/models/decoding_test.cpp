// Decoding token by token, with a cache of keys and values: the long pass.
#include "models/layers/cache.h"
#include "tests/models/layer_support.h"
#include "tests/support/message.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t length = 21, width = 8;  // beyond the cache's first room

struct Named {
    std::string name;
    SmootherOptions smoother;
};

std::vector<Named> smoothers() {
    std::vector<Named> out(5);
    out[0].name = "dot product";
    out[1] = {"rbf", {.kernel = rbf()}};
    out[2] = {"expsin", {.kernel = expsin(3)}};
    out[3] = {"sparsemax", {.normaliser = sparsemax_weights()}};
    out[4] = {"cosine", {.kernel = cosine(2)}};
    return out;
}

Tensor rows(const Tensor& x, int64_t from, int64_t to) { return slice(x, -2, from, to); }

}  // namespace

TEST_CASE("decoding by one or several tokens is the long pass, every scheme, two layers") {
    const Tensor x = sample(1, {2, length, width});
    for (const Scheme scheme : schemes)
        for (const Named& each : smoothers())
            for (const int64_t values : {0, 1}) {
                CAPTURE(int(scheme));
                CAPTURE(each.name);
                AttentionOptions o = with_memory_of(scheme);
                o.position.length = 32;
                if (values) o.values = ValueInput::features_and_positions;
                Wide one(width, 2, each.smoother, o, 1), two(width, 2, each.smoother, o, 2);
                const Tensor middle = one.layer.forward({}, x).value();
                const Tensor whole = two.layer.forward({}, middle).value();
                for (const int64_t step : {1, 4, 17}) {
                    KeyValueCache first, second;
                    for (int64_t at = 0; at < length; at += step) {
                        const int64_t end = std::min(at + step, length);
                        const Tensor out =
                            two.layer.decode(one.layer.decode(rows(x, at, end), first), second);
                        CHECK(distance(out, rows(whole, at, end)) < 1e-12);
                    }
                    CHECK(first.length() == length);
                }
            }
}

TEST_CASE("decoding: windows, states without a batch, float32, tokens taken back") {
    AttentionOptions o = placed(Scheme::rotary);
    o.filter = [](int64_t queries, int64_t keys) { return window(5, keys - queries); };
    Wide wide(width, 2, {}, o);
    const Tensor x = sample(2, {length, width});
    const Tensor whole = wide.layer.forward({}, x).value();
    KeyValueCache cache;
    for (int64_t at = 0; at < length; ++at) {
        if (at == 10) {  // tokens that were tried and not taken
            wide.layer.decode(sample(3, {4, width}), cache);
            cache.truncate(10);
        }
        CHECK(distance(wide.layer.decode(rows(x, at, at + 1), cache), rows(whole, at, at + 1)) <
              1e-12);
    }
    Attention narrow(width, 2, {}, Key{1}, o);
    const Tensor y = cast(x, DType::f32);
    const Tensor expected = narrow.forward({}, y).value();
    KeyValueCache other;
    for (int64_t at = 0; at < length; ++at)
        CHECK(distance(narrow.decode(rows(y, at, at + 1), other), rows(expected, at, at + 1)) <
              1e-5);
}

TEST_CASE("A24: t W_T is not computed again for each token") {
    Wide wide(width, 2, {}, with_memory_of(Scheme::symmetric));
    KeyValueCache cache;
    int computed = 0;
    const void* before = nullptr;
    for (int64_t at = 0; at < 70; ++at) {
        wide.layer.decode(sample(6, {1, width}), cache);
        REQUIRE(cache.places.size(-2) > at);
        computed += cache.places.raw() != before;
        before = cache.places.raw();
    }
    CHECK(computed == 3);  // for 16, 34 and 70 places
}

TEST_CASE("what is given out stays as it is; what does not fit") {
    KeyValueCache cache;
    const auto part = [](uint64_t stream, int64_t n) { return sample(stream, {2, 3, n, 4}); };
    Tensor all;
    for (uint64_t n = 1; n < 9; ++n) {
        const Tensor k = part(n, int64_t(n)), v = part(100 + n, int64_t(n));
        const auto [keys, values] = cache.append(k, v);
        if (all.defined()) CHECK(distance(rows(keys, 0, all.size(-2)), all) == 0);
        CHECK(distance(rows(keys, keys.size(-2) - int64_t(n), keys.size(-2)), k) == 0);
        CHECK(distance(rows(values, keys.size(-2) - int64_t(n), keys.size(-2)), v) == 0);
        CHECK(cache.length() == keys.size(-2));
        all = keys.clone();
    }
    CHECK_THROWS_AS(cache.append(sample(1, {1, 3, 1, 4}), part(1, 1)), ShapeError);
    CHECK_THROWS_AS(cache.append(part(1, 1), part(1, 2)), ShapeError);
    CHECK_THROWS_AS(cache.append(cast(part(1, 1), DType::f32), part(1, 1)), DTypeError);
    CHECK_THROWS_AS(cache.truncate(cache.length() + 1), ValueError);
    CHECK_THROWS_AS(cache.truncate(-1), ValueError);
    const std::string said = message_of<ShapeError>([&] {
        cache.append(sample(1, {2, 3, 1, 5}), part(1, 1));
    });
    for (const char* what : {"[key_value_cache]", "keys", "(2,3,1,5)"})
        CHECK_MESSAGE(said.find(what) != std::string::npos, said);
    cache.truncate(0);  // then anything fits
    CHECK(cache.append(sample(1, {1, 1, 2, 5}), sample(2, {1, 1, 2, 6})).second.shape() ==
          Shape{1, 1, 2, 6});
    const Attention cross(8, 2, {}, Key{0}, {.source = 5});
    CHECK_THROWS_AS(cross.decode(sample(4, {1, 8}), cache), ValueError);
    // a causal filter that was not told of the lengths cannot know where the query stands
    Wide causal_only(8, 2, {.filter = causal()});
    KeyValueCache fresh;
    causal_only.layer.decode(sample(5, {1, 8}), fresh);
    CHECK_THROWS_AS(causal_only.layer.decode(sample(5, {1, 8}), fresh), ShapeError);
    CHECK(fresh.length() == 1);
}
