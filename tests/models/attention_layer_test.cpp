// The multi-head layer with every kernel, normaliser and filter: parameters' derivatives (A02), other
// modalities (A04, A13), counts (A17, A25), values (A26).
#include "models/layers/encoder.h"
#include "tests/models/layer_support.h"
#include "tests/support/bits.h"
#include "tests/support/emulated.h"
#include "tests/support/restore.h"

using namespace mercer;
using namespace mercer::test;

TEST_CASE("A02: derivatives of all parameters: positions, values, one matrix or two") {
    const Tensor x = sample(1, {2, 4}), s = sample(2, {3, 4});
    for (const Scheme scheme : schemes)
        for (const bool shared : {false, true}) {
            if (MERCER_EMULATED && shared) continue;
            AttentionOptions o = with_memory_of(scheme);
            o.symmetric = shared;
            o.values = shared ? ValueInput::features_and_positions : ValueInput::features;
            o.bias = scheme == Scheme::none;
            Wide wide(4, 2, {.kernel = shared ? rbf() : dot_product()}, o);
            check_layer("scheme " + std::to_string(int(scheme)), wide, x, s);
        }
}

TEST_CASE("A02: derivatives of all parameters: kernels and normalisers, also learned ones") {
    const Tensor x = sample(3, {2, 4}), s = sample(4, {3, 4});
    const auto scalar = [](double v) { return Tensor::scalar(v, DType::f64); };
    std::vector<std::pair<std::string, AttentionOptions>> learned(4);
    learned[0] = {"additive",
                  {.kernel = {[](const Var& w) { return additive(w); }, sample(5, {2})}}};
    learned[1] = {"cosine", {.kernel = {[](const Var& t) { return cosine(t); }, scalar(2)}}};
    learned[2] = {"bandwidth",
                  {.kernel = {[](const Var& h) { return nadaraya_watson(exp(h)); }, scalar(.3)}}};
    learned[3] = {"entmax",
                  {.normaliser = {[](const Var& a) { return entmax_weights(softplus(a) + 1.0); },
                                  scalar(.2)}}};
    for (auto& [name, options] : learned) {
        options.bias = false;
        Wide wide(4, 2, {}, options);
        REQUIRE(wide.all.size() == 5);
        check_layer(name, wide, x, s);
    }
    const std::pair<const char*, Kernel> kernels[] = {
        {"polynomial", polynomial(2)}, {"expsin", expsin(4)}, {"rbf similarity", rbf_similarity()}};
    for (const auto& [name, kernel] : kernels) {
        Wide wide(4, 2, {.kernel = kernel}, {.bias = false});
        check_layer(name, wide, x, s);
    }
    Wide sparse(4, 2, {.normaliser = entmax15_weights()}, {.bias = false});
    check_layer("entmax 1.5", sparse, x, s);
}

TEST_CASE("heads are layers of one head, each with its part of the parameters") {
    const int64_t n = 5, heads = 3, d = 4, width = heads * d;
    const Tensor x = sample(6, {2, n, width});
    for (const Scheme scheme : schemes) {
        if (scheme == Scheme::alibi) continue;  // its slopes depend on how many heads there are
        CAPTURE(int(scheme));
        Wide wide(width, heads, {}, placed(scheme));
        const Attention& layer = wide.layer;
        const auto columns = [&](const Tensor& t, int64_t h) {
            return slice(t, -1, h * d, (h + 1) * d);
        };
        const auto project = [&](const Linear& l, const Var& from, int64_t h) {
            return matmul(from, columns(l.weight, h)) + columns(l.bias, h);
        };
        const Binding constants;
        Var total = broadcast_to(Var(layer.output.bias), {2, n, width});
        for (int64_t h = 0; h < heads; ++h) {
            PositionLayer own = layer.position;
            own.heads = 1;
            for (Tensor* t : {&own.weight, &own.u, &own.v, &own.value_table, &own.table})
                if (t->defined() && !(scheme == Scheme::learned && t == &own.table))
                    *t = slice(*t, 0, h, h + 1);
            const Var f =
                own.is_sum() ? Var(x) + own.encoding(constants, 0, n, DType::f64) : Var(x);
            const auto alone = [&](const Var& t) { return unsqueeze(t, 1); };
            const Var mixed =
                attend(alone(project(layer.query, f, h)), alone(project(layer.key, f, h)),
                       alone(project(layer.value, x, h)),
                       {.position = own.scheme(constants, n, n, 0, DType::f64)});
            total = total +
                    matmul(squeeze(mixed, 1), slice(layer.output.weight, 0, h * d, (h + 1) * d));
        }
        CHECK(distance(layer.forward({}, x), total) < 1e-12);
        // without the batch's axis; weights
        const Tensor first = reshape(slice(x, 0, 0, 1), {n, width});
        CHECK(distance(unsqueeze(layer.forward({}, first), 0),
                       slice(layer.forward({}, x), 0, 0, 1)) < 1e-13);
        CHECK(layer.weights({}, first).shape() == Shape{heads, n, n});
        CHECK(distance(unsqueeze(layer.weights({}, first), 0),
                       slice(layer.weights({}, x), 0, 0, 1)) < 1e-13);
        if (scheme != Scheme::skew) {
            const Tensor sums = sum(layer.weights({}, x).value(), {-1});
            CHECK(largest(sums - 1.0) < 1e-13);
        }
        // and the scheme is felt
        Wide plain(width, heads, {});
        if (scheme != Scheme::none)
            CHECK(distance(plain.layer.forward({}, x), layer.forward({}, x)) > 1e-4);
    }
}

TEST_CASE("B01: a layer's similarity and magnitude, of its projections") {
    Wide wide(8, 2, {.filter = causal()});
    const Tensor x = sample(20, {2, 6, 8});
    const auto heads_of = [&](const Linear& l) {
        return permute(reshape(l.forward({}, x), {2, 6, 2, 4}), {0, 2, 1, 3}).value();
    };
    const LayerProbe got = wide.layer.probe({}, x, x),
                     want = probe_layer(heads_of(wide.layer.query), heads_of(wide.layer.key),
                                        causal());
    CHECK(got.log_similarity == want.log_similarity);
    CHECK(got.magnitude == want.magnitude);
    // longer keys and queries: more magnitude, less similarity
    for (Linear* l : {&wide.layer.query, &wide.layer.key}) {
        l->weight = l->weight * 3.0;
        l->bias = l->bias * 3.0;
    }
    const LayerProbe longer = wide.layer.probe({}, x, x);
    CHECK(longer.magnitude == doctest::Approx(9 * got.magnitude));
    CHECK(longer.log_similarity == doctest::Approx(9 * got.log_similarity));
}

TEST_CASE("A04, A13: another sequence, of its own width and length; states of zero say nothing") {
    const int64_t width = 8, source = 5;
    for (const Scheme scheme :
         {Scheme::none, Scheme::lookup, Scheme::symmetric, Scheme::rotary, Scheme::alibi}) {
        AttentionOptions o = placed(scheme);
        o.position.values = false;
        o.source = source;
        o.bias = false;
        Wide wide(width, 2, {}, o);
        for (const auto& [n, m] : {std::pair<int64_t, int64_t>{4, 7}, {7, 4}, {1, 3}}) {
            const Tensor x = sample(11, {2, n, width}), s = sample(12, {2, m, source});
            const Var out = wide.layer.forward({}, x, s);
            CHECK(out.shape() == Shape{2, n, width});
            CHECK(largest(out.value()) > 1e-3);
            CHECK(wide.layer.weights({}, x, s).shape() == Shape{2, 2, n, m});
            CHECK(largest(wide.layer.forward({}, x, s * 0.0).value()) == 0);
        }
    }
}

TEST_CASE("A17, A25: one matrix for both sides saves one; Eq 9 has two where Eq 5 has three") {
    const int64_t width = 12, square_of = width * width;
    const auto count = [&](Scheme scheme, bool shared, bool kernel_only) {
        AttentionOptions o{
            .position = {.scheme = scheme, .biases = false}, .symmetric = shared, .bias = false};
        Attention layer(width, 3, {}, Key{1}, o);
        Parameters all;
        layer.collect(all, "");
        int64_t n = 0;
        for (size_t i = 0; i < all.size(); ++i) {
            const std::string& name = all.name(i);
            const bool of_kernel = name != "value.weight" && name != "output.weight";
            if (!kernel_only || of_kernel) n += all.tensors()[i]->count();
        }
        return n;
    };
    CHECK(count(Scheme::none, false, false) == 4 * square_of);
    CHECK(count(Scheme::none, true, false) == 3 * square_of);
    CHECK(count(Scheme::symmetric, true, true) == 2 * square_of);
    CHECK(count(Scheme::transformer_xl, false, true) == 3 * square_of);
    CHECK(3 * count(Scheme::symmetric, true, true) ==
          2 * count(Scheme::transformer_xl, false, true));
    // with one matrix the scores are symmetric
    Wide shared(width, 3, {.kernel = linear()}, {.symmetric = true});
    const Tensor w = shared.layer.weights({}, sample(13, {6, width})).value(),
                 ratio = w / transpose(w);
    // w_ij·Σ_i = k_ij = k_ji = w_ji·Σ_j: ratios are those of sums, of rank one in logarithms
    for (int64_t h = 0; h < 3; ++h) {
        const Tensor one = reshape(slice(ratio, 0, h, h + 1), {6, 6});
        const Tensor row = slice(one, 0, 0, 1), column = slice(one, 1, 0, 1);
        CHECK(largest(one / (column * row) - 1.0) < 1e-9);
    }
}

TEST_CASE("A26: values with positions are those without, and t W_v") {
    const int64_t n = 5, width = 8, heads = 2, d = 4;
    const Tensor x = sample(14, {n, width});
    for (const Scheme scheme : schemes) {
        CAPTURE(int(scheme));
        AttentionOptions o = placed(scheme);
        o.position.values = false;
        Wide without(width, heads, {}, o);
        o.values = ValueInput::features_and_positions;
        Wide with(width, heads, {}, o);
        const Var t = with.layer.position.encoding({}, 0, n, DType::f64);
        const Var tv =
            permute(reshape(matmul(t, with.layer.value.weight), {n, heads, d}), {1, 0, 2});
        const Var mixed =
            reshape(permute(matmul(with.layer.weights({}, x), tv), {1, 0, 2}), {n, width});
        CHECK(distance(with.layer.forward({}, x) - without.layer.forward({}, x),
                       matmul(mixed, with.layer.output.weight)) < 1e-12);
    }
}

TEST_CASE("filters of batch entries and heads reach them") {
    const Tensor x = sample(15, {2, 6, 8});
    Wide wide(8, 2,
              {.filter = padding(Tensor::from(std::vector<int64_t>{6, 3})) &
                         by_head({causal(), full()})});
    const Tensor w = wide.layer.weights({}, x).value();
    const auto at = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        return w.to_vector<double>()[size_t(((b * 2 + h) * 6 + i) * 6 + j)];
    };
    for (int64_t b = 0; b < 2; ++b)
        for (int64_t h = 0; h < 2; ++h)
            for (int64_t i = 0; i < 6; ++i)
                for (int64_t j = 0; j < 6; ++j)
                    CHECK((at(b, h, i, j) > 0) == ((h == 1 || j <= i) && (b == 0 || j < 3)));
    Wide dropped(8, 2, {});
    const Var half = dropped.layer.forward({}, x, x, {0.5, Key{3}});
    CHECK(distance(half, dropped.layer.forward({}, x, x, {0.5, Key{3}})) == 0);
    CHECK(distance(half, dropped.layer.forward({}, x, x, {0.5, Key{4}})) > 1e-3);
    CHECK(distance(half, dropped.layer.forward({}, x)) > 1e-3);
}

TEST_CASE("X03: one key, one layer: the same bits in f32 and f64, on any number of threads") {
    const Restore restore;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Scheme scheme : schemes) {
            std::vector<Tensor> expected;
            for (const int threads : {1, 2, 2}) {
                set_thread_count(threads);
                AttentionOptions o = placed(scheme);
                o.position.length = 80;
                Attention layer(8, 2, {.kernel = rbf()}, Key{9}, o);
                Parameters all;
                layer.collect(all, "");
                all.cast(dtype);
                Tape tape;
                const Binding at(tape, all);
                const Var out = layer.forward(at, randn(Key{10}, {3, 70, 8}, dtype));
                CHECK(out.dtype() == dtype);
                std::vector<Tensor> got = tape.gradient(sum(square(out)), at.vars());
                got.push_back(out.value());
                if (expected.empty()) expected = got;
                for (size_t i = 0; i < got.size(); ++i)
                    CHECK(difference(got[i], expected[i]) == "");
            }
        }
}

TEST_CASE("layers that cannot be") {
    CHECK_THROWS_AS(Attention(8, 3, {}, Key{0}), ValueError);
    CHECK_THROWS_AS(Attention(8, 2, {.position = rotary()}, Key{0}), ValueError);
    CHECK_THROWS_AS(Attention(8, 2, {}, Key{0}, {.symmetric = true, .source = 5}), ValueError);
    CHECK_THROWS_AS(
        Attention(8, 2, {}, Key{0}, {.position = {.scheme = Scheme::learned}, .source = 5}),
        ValueError);
    CHECK_THROWS_AS(Attention(8, 2, {}, Key{0}, {.position = {.length = 0}}), ValueError);
    CHECK_THROWS_AS(
        Attention(8, 2, {}, Key{0}, {.position = {.scheme = Scheme::transformer_xl}, .source = 8}),
        ValueError);
    const Tensor x = randn(Key{1}, {5, 8});
    const Attention plain(8, 2, {}, Key{0});
    CHECK_THROWS_AS(plain.forward({}, x, slice(x, 0, 0, 3)), ShapeError);
    CHECK_THROWS_AS(plain.forward({}, unsqueeze(x, 0), x), ShapeError);
    CHECK_THROWS_AS(plain.forward({}, reshape(x, {40})), ShapeError);
    const Attention short_table(8, 2, {}, Key{0},
                                {.position = {.scheme = Scheme::learned, .length = 4}});
    CHECK_THROWS_AS(short_table.forward({}, x), ShapeError);
    Parameters all;
    Linear layer(2, 3, Key{1});
    layer.collect(all, "");
    CHECK_THROWS_AS(Binding(all, std::vector<Var>(1)), ShapeError);
}

TEST_CASE("an encoder layer takes batches, and the options of its attention") {
    AttentionOptions o = placed(Scheme::rotary);
    o.symmetric = true;
    EncoderLayer layer(8, 12, 2, {.filter = causal()}, Key{3}, o);
    Parameters all;
    layer.collect(all, "");
    all.cast(DType::f64);
    for (size_t i = 0; i < all.size(); ++i)
        CHECK(all.name(i).find("attention.key.") == std::string::npos);
    const Tensor x = sample(21, {3, 5, 8});
    const Var out = layer.forward({}, x);
    for (int64_t b = 0; b < 3; ++b) {
        const Tensor one = reshape(slice(x, 0, b, b + 1), {5, 8});
        CHECK(distance(unsqueeze(layer.forward({}, one), 0), slice(out, 0, b, b + 1)) < 1e-13);
    }
    // causal: the first tokens do not feel the last
    const Tensor past = slice(x, 1, 0, 3);
    CHECK(distance(layer.forward({}, past), slice(out, 1, 0, 3)) < 1e-13);
}
