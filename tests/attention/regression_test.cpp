// Nadaraya–Watson as attention (D01–D04, D12; spec D.1, D.2).
#include "attention/smoother/reference.h"
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t n = 40;
constexpr Profile profiles[] = {Profile::gaussian,     Profile::boxcar,   Profile::triangular,
                                Profile::epanechnikov, Profile::biweight, Profile::triweight,
                                Profile::laplace,      Profile::constant};

// 2 sin x + x and noise, on [0, 5].
const Tensor points = Tensor::arange(n, DType::f64, 0.0, 5.0 / (n - 1));
Tensor column(const Tensor& x) { return reshape(x, {x.count(), 1}); }
Tensor xs() { return column(points); }
Tensor ys() { return sin(xs()) * 2.0 + xs() + sample(1, {n, 1}); }
Tensor at() { return column(Tensor::arange(60, DType::f64, 0.013, 5.0 / 61)); }

Var smoothed(Profile p, double h, const Tensor& queries) {
    return attend(queries, xs(), ys(), {.kernel = nadaraya_watson(p, h)});
}

}  // namespace

TEST_CASE("D01: the Gaussian one is a softmax, and all profiles are the quotient of sums") {
    for (const double h : {.1, .2, .5, 1.}) {
        const Var u = (Var(at()) - transpose(Var(xs()))) / h;
        CHECK(difference(smoothed(Profile::gaussian, h, at()),
                         matmul(softmax(square(u) * -0.5), ys())) < 1e-12);
        CHECK(difference(smoothed(Profile::laplace, h, at()), matmul(softmax(-abs(u)), ys())) <
              1e-12);
        const Var inside = relu(Var(Tensor::scalar(1, DType::f64)) - square(u));
        for (const auto& [p, power] : {std::pair{Profile::epanechnikov, 1},
                                       {Profile::biweight, 2},
                                       {Profile::triweight, 3}}) {
            const Var w = pow(inside, Var(Tensor::scalar(power, DType::f64)));
            CHECK(difference(smoothed(p, h, at()), matmul(w, ys()) / sum(w, {-1}, true)) < 1e-12);
        }
    }
}

TEST_CASE("D01: h to 0 interpolates, h to infinity averages") {
    const Tensor average = broadcast_to(mean(ys(), {0}, true), {60, 1}).contiguous();
    for (const Profile p : profiles) {
        CAPTURE(int(p));
        if (p != Profile::constant) {
            CHECK(largest(smoothed(p, 1e-5, xs()).value() - ys()) < 2e-15);  // w·y/w
            // between the points, the nearest one: weights of compact profiles are all zero there
            SmootherReport report;
            const Tensor between = xs() + 0.03;
            const Tensor near =
                attend(between, xs(), ys(), {.kernel = nadaraya_watson(p, 1e-5), .report = &report})
                    .value();
            CHECK(largest(near - ys()) < 2e-15);
            const bool log = p == Profile::gaussian || p == Profile::laplace;
            CHECK(report.fallbacks == (log ? 0 : n));
        }
        CHECK(difference(smoothed(p, 1e7, at()), average) < 1e-6);
    }
}

TEST_CASE("D03: the naive average is the constant kernel, whatever h") {
    const double average = mean(ys()).item<double>();
    for (const double h : {1e-3, 1., 50.}) {
        const Var out = smoothed(Profile::constant, h, at());
        for (const double y : out.value().to_vector<double>())
            CHECK(y == doctest::Approx(average).epsilon(1e-14));
    }
}

TEST_CASE("D02: a width w = 1/h is trained, and more of it means more confidence") {
    const Tensor queries = slice(at(), 0, 0, 4), keys = slice(xs(), 0, 0, 5),
                 values = slice(ys(), 0, 0, 5);
    check_gradients("width",
                    [&](std::span<const Var> x) {
                        const Var one = Tensor::scalar(1, DType::f64);
                        return attend(queries, keys, x[1], {.kernel = nadaraya_watson(one / x[0])});
                    },
                    {Tensor::scalar(3.0, DType::f64), values});
    // exp(−½((x − x_i)·w)²)
    const double w = 2.5;
    const Var u = (Var(at()) - transpose(Var(xs()))) * w;
    CHECK(difference(smoothed(Profile::gaussian, 1 / w, at()),
                     matmul(softmax(square(u) * -0.5), ys())) < 1e-12);
    Tensor before;
    for (const double width : {0.1, 0.5, 2., 8., 30.}) {
        const Tensor p =
            smoother_weights(at(), xs(), {.kernel = nadaraya_watson(1 / width)}).value();
        const Tensor sure = max(p, {-1});
        if (before.defined()) CHECK(min(sure - before).item<double>() > 0);
        before = sure;
    }
    // trained: gradient steps on the error of fresh points find a better width than they began with
    Tensor width = Tensor::scalar(1.0, DType::f64);
    double first = 0, last = 0;
    for (int step = 0; step < 60; ++step) {
        Tape tape;
        const Var at_width = tape.watch(width);
        const Var out =
            attend(at(), xs(), ys(),
                   {.kernel = nadaraya_watson(Var(Tensor::scalar(1, DType::f64)) / at_width)});
        const Var loss = mean(square(out - (sin(at()) * 2.0 + at())));
        (step == 0 ? first : last) = loss.item<double>();
        width = width - tape.gradient(loss, {at_width})[0];
    }
    CHECK(last < 0.8 * first);
}

TEST_CASE("D04: a phone book: an exact match is found as the temperature falls") {
    const Tensor keys = sample(2, {6, 4}), values = sample(3, {6, 2});
    const Tensor unit = keys / sqrt(sum(square(keys), {-1}, true));
    const auto ask = [&](const Kernel& kernel) {
        return smoother_weights(unit, unit, {.kernel = kernel}).value();
    };
    const Tensor one_hot_rows = Tensor::eye(6, -1, DType::f64);
    double before = infinity;
    for (const double t : {1., .3, .1, .03, .01}) {
        const double away = largest(ask(dot_product(1 / t)) - one_hot_rows);
        CHECK(away < before);
        before = away;
    }
    CHECK(largest(ask(dot_product(1e4)) - one_hot_rows) == 0);
    CHECK(largest(ask(cosine(1e4)) - one_hot_rows) == 0);
    CHECK(largest(ask(nadaraya_watson(1e-3)) - one_hot_rows) == 0);
    CHECK(largest(attend(unit, unit, values, {.kernel = dot_product(1e4)}).value() - values) <
          1e-15);  // w·y/w
    // twice in the book: half each
    const Tensor twice = concat({unit, unit}, 0);
    const Tensor halves = smoother_weights(unit, twice, {.kernel = dot_product(1e4)}).value();
    CHECK(largest(halves - concat({one_hot_rows, one_hot_rows}, 1) * 0.5) == 0);
}

TEST_CASE("D12: beta-Gaussian densities are the classical kernels") {
    // f = −t²/(2σ²) under entmax: p = [(α − 1)(f − A)]₊^{1/(α−1)} = c·[a² − t²]₊^{1/(α−1)}; as a
    // density on the line, K(t/a)/a with the radius a of the golden numbers G7 and G8.
    struct Golden {
        double alpha, radius;
        Profile profile;
    };
    const double s2 = .013;
    for (const Golden& g : {Golden{2, .26916063060436424, Profile::epanechnikov},
                            Golden{1.5, .302548910073457, Profile::biweight},
                            Golden{4. / 3, .3394244515033461, Profile::triweight}}) {
        const double power = 1 / (g.alpha - 1), a = g.radius;
        const Kernel kernel = nadaraya_watson(g.profile, a);
        for (const double t : {0., .01, .1, .2, .26, .3, .34, .4}) {
            const Var k = kernel.formula(1)(
                {Tensor::scalar(t * t, DType::f64), Tensor::scalar(a, DType::f64)});
            const double density =
                std::pow(std::max(0., (g.alpha - 1) / (2 * s2) * (a * a - t * t)), power);
            CHECK(k.item<double>() / a == doctest::Approx(density).epsilon(1e-11));
        }
    }
    // On points: entmax of the Gaussian's log weights is the classical kernel, of the bandwidth
    // that makes its threshold.
    const Tensor query = column(Tensor::full({1}, 2.3, DType::f64));
    for (const auto& [alpha, profile] : {std::pair{2., Profile::epanechnikov},
                                         {1.5, Profile::biweight},
                                         {4. / 3, Profile::triweight}}) {
        const double h = 0.8;
        const Tensor p =
            smoother_weights(query, xs(),
                             {.kernel = nadaraya_watson(h),
                              .normaliser = entmax_weights(Tensor::scalar(alpha, DType::f64))})
                .value();
        // p^{α−1} is affine in t²: (α − 1)/(2h²)·(a² − t²)
        const double top = max(p).item<double>();
        double nearest = infinity;
        for (const double x : points.to_vector<double>())
            nearest = std::min(nearest, std::abs(x - 2.3));
        const double a2 = nearest * nearest + std::pow(top, alpha - 1) * 2 * h * h / (alpha - 1);
        const Tensor classical =
            smoother_weights(query, xs(), {.kernel = nadaraya_watson(profile, std::sqrt(a2))})
                .value();
        CHECK(largest(p - classical) < 1e-12);
        CHECK(count_nonzero(p).item<int64_t>() < n);
    }
}
