// Sparse Transformer's filters by parts: what is near, and what is far, regrouped.
#include "attention/smoother/sparse.h"

#include "attention/smoother/fused/tile.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "tests/attention/smoother_support.h"
#include "tests/support/bits.h"
#include "tests/support/emulated.h"
#include "tests/support/restore.h"

using namespace mercer;
using attention::FarPart;

namespace {

Tensor sample(uint64_t n, const Shape& shape, double scale = 0.7) {
    return randn(Key{93, n}, shape, DType::f64) * scale;
}
std::vector<Tensor> operands(const Shape& lead, int64_t t) {
    std::vector<Tensor> x;
    for (const int64_t width : {8, 8, 5}) {
        Shape shape = lead;
        shape.push_back(t), shape.push_back(width);
        x.push_back(sample(20 + x.size(), shape));
    }
    return x;
}
std::vector<Filter> filters() {
    return {strided(16), fixed(16, 3), fixed(12, 12), fixed(16, 3, 2)};
}

MakeOptions with(const Kernel& kernel, const Filter& filter, const Position& position = {}) {
    return [=](std::span<const Var>) {
        return SmootherOptions{.kernel = kernel, .filter = filter, .position = position};
    };
}

/// Columns × rows that tiles of queries against keys compute, by the strips in which they do it.
int64_t computed(const Filter& filter, int64_t queries, int64_t keys) {
    Scratch scratch;
    attention::TileView view(attention::block_queries, scratch);
    int64_t sum = 0;
    for (int64_t i = 0; i < queries; i += attention::block_queries)
        for (int64_t j = 0; j < keys; j += attention::tile_keys) {
            const int64_t m = std::min(attention::block_queries, queries - i);
            if (view.look(filter, {0, 0, i, m, j, std::min(attention::tile_keys, keys - j)}) ==
                TileClass::empty)
                continue;
            const int64_t strip = view.strip(m, sizeof(float));
            for (int64_t r = 0; r < m; r += strip) {
                const int64_t rows = std::min(strip, m - r);
                const attention::Extent e = view.extent(r, rows);
                sum += rows * (e.end - e.first);
            }
        }
    return sum;
}

}  // namespace

TEST_CASE("both parts together see what the filter sees, each pair once") {
    for (const Filter& filter : filters())
        for (const int64_t t : {64, 70, 95}) {
            const auto far = FarPart::of(filter, t, t);
            REQUIRE(far);
            for (int64_t head = 0; head < 2; ++head) {
                std::vector<int> times(size_t(t * t));
                for (int64_t n = 0; n < far->groups; ++n) {
                    const attention::Group g = far->group(head, n);
                    for (int64_t i = 0; i < g.queries.count; ++i)
                        for (int64_t j = 0; j < g.keys.count; ++j)
                            times[size_t(g.queries[i] * t + g.keys[j])] +=
                                far->filter.rule()->sees({0, head, i, j});
                }
                for (int64_t i = 0; i < t; ++i)
                    for (int64_t j = 0; j < t; ++j) {
                        times[size_t(i * t + j)] += far->near.rule()->sees({0, head, i, j});
                        REQUIRE(times[size_t(i * t + j)] ==
                                int(filter.rule()->sees({0, head, i, j})));
                    }
            }
        }
    // of few blocks, and of other filters, nothing is far
    CHECK(!FarPart::of(strided(16), 63, 63));
    CHECK(!FarPart::of(strided(16), 64, 63));
    CHECK(!FarPart::of(strided_local(16) | strided_summary(16), 100, 100));
    CHECK(!FarPart::of(full(), 100, 100));
}

TEST_CASE("parts compute few pairs that nobody sees") {
    const int64_t t = 4096, l = 128;
    for (const Filter& filter : {strided(l), fixed(l, 8)}) {
        const auto far = FarPart::of(filter, t, t);
        REQUIRE(far);
        int64_t seen = 0, made = computed(far->near, t, t);
        for (int64_t n = 0; n < far->groups; ++n) {
            const attention::Group g = far->group(0, n);
            made += computed(far->filter, g.queries.count, g.keys.count);
        }
        const Tensor mask = visible(filter, t, t);
        for (int64_t n = 0; n < t * t; ++n) seen += mask.data<bool>()[n];
        CHECK(made >= seen);
        CHECK(double(made) < 1.3 * double(seen));
    }
}

TEST_CASE("as the mask says") {
    for (const int64_t t :
         MERCER_EMULATED ? std::vector<int64_t>{70} : std::vector<int64_t>{64, 150, 300})
        for (const Filter& filter : filters())
            for (const Kernel& kernel : {dot_product(), rbf(), nadaraya_watson(3)}) {
                CAPTURE(t);
                CAPTURE(kernel.name);
                for (const Position& position : std::vector<Position>{NoPosition{}, Rotary{}}) {
                    const auto c =
                        compare_smoothers(operands({2, 2}, t), with(kernel, filter, position));
                    CHECK(c.float64 < 1e-13);
                    CHECK(c.fused32 <= 2 * c.plain32 + 5e-8);
                }
            }
    // The same filter said otherwise is taken as one.
    const Tensor x = sample(20, {2, 200, 8});
    CHECK(largest_distance(
              attend(x, x, x, {.filter = strided(16)}).value(),
              attend(x, x, x, {.filter = strided_local(16) | strided_summary(16)}).value()) <
          1e-14);
}

TEST_CASE("learned parameters, additive scores, keys in groups, rows apart in memory") {
    for (const Filter& filter : filters()) {
        std::vector<Tensor> x = operands({2, 4}, 100);
        std::function<Tensor(const Tensor&)> arrange = [](const Tensor& t) { return t; };
        const auto close = [&](const MakeOptions& options) {
            std::vector<Tensor> y = x;
            for (size_t i = 0; i < 3; ++i) y[i] = arrange(y[i]);
            const auto c = compare_smoothers(y, options);
            CHECK(c.float64 < 1e-12);
            // A parameter's gradient is one number, whose error is luck.
            if (x.size() == 3) CHECK(c.fused32 <= 2 * c.plain32 + 5e-8);
        };
        for (size_t i = 1; i < 3; ++i) x[i] = slice(x[i], 1, 0, 2).contiguous();
        close(with(rbf(), filter));
        arrange = [](const Tensor& t) {
            return permute(permute(t, {0, 2, 1, 3}).contiguous(), {0, 2, 1, 3});
        };
        close(with(dot_product(), filter));
        x.push_back(Tensor::scalar(1.4, DType::f64));
        close([&](std::span<const Var> extra) {
            return SmootherOptions{.kernel = nadaraya_watson(extra[0]), .filter = filter};
        });
        x.back() = sample(24, {8});
        close([&](std::span<const Var> extra) {
            return SmootherOptions{.kernel = additive(extra[0]), .filter = filter};
        });
        // what is not taken apart
        x.pop_back();
        close([&](std::span<const Var>) {
            return SmootherOptions{.filter = filter, .dropout = {.rate = 0.3, .key = Key{5, 6}}};
        });
        close([&](std::span<const Var>) {
            return SmootherOptions{.filter = filter, .normaliser = sparsemax_weights()};
        });
        close(with(polynomial(2), filter));
    }
}

TEST_CASE("log-sum-exp and entropy over both parts, and their gradients") {
    const std::vector<Tensor> x = operands({2}, 150);
    const auto run = [&](const Filter& filter) {
        Tape tape;
        std::vector<Var> v;
        for (const Tensor& t : x) v.push_back(tape.watch(t));
        const Smoothed s = attend_measured(v[0], v[1], v[2], {.filter = filter});
        const Var loss = sum(s.out * Var(sample(30, s.out.shape()))) +
                         sum(s.lse * Var(sample(31, s.lse.shape()))) +
                         sum(s.entropy * Var(sample(32, s.entropy.shape())));
        std::vector<Tensor> r{s.out.value(), s.lse.value(), s.entropy.value()};
        const Var losses[] = {loss};
        for (Tensor& d : tape.gradient(losses, v)) r.push_back(std::move(d));
        return r;
    };
    for (const Filter& filter : filters())  // a filter that sees all of another: the mask itself
        CHECK(over_all(largest_distance, run(filter), run(filter & causal())) < 1e-13);
}

TEST_CASE("NaN and infinities that only the far part sees, or nobody") {
    for (const Filter& filter : {strided(16), fixed(16, 3)}) {
        const std::vector<Tensor> x = operands({1, 2}, 100);
        std::vector<Tensor> bad = x;
        bad[1] = x[1].clone(), bad[2] = x[2].clone();
        bad[1].mutable_data<double>()[14 * 8 + 3] = std::nan("");
        bad[2].mutable_data<double>()[(100 + 31) * 5] = INFINITY;
        const auto run = [&](bool fused, const std::vector<Tensor>& at) {
            Tape tape;
            std::vector<Var> v;
            for (const Tensor& t : at) v.push_back(tape.watch(t));
            const Filter f = fused ? filter : filter & causal();
            const Var out = attend(v[0], v[1], v[2], {.filter = f});
            const Tensor finite = all(isfinite(out.value()), {-1}, true);
            // Rows that see them have no part in the loss.
            const Tensor g = where(finite, sample(25, out.shape()), Tensor::scalar(0, DType::f64));
            SmootherResults r{cast(finite, DType::f64),
                              where(finite, out.value(), Tensor::scalar(0, DType::f64))};
            const Var losses[] = {out};
            for (Tensor& d : tape.gradient(losses, v, {.cotangents = {g}}))
                r.push_back(std::move(d));
            return r;
        };
        const SmootherResults got = run(true, bad), want = run(false, bad);
        for (const Tensor& t : got) CHECK(all(isfinite(t)).item<bool>());
        const Tensor mask = visible(filter, 100, 100);
        const bool* sees = mask.data<bool>();
        for (int64_t i = 0; i < 200; ++i)
            CHECK((got[0].data<double>()[i] == 0) == sees[i % 100 * 100 + (i < 100 ? 14 : 31)]);
        CHECK(over_all(largest_distance, got, want) < 1e-13);
    }
}

TEST_CASE("the same bits on every instruction set and for any number of threads") {
    const Restore restore;
    for (const Filter& filter : {strided(40), fixed(40, 7, 2)})
        for (const int64_t heads : {1, 3})
            for (const bool adds : {false, true}) {
                std::vector<Tensor> x = in_float32(operands({heads}, 300));
                if (adds) x.push_back(cast(sample(24, {8}), DType::f32));
                const MakeOptions options = [&](std::span<const Var> extra) {
                    return SmootherOptions{.kernel = adds ? additive(extra[0]) : rbf(),
                                           .filter = filter};
                };
                set_isa(Isa::scalar);
                set_thread_count(1);
                const SmootherResults expected = smoother_results(true, x, options);
                for (const Isa other : available_isas())
                    for (const int n : {1, 2, 3}) {
                        set_isa(other);
                        set_thread_count(n);
                        CAPTURE(std::string(name_of(other)));
                        CAPTURE(n);
                        const SmootherResults r = smoother_results(true, x, options);
                        for (size_t i = 0; i < r.size(); ++i)
                            CHECK(difference(r[i], expected[i]) == "");
                    }
            }
}

TEST_CASE("derivatives of the gradient are those of the reference form") {
    const std::vector<Tensor> x = operands({2}, 70);
    for (const Filter& filter : {strided(16), fixed(16, 3)}) {
        const auto second = [&](bool fused) {
            Tape tape;
            std::vector<Var> at;
            for (const Tensor& e : x) at.push_back(tape.watch(e));
            const SmootherOptions o{.filter = filter};
            const Var out =
                fused ? attend(at[0], at[1], at[2], o) : attend_reference(at[0], at[1], at[2], o);
            const Var losses[] = {sum(square(out))};
            const auto d = tape.gradient(losses, at, CreateGraph{});
            const Var totals[] = {sum(d[0] * Var(sample(10, d[0].shape()))) +
                                  sum(d[1] * Var(sample(11, d[1].shape())))};
            return tape.gradient(totals, at);
        };
        CHECK(over_all(largest_distance, second(true), second(false)) < 1e-11);
    }
}
