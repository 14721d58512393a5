// Filters against their formulas, pair by pair and tile by tile.
#include "attention/smoother/filter.h"

#include <doctest/doctest.h>

#include <string>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/random.h"

using namespace mercer;

namespace {

struct Named {
    std::string name;
    Filter filter;
    std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> sees;
    bool exact = true;  // says partial only of what is
    int64_t queries = 23, keys = 23;
};

Tensor numbers(std::initializer_list<int64_t> values) {
    return Tensor::from(std::vector<int64_t>(values));
}

std::vector<Named> all() {
    using I = int64_t;
    const std::pair<I, I> pairs[] = {{0, 0}, {0, 3}, {2, 1}, {3, 3}, {4, 0}};
    const auto listed = [=](I a, I b) {
        return std::find(std::begin(pairs), std::end(pairs), std::pair(a, b)) != std::end(pairs);
    };
    std::vector<I> rows{0}, columns;
    for (I i = 0; i < 23; ++i) {
        for (I j = 0; j < 23; ++j)
            if (i == j || (i * 7 + j * 5) % 6 == 0 || i == 9) columns.push_back(j);
        rows.push_back(I(columns.size()));
    }
    std::vector<Named> out{
        {"full", full(), [](I, I, I, I) { return true; }},
        {"causal", causal(), [](I, I, I i, I j) { return j <= i; }},
        {"causal of the last", causal(8), [](I, I, I i, I j) { return j <= i + 8; }, true, 15, 23},
        {"window", window(5), [](I, I, I i, I j) { return i - 5 < j && j <= i; }},
        {"xl memory", xl_memory(7), [](I, I, I i, I j) { return j <= i + 7; }, true, 16, 23},
        {"same length", same_length(7, 6),
         [](I, I, I i, I j) { return i + 7 - 6 < j && j <= i + 7; }, true, 16, 23},
        {"strided, part 1", strided_local(4),
         [](I, I, I i, I j) { return std::max<I>(0, i - 4) <= j && j <= i; }},
        {"strided, part 2", strided_summary(4),
         [](I, I, I i, I j) { return j <= i && (i - j) % 4 == 0; }, false},
        {"strided", strided(4),
         [](I, I, I i, I j) { return j <= i && (i - j <= 4 || (i - j) % 4 == 0); }, false},
        {"every one", strided_summary(1), [](I, I, I i, I j) { return j <= i; }},
        {"fixed, part 1", fixed_local(6), [](I, I, I i, I j) { return j / 6 == i / 6 && j <= i; }},
        {"fixed, part 2", fixed_summary(6, 2), [](I, I, I i, I j) { return j % 6 >= 4 && j <= i; },
         false},
        {"fixed, by head", fixed_summary(6, 2, 3),
         [](I, I h, I i, I j) {
             const I s = h % 3;
             return j % 6 >= 6 - 2 * (s + 1) && j % 6 < 6 - 2 * s && j <= i;
         },
         false},
        {"fixed", fixed(6, 1),
         [](I, I, I i, I j) { return j <= i && (j / 6 == i / 6 || j % 6 == 5); }, false},
        {"padding", padding(numbers({23, 9})),
         [](I b, I, I, I j) { return j < (b == 0 ? 23 : 9); }},
        {"packed", packed(numbers({0, 5, 5, 17, 23})),
         [](I, I, I i, I j) {
             const auto of = [](I n) { return n < 5 ? 0 : n < 17 ? 1 : 2; };
             return of(i) == of(j);
         }},
        {"packed, cross", packed(numbers({0, 4, 10}), numbers({0, 20, 23})),
         [](I, I, I i, I j) { return (i < 4) == (j < 20); }, true, 10, 23},
        {"graph", graph(Tensor::from(rows), Tensor::from(columns)),
         [](I, I, I i, I j) { return i == j || (i * 7 + j * 5) % 6 == 0 || i == 9; }},
        {"blocks", blocks(5, 6, pairs), [=](I, I, I i, I j) { return listed(i / 5, j / 6); }},
        {"one's own",
         filter([](Seat s) { return (s.query + s.key + s.head + s.batch) % 3 == 0; }, true, true),
         [](I b, I h, I i, I j) { return (i + j + h + b) % 3 == 0; }, false},
        {"by head", by_head({causal(), full(), window(3)}),
         [](I, I h, I i, I j) { return h == 1 || (j <= i && (h == 0 || j > i - 3)); }},
        {"and", causal() & padding(numbers({23, 9})) & window(7),
         [](I b, I, I i, I j) { return j <= i && j < (b == 0 ? 23 : 9) && j > i - 7; }, false},
        {"or", window(2) | fixed_summary(6, 1) | blocks(5, 6, pairs),
         [=](I, I, I i, I j) {
             return (j <= i && j > i - 2) || (j <= i && j % 6 == 5) || listed(i / 5, j / 6);
         },
         false},
        {"and with everything", causal() & full(), [](I, I, I i, I j) { return j <= i; }},
        {"or with everything", causal() | full(), [](I, I, I, I) { return true; }}};
    return out;
}

constexpr int64_t batches = 2, heads = 3;

}  // namespace

TEST_CASE("masks are their formulas") {
    for (const Named& n : all()) {
        const Tensor mask = broadcast_to(visible(n.filter, {batches, heads, n.queries, n.keys}),
                                         {batches, heads, n.queries, n.keys})
                                .contiguous();
        const bool* seen = mask.data<bool>();
        int64_t wrong = 0;
        for (int64_t b = 0; b < batches; ++b)
            for (int64_t h = 0; h < heads; ++h)
                for (int64_t i = 0; i < n.queries; ++i)
                    for (int64_t j = 0; j < n.keys; ++j) wrong += *seen++ != n.sees(b, h, i, j);
        CHECK_MESSAGE(wrong == 0, n.name);
    }
}

TEST_CASE("tiles are classed rightly, and marked as the mask is") {
    for (const Named& n : all())
        for (const auto& [rows, columns] :
             {std::pair<int64_t, int64_t>{1, 1}, {4, 8}, {5, 3}, {16, 16}, {2, 23}})
            for (int64_t b = 0; b < batches; ++b)
                for (int64_t h = 0; h < heads; ++h)
                    for (int64_t i = 0; i < n.queries; i += rows)
                        for (int64_t j = 0; j < n.keys; j += columns) {
                            const FilterTile t{b, h,
                                               i, std::min(rows, n.queries - i),
                                               j, std::min(columns, n.keys - j)};
                            const std::unique_ptr<bool[]> seen(
                                new bool[size_t(t.queries * t.keys)]);
                            if (n.filter.rule())
                                n.filter.rule()->mark(t, seen.get());
                            else
                                std::fill_n(seen.get(), t.queries * t.keys, true);
                            int64_t count = 0, wrong = 0;
                            for (int64_t r = 0; r < t.queries; ++r)
                                for (int64_t c = 0; c < t.keys; ++c) {
                                    const bool s = seen[size_t(r * t.keys + c)];
                                    count += s;
                                    wrong += s != n.sees(b, h, i + r, j + c);
                                }
                            CHECK_MESSAGE(wrong == 0, n.name);
                            const TileClass truth = count == 0 ? TileClass::empty
                                                    : count == t.queries * t.keys
                                                        ? TileClass::full
                                                        : TileClass::partial;
                            const TileClass said = n.filter.classify(t);
                            CHECK_MESSAGE(
                                (said == truth || (!n.exact && said == TileClass::partial)), n.name,
                                " says ", int(said), " of a tile at ", i, ", ", j);
                        }
}

TEST_CASE("a mask has size 1 along what its filter does not look at") {
    CHECK(visible(causal(), {2, 3, 5, 5}).shape() == Shape{1, 1, 5, 5});
    CHECK(visible(padding(numbers({5, 2})), {2, 3, 5, 5}).shape() == Shape{2, 1, 5, 5});
    CHECK(visible(by_head({full(), causal()}), {2, 3, 5, 5}).shape() == Shape{1, 3, 5, 5});
    CHECK(visible(causal(), {2, 2, 2, 5, 5}).shape() == Shape{1, 1, 1, 5, 5});
    CHECK(visible(causal(), 4, 4).shape() == Shape{4, 4});
}

TEST_CASE("Sparse Transformer: within causal, and two layers connect all that causal does") {
    const int64_t n = 40, l = 6;
    const Tensor past = visible(causal(), n, n);
    const auto numbers_of = [](const Tensor& mask) { return cast(mask, DType::f32); };
    for (const Filter& f : {strided(l), fixed(l, 2)}) {
        const Tensor mask = visible(f, n, n);
        CHECK(max(numbers_of(mask) - numbers_of(past)).item<float>() == 0);
        const Tensor two = greater(matmul(numbers_of(mask), numbers_of(mask)), 0);
        CHECK(min(numbers_of(two) - numbers_of(past)).item<float>() == 0);
    }
    const Tensor one = numbers_of(visible(strided_local(l), n, n)),
                 other = numbers_of(visible(strided_summary(l), n, n));
    const Tensor heads_apart = greater(matmul(one, other), 0);  // part 2, then part 1
    CHECK(min(numbers_of(heads_apart) - numbers_of(past)).item<float>() == 0);
}

TEST_CASE("attention by batch entry and head is that of each alone") {
    const Tensor q = randn(Key{3, 1}, {2, 3, 7, 4}, DType::f64),
                 k = randn(Key{3, 2}, {2, 3, 7, 4}, DType::f64),
                 v = randn(Key{3, 3}, {2, 3, 7, 5}, DType::f64);
    const Filter f = by_head({causal(), window(2), full()}) & padding(numbers({7, 0}));
    const Tensor out = attend(q, k, v, {.filter = f}).value();
    const Filter alone[] = {causal(), window(2), full()};
    for (int64_t h = 0; h < 3; ++h) {
        const auto part = [&](const Tensor& t) {
            return reshape(slice(slice(t, 0, 0, 1), 1, h, h + 1), {7, t.size(-1)});
        };
        const Tensor expected = attend(part(q), part(k), part(v), {.filter = alone[h]}).value();
        CHECK(max(abs(part(out) - expected)).item<double>() < 1e-15);
    }
    CHECK(max(abs(slice(out, 0, 1, 2))).item<double>() == 0);  // nothing is seen there
}

TEST_CASE("what does not fit") {
    CHECK_THROWS_AS(visible(causal(), 3, 4), ShapeError);
    CHECK_THROWS_AS(visible(padding(numbers({3})), {2, 3, 3}), ShapeError);
    CHECK_THROWS_AS(visible(padding(numbers({4})), {1, 3, 3}), ShapeError);
    CHECK_THROWS_AS(visible(packed(numbers({0, 4})), 3, 3), ShapeError);
    CHECK_THROWS_AS(visible(by_head({causal()}), {1, 2, 3, 3, 3}), ShapeError);
    CHECK_THROWS_AS(packed(numbers({1, 4})), ValueError);
    CHECK_THROWS_AS(packed(numbers({0, 4}), numbers({0, 2, 4})), ShapeError);
    CHECK_THROWS_AS(padding(numbers({-1})), ValueError);
    CHECK_THROWS_AS(padding(Tensor::ones({2})), DTypeError);
    CHECK_THROWS_AS(window(0), ValueError);
    CHECK_THROWS_AS(fixed_summary(4, 2, 3), ValueError);
    CHECK_THROWS_AS(strided(0), ValueError);
    CHECK_THROWS_AS(graph(numbers({0, 2}), numbers({1, 1})), ValueError);
    CHECK_THROWS_AS(graph(numbers({0, 3}), numbers({1, 2})), ValueError);
    CHECK_THROWS_AS(visible(graph(numbers({0, 1}), numbers({5})), 1, 3), ShapeError);
    CHECK_THROWS_AS(blocks(0, 1, {}), ValueError);
    CHECK_THROWS_AS(by_head({}), ValueError);
    CHECK_THROWS_AS(filter({}), ValueError);
}
