// Positions in the multi-head layer: memory and segments (A06, A21), images (A11), what is computed
// once (A24).
#include <set>

#include "tests/models/layer_support.h"

using namespace mercer;
using namespace mercer::test;

TEST_CASE("every parameter and option of a position is felt") {
    const Tensor x = sample(16, {2, 6, 8});
    std::set<std::string> names;
    for (const Scheme scheme : schemes) {
        Wide wide(8, 2, {.kernel = rbf()}, placed(scheme));
        Tape tape;
        const Binding at(tape, wide.all);
        const auto g = tape.gradient(sum(square(wide.layer.forward(at, x))), at.vars());
        for (size_t i = 0; i < g.size(); ++i) {
            CHECK_MESSAGE(largest(g[i]) > 1e-3, int(scheme), " ", wide.all.name(i));
            names.insert(wide.all.name(i));
        }
    }
    const PositionOptions picture{.scheme = Scheme::grid, .columns = 3};
    Wide image(8, 2, {.kernel = rbf()}, {.position = picture});
    Tape tape;
    const Binding at(tape, image.all);
    const auto g = tape.gradient(sum(square(image.layer.forward(at, x))), at.vars());
    for (size_t i = 0; i < g.size(); ++i) {
        CHECK_MESSAGE(largest(g[i]) > 1e-3, image.all.name(i));
        names.insert(image.all.name(i));
    }
    for (const char* name : {"weight", "columns", "u", "v", "table", "values"})
        CHECK_MESSAGE(names.contains(std::string("position.") + name), name);
    const auto out = [&](PositionOptions p) {
        return Wide(8, 2, {}, {.position = p}).layer.forward({}, x);
    };
    const auto differ = [&](PositionOptions a, PositionOptions b) {
        CHECK(distance(out(a), out(b)) > 1e-6);
    };
    const PositionOptions xl{.scheme = Scheme::transformer_xl}, table{.scheme = Scheme::lookup},
        skewed{.scheme = Scheme::skew}, turned{.scheme = Scheme::rotary},
        sines{.scheme = Scheme::sinusoidal};
    const auto with = [](PositionOptions p, auto change) {
        change(p);
        return p;
    };
    using P = PositionOptions;
    differ(xl, with(xl, [](P& p) { p.clamp_length = 2; }));
    differ(xl, with(xl, [](P& p) { p.biases = false; }));
    for (const P& p : {xl, table, skewed}) differ(p, with(p, [](P& q) { q.scaled = false; }));
    for (const P& p : {xl, sines})
        differ(p, with(p, [](P& q) { q.layout = EncodingLayout::halves; }));
    differ(table, with(table, [](P& p) { p.clip = 1; }));
    differ(picture, with(picture, [](P& p) { p.columns = 2; }));
    differ(turned, with(turned, [](P& p) { p.pairs = PairLayout::interleaved; }));
}

TEST_CASE("A11: images: rows and columns in a product kernel, or in a sum") {
    const int64_t height = 3, across = 4, n = height * across, width = 8, heads = 2, d = 4;
    const Tensor x = sample(17, {n, width});
    const PositionOptions product{.scheme = Scheme::grid, .columns = across},
        added{.scheme = Scheme::grid_sum, .columns = across};
    Wide wide(width, heads, {}, {.position = product});
    const Attention& layer = wide.layer;
    const auto rows_of = [&](const Var& v) { return v.value().contiguous(); };
    const auto sines = [&](int64_t count) {
        return sinusoidal_encoding(Tensor::arange(count), width, DType::f64);
    };
    for (int64_t h = 0; h < heads; ++h) {
        const auto head = [&](const Linear& l) {
            return rows_of(slice(l.forward({}, x), 1, h * d, (h + 1) * d));
        };
        const auto part = [&](const Tensor& w) {
            return reshape(slice(w, 0, h, h + 1), {width, d});
        };
        const Tensor q = head(layer.query), k = head(layer.key),
                     r = rows_of(matmul(sines(height), part(layer.position.weight))),
                     c = rows_of(matmul(sines(across), part(layer.position.column_weight)));
        const auto factor = [&](const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
            double s = 0;
            for (int64_t e = 0; e < d; ++e)
                s += a.data<double>()[i * d + e] * b.data<double>()[j * d + e];
            return std::exp(s / std::sqrt(double(d)));
        };
        const Tensor w = rows_of(slice(layer.weights({}, x), 0, h, h + 1));
        double error = 0;
        for (int64_t i = 0; i < n; ++i) {
            std::vector<double> kernel(size_t(n), 0);
            double total = 0;
            for (int64_t j = 0; j < n; ++j)
                total += kernel[size_t(j)] = factor(q, i, k, j) *
                                             factor(r, i / across, r, j / across) *
                                             factor(c, i % across, c, j % across);
            for (int64_t j = 0; j < n; ++j)
                error = std::max(error,
                                 std::abs(w.data<double>()[i * n + j] - kernel[size_t(j)] / total));
        }
        CHECK(error < 1e-12);
    }
    // the sum is a plain layer's, of features and places; its values are those of the features
    Wide summed(width, heads, {}, {.position = added}), plain(width, heads, {});
    const Var t = reshape(unsqueeze(sines(height), 1) + unsqueeze(sines(across), 0), {n, width});
    CHECK(distance(summed.layer.weights({}, x), plain.layer.weights({}, Var(x) + t)) < 1e-13);
    // derivatives, and what is no image
    const Tensor small = sample(18, {4, 4});
    for (PositionOptions o : {product, added}) {
        o.columns = 2;
        Wide tiny(4, 2, {},
                  {.position = o, .values = ValueInput::features_and_positions, .bias = false});
        check_layer("image", tiny, small, small);
        CHECK_THROWS_AS(tiny.layer.forward({}, sample(19, {5, 4})), ShapeError);
        CHECK_THROWS_AS(tiny.layer.forward({}, sample(19, {2, 4}), small), ShapeError);
    }
}

TEST_CASE("A24: t W_T is computed once for a whole batch") {
    const auto products = [](int64_t batch) {
        Attention layer(8, 2, {}, Key{1}, placed(Scheme::symmetric));
        Parameters all;
        layer.collect(all, "");
        Tape tape;
        const Var out = layer.forward(Binding(tape, all), randn(Key{2}, {batch, 5, 8}));
        int count = 0;
        for (size_t i = 0; i < tape.operations(); ++i)
            count += std::string(tape.operation(i).name) == "matmul";
        return count;
    };
    CHECK(products(1) == products(8));
    Attention layer(8, 2, {}, Key{1}, placed(Scheme::symmetric));
    const Position scheme = layer.position.scheme({}, 5, 7, 2, DType::f32);
    CHECK(std::get<Symmetric>(scheme).projected.shape() == Shape{2, 7, 4});  // [H, T, d], no batch
}

TEST_CASE("A06, A21: by segments is one long pass, where the memory covers it") {
    const int64_t length = 12, segment = 4, width = 8;
    const Tensor x = sample(7, {2, length, width});
    for (const Scheme scheme : schemes)
        for (const int64_t clamp_length : {0, 3})
            for (const Kernel& kernel : {dot_product(), rbf()}) {
                if (clamp_length > 0 && scheme != Scheme::transformer_xl) continue;
                CAPTURE(int(scheme));
                AttentionOptions o = with_memory_of(scheme);
                o.position.clamp_length = clamp_length;
                Wide one(width, 2, {.kernel = kernel}, o, 1),
                    two(width, 2, {.kernel = kernel}, o, 2);
                const auto stack = [&](const Var& in, std::array<Var, 2>& memory, int64_t keep) {
                    Var at = in;
                    const Attention* layers[] = {&one.layer, &two.layer};
                    for (size_t l = 0; l < 2; ++l) {
                        const Var out = at + layers[l]->forward({}, at, with_memory(memory[l], at));
                        memory[l] = next_memory(memory[l], at, keep);
                        at = out;
                    }
                    return at;
                };
                std::array<Var, 2> none, memory;
                const Var whole = stack(x, none, 0);
                for (int64_t at = 0; at < length; at += segment) {
                    const Var part = stack(slice(x, 1, at, at + segment), memory, length);
                    CHECK(distance(part, slice(whole, 1, at, at + segment)) < 1e-12);
                    CHECK(memory[0].size(-2) == at + segment);
                }
            }
}

TEST_CASE("A21: evaluation, every query with as many keys, is the long pass in a window") {
    const int64_t length = 11, window_length = 4, width = 8;
    const Tensor x = sample(8, {1, length, width});
    for (const Scheme scheme : {Scheme::none, Scheme::transformer_xl, Scheme::lookup, Scheme::skew,
                                Scheme::rotary, Scheme::alibi}) {
        CAPTURE(int(scheme));
        AttentionOptions o = placed(scheme);
        o.filter = [=](int64_t queries, int64_t keys) {
            return same_length(keys - queries, window_length);
        };
        Wide one(width, 2, {}, o, 3), two(width, 2, {}, o, 4);
        Var middle = one.layer.forward({}, x);
        const Var whole = two.layer.forward({}, middle);
        Var first, second;  // memories of window_length − 1
        for (int64_t at = 0; at < length; ++at) {
            const Var token = slice(x, 1, at, at + 1);
            const Var hidden = one.layer.forward({}, token, with_memory(first, token));
            const Var out = two.layer.forward({}, hidden, with_memory(second, hidden));
            first = next_memory(first, token, window_length - 1);
            second = next_memory(second, hidden, window_length - 1);
            CHECK(first.size(-2) == std::min(at + 1, window_length - 1));
            CHECK(distance(out, slice(whole, 1, at, at + 1)) < 1e-12);
        }
    }
}

TEST_CASE("A06: no gradient goes into the memory") {
    Wide wide(8, 2, {}, with_memory_of(Scheme::transformer_xl));
    Tape tape;
    const Var past = tape.watch(sample(9, {3, 8})), now = tape.watch(sample(10, {2, 8}));
    const Binding at(tape, wide.all);
    const auto g = tape.gradient(sum(square(wide.layer.forward(at, now, with_memory(past, now)))),
                                 {past, now});
    CHECK(largest(g[0]) == 0);
    CHECK(largest(g[1]) > 1e-3);
    CHECK(next_memory(past, now, 4).is_constant());
    CHECK(distance(next_memory(past, now, 4), concat({slice(past, 0, 1, 3), now}, 0)) == 0);
    CHECK(next_memory({}, now, 9).size(0) == 2);
    CHECK(next_memory(past, now, 0).size(0) == 0);
}
