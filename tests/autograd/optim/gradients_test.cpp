// What is done with gradients and parameters beside a step: clipping, accumulation, averages.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "autograd/optim/accumulate.h"
#include "autograd/optim/adam.h"
#include "autograd/optim/clip.h"
#include "autograd/optim/ema.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/finite.h"
#include "engine/io/safetensors.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/files.h"

using namespace mercer;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<Tensor> many() {
    std::vector<Tensor> g;
    uint64_t k = 0;
    for (const int64_t n : {0, 1, 7, 33, 64, 16384, 16385, 50001}) {
        g.push_back(randn(Key{1, k++}, {n}));
        g.push_back(randn(Key{1, k++}, {n}, DType::f64));
    }
    g.push_back(transpose(randn(Key{1, k++}, {40, 70})));
    g.push_back({});
    return g;
}

double norm_by_hand(const std::vector<Tensor>& g) {
    long double sum = 0;
    for (const Tensor& t : g)
        if (t.defined())
            for (const double x : t.to_vector<double>()) sum += (long double)(x)*x;
    return double(std::sqrt(sum));
}

}  // namespace

TEST_CASE("the norm of all gradients") {
    const double expected = norm_by_hand(many()), norm = global_norm(many());
    CHECK(std::abs(norm - expected) <= 1e-14 * expected);
    const Isa isa = mercer::isa();
    const int threads = thread_count();
    for (const Isa other : available_isas())
        for (const int n : {1, 2}) {
            set_isa(other);
            set_thread_count(n);
            CHECK(global_norm(many()) == norm);
        }
    set_isa(isa);
    set_thread_count(threads);
    CHECK(global_norm({}) == 0);
    CHECK(global_norm(std::vector<Tensor>{Tensor::zeros({5})}) == 0);
    // Squares that leave the range.
    const auto of = [](std::vector<double> x) {
        return global_norm(std::vector<Tensor>{Tensor::from(x)});
    };
    CHECK(of({3e200, 4e200}) == doctest::Approx(5e200).epsilon(1e-15));
    CHECK(of({3e-200, 4e-200}) == doctest::Approx(5e-200).epsilon(1e-15));
    CHECK(of({3e-200, 4}) == 4);
    CHECK(of({1.5e308}) == doctest::Approx(1.5e308).epsilon(1e-15));
    CHECK(of({5e-324}) == 5e-324);
    CHECK(of({inf, 1}) == inf);
    CHECK(std::isnan(of({inf, std::nan("")})));
    CHECK(global_norm(std::vector<Tensor>{Tensor::full({4}, 3e38)}) ==
          doctest::Approx(6e38).epsilon(1e-7));
    CHECK_THROWS_AS(global_norm(std::vector<Tensor>{Tensor::zeros({2}, DType::i32)}), DTypeError);
}

TEST_CASE("clipping by norm") {
    std::vector<Tensor> g = many();
    const double norm = clip_by_norm(g, 10);
    CHECK(norm == global_norm(many()));
    CHECK(global_norm(g) == doctest::Approx(10).epsilon(1e-6));
    for (size_t i = 0; i + 1 < g.size(); ++i) {
        const std::vector<double> a = g[i].to_vector<double>(), b = many()[i].to_vector<double>();
        for (size_t k = 0; k < a.size(); ++k)
            CHECK(a[k] == doctest::Approx(b[k] * 10 / norm).epsilon(1e-6));
    }
    CHECK(!g.back().defined());
    std::vector<Tensor> small = many();
    CHECK(clip_by_norm(small, 2 * norm) == norm);  // left as they are
    for (size_t i = 0; i + 1 < small.size(); ++i) CHECK(difference(small[i], many()[i]) == "");
    // clip_grad_norm_(…, 10.) in torch 2.15.0, which divides by norm + 1e-6: 85 before.
    std::vector<Tensor> torch{Tensor::from(std::vector<double>{3, -4, 12}),
                              Tensor::from(std::vector<double>{84})};
    CHECK(clip_by_norm(torch, 10) == 85);
    CHECK(torch[0].to_vector<double>()[2] == doctest::Approx(1.4117646892733569).epsilon(2e-8));
    CHECK(torch[1].to_vector<double>()[0] == doctest::Approx(9.882352824913497).epsilon(2e-8));
}

TEST_CASE("what others see of a gradient stays") {
    const Tensor mine = Tensor::full({4}, 10);
    std::vector<Tensor> g{mine, mine, Tensor::full({4}, 10)};
    const void* own = g[2].raw();
    clip_by_norm(g, 1);
    CHECK(difference(mine, Tensor::full({4}, 10)) == "");
    CHECK(difference(g[0], g[1]) == "");
    CHECK(difference(g[0], g[2]) == "");
    CHECK(g[2].raw() == own);  // nobody else's: in place
    CHECK(global_norm(g) == doctest::Approx(1));
    std::vector<Tensor> row{Tensor::full({1}, 5).view({3}, {0}, 0)};  // expanded
    clip_by_value(row, 2);
    CHECK(row[0].to_vector<double>() == std::vector<double>{2, 2, 2});
}

TEST_CASE("norms that are not finite") {
    for (const double bad : {inf, -inf, std::nan("")}) {
        const auto make = [&] {
            return std::vector<Tensor>{Tensor::from(std::vector<double>{1, bad}),
                                       Tensor::full({3}, 100)};
        };
        std::vector<Tensor> g = make();
        CHECK_THROWS_AS(clip_by_norm(g, 1), NumericalError);
        CHECK(!std::isfinite(clip_by_norm(g, 1, NonFinite::keep)));
        for (size_t i = 0; i < 2; ++i) CHECK(difference(g[i], make()[i]) == "");
    }
    std::vector<Tensor> g{Tensor::ones({1})};
    for (const double bad : {0.0, -1.0, inf, std::nan("")}) {
        CHECK_THROWS_AS(clip_by_norm(g, bad), ValueError);
        CHECK_THROWS_AS(clip_by_value(g, bad), ValueError);
    }
}

TEST_CASE("clipping by value") {
    std::vector<Tensor> g = many();
    g.push_back(Tensor::from(std::vector<double>{-inf, inf, std::nan(""), -0.0}));
    clip_by_value(g, 0.5);
    for (size_t i = 0; i + 2 < g.size(); ++i) {
        const std::vector<double> a = g[i].to_vector<double>(), b = many()[i].to_vector<double>();
        for (size_t k = 0; k < a.size(); ++k) CHECK(a[k] == std::clamp(b[k], -0.5, 0.5));
    }
    const std::vector<double> odd = g.back().to_vector<double>();
    CHECK(odd[0] == -0.5);
    CHECK(odd[1] == 0.5);
    CHECK(std::isnan(odd[2]));
    CHECK(std::signbit(odd[3]));
}

TEST_CASE("micro-batches add up to the batch") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = randn(Key{2, 1}, {30, 5}, dtype), y = randn(Key{2, 2}, {30, 1}, dtype),
                     w = randn(Key{2, 3}, {5, 1}, dtype), unused = Tensor::ones({2}, dtype);
        const auto gradient = [&](int64_t begin, int64_t end) {
            Tape tape;
            const Var v = tape.watch(w);
            const Var error = matmul(Var(slice(x, 0, begin, end)), v) - slice(y, 0, begin, end);
            return std::vector<Tensor>{tape.gradient(mean(square(error)), {v})[0], Tensor()};
        };
        const Tensor whole = gradient(0, 30)[0];
        GradientAccumulator accumulator;
        for (int round = 0; round < 2; ++round) {
            for (const auto& [begin, end] : {std::pair{0, 7}, {7, 8}, {8, 30}})
                accumulator.add(gradient(begin, end), end - begin);
            CHECK(accumulator.weight() == 30);
            const std::vector<Tensor> mean = accumulator.take();
            CHECK(!mean[1].defined());
            const double apart = max(abs(mean[0] - whole)).item<double>();
            CHECK(apart < (dtype == DType::f32 ? 1e-6 : 1e-15));
        }
        CHECK_THROWS_AS(accumulator.take(), ValueError);
        const std::vector<Tensor> g = gradient(0, 7);
        const Tensor before = g[0].clone();
        accumulator.add(g);
        accumulator.add(std::vector<Tensor>{Tensor(), unused}, 3);  // comes later
        CHECK(difference(g[0], before) == "");                      // not taken over
        CHECK_THROWS_AS(accumulator.add(std::vector<Tensor>{g[0]}), ShapeError);
        CHECK_THROWS_AS(accumulator.add(std::vector<Tensor>{unused, unused}), ShapeError);
        CHECK_THROWS_AS(accumulator.add(g, 0), ValueError);
        {  // weights whose sum, or whose inverse, is out of range
            GradientAccumulator far;
            far.add(g, 1e308);
            CHECK_THROWS_AS(far.add(g, 1e308), ValueError);
            CHECK(far.weight() == 1e308);
            CHECK_THROWS_AS(GradientAccumulator().add(g, 1e-310), ValueError);
        }
        const std::vector<Tensor> mean = accumulator.take();
        CHECK(difference(mean[0], g[0] * 0.25) == "");
        CHECK(difference(mean[1], unused * 0.75) == "");
    }
}

TEST_CASE("averages by hand, with and without correction") {
    for (const bool corrected : {false, true}) {
        Ema ema({.decay = 0.8, .bias_correction = corrected});
        Tensor p = Tensor::from(std::vector<double>{1, -2, 0.5}), q = randn(Key{3, 1}, {33});
        const std::vector<Tensor*> at{&p, &q};
        std::vector<double> e(3);
        CHECK_THROWS_AS(ema.values(), ValueError);
        for (int t = 1; t <= 6; ++t) {
            std::vector<double> w(3);
            for (size_t i = 0; i < 3; ++i) w[i] = std::sin(t + double(i));
            Tensor::from(w).copy_to(p);
            ema.update(at);
            for (size_t i = 0; i < 3; ++i) {
                if (t == 1 && !corrected) e[i] = w[i];
                e[i] = 0.8 * e[i] + (1 - 0.8) * w[i];
                const double average = corrected ? e[i] / (1 - std::pow(0.8, t)) : e[i];
                CHECK(ema.values()[0].to_vector<double>()[i] ==
                      doctest::Approx(average).epsilon(1e-14));
            }
        }
        // q stayed the same, so its average is q.
        CHECK(max(abs(ema.values()[1] - q)).item<double>() < 1e-6);
        const Tensor before = p.clone(), average = ema.values()[0];
        const uint32_t version = p.version();
        ema.swap_in(at);
        CHECK(difference(p, average) == "");
        CHECK(p.version() > version);
        CHECK_THROWS_AS(ema.swap_in(at), ValueError);
        CHECK_THROWS_AS(ema.update(at), InPlaceError);
        ema.swap_out(at);
        CHECK(difference(p, before) == "");
        CHECK(difference(ema.values()[0], average) == "");
        CHECK_THROWS_AS(ema.swap_out(at), ValueError);
        CHECK_THROWS_AS(ema.update(std::vector<Tensor*>{&p}), ShapeError);
        CHECK_THROWS_AS(ema.update(std::vector<Tensor*>{&q, &p}), ShapeError);
    }
    CHECK_THROWS_AS(Ema({.decay = 1}), ValueError);
}

TEST_CASE("averages go on from a file") {
    const test::TemporaryDirectory folder;
    for (const bool corrected : {false, true}) {
        const EmaOptions options{.decay = 0.9, .bias_correction = corrected};
        Ema one(options), two(options);
        Tensor p = randn(Key{4, 0}, {100}), q = randn(Key{4, 1}, {1}, DType::f64);
        const std::vector<Tensor*> at{&p, &q};
        for (uint64_t t = 0; t < 8; ++t) {
            randn(Key{5, t}, {100}).copy_to(p);
            one.update(at);
            if (t > 4) two.update(at);
            if (t != 4) continue;
            io::write_safetensors(folder / "e.safetensors", one.state());
            two.restore(io::Safetensors::open(folder / "e.safetensors").read_all());
        }
        for (size_t i = 0; i < 2; ++i) CHECK(difference(one.values()[i], two.values()[i]) == "");
        NamedTensors state = one.state();
        state["average.0"] = Tensor::zeros({3});
        CHECK_THROWS_AS(one.restore(state), ShapeError);
        state = one.state();
        state.erase("average.1");
        CHECK_THROWS_AS(one.restore(state), ShapeError);
        state["other"] = Tensor::zeros({1});
        CHECK_THROWS_AS(one.restore(state), ValueError);
        CHECK(difference(one.values()[0], two.values()[0]) == "");
        one.swap_in(at);
        CHECK_THROWS_AS(one.restore(two.state()), InPlaceError);
        one.swap_out(at);
    }
}

TEST_CASE("what cannot be averaged") {
    static_assert(!std::is_copy_constructible_v<Ema> && !std::is_copy_assignable_v<Ema>);
    static_assert(!std::is_copy_constructible_v<GradientAccumulator>);
    GradientAccumulator sums;
    const Tensor ones[] = {Tensor::ones({1})};
    sums.add(ones, 3);
    GradientAccumulator moved = std::move(sums);
    sums.add(ones);
    CHECK(sums.take()[0].item<float>() == 1);
    CHECK(moved.weight() == 3);
    Ema ema;
    NamedTensors state{{"step", Tensor::scalar(1, DType::i64)}};
    for (const DType dtype : {DType::boolean, DType::i32, DType::i64, DType::bf16}) {
        state["average.0"] = Tensor::ones({64}, dtype);
        CHECK_THROWS_AS(ema.restore(state), DTypeError);
    }
    state["average.0"] = Tensor::ones({64});
    state["step"] = Tensor::scalar(0, DType::i64);
    CHECK_THROWS_AS(ema.restore(state), ValueError);
    Tensor none, p = Tensor::ones({2});
    Tensor* const undefined[] = {&none};
    Tensor* const one[] = {&p};
    CHECK_THROWS_AS(ema.update(undefined), ValueError);
    ema.update(one);
    CHECK_THROWS_AS(ema.update(undefined), ValueError);
    {  // what the check refuses leaves the averages as they were
        const FiniteScope scope;
        Tensor bad = Tensor::full({2}, NAN);
        Tensor* const poisoned[] = {&bad};
        CHECK_THROWS_AS(ema.update(poisoned), NumericalError);
    }
    CHECK(ema.values()[0].to_vector<double>() == std::vector<double>{1, 1});
    Tensor wide = Tensor::ones({2}, DType::f64), half = Tensor::ones({2}, DType::bf16);
    for (Tensor* const other : {&wide, &half}) {
        Tensor* const at[] = {other};
        CHECK_THROWS_AS(ema.update(at), ShapeError);
    }
    state.erase("average.0");
    state["step"] = Tensor::scalar(3, DType::i64);
    CHECK_THROWS_AS(Ema().restore(state), ValueError);
}
