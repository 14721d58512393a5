// Bandwidths by leave-one-out, by grid and by gradient, against loops in long double.
#include "attention/smoother/bandwidth.h"

#include "tests/attention/position_support.h"
#include "tests/support/restore.h"

using namespace mercer;
using namespace mercer::test;

namespace {

long double weight(Profile profile, long double u) {
    const long double p = std::max(0.0L, 1 - u * u);
    switch (profile) {
        case Profile::gaussian: return std::exp(-u * u / 2);
        case Profile::boxcar: return u <= 1;
        case Profile::triangular: return std::max(0.0L, 1 - u);
        case Profile::epanechnikov: return p;
        case Profile::biweight: return p * p;
        case Profile::triweight: return p * p * p;
        case Profile::laplace: return std::exp(-u);
        case Profile::constant: break;
    }
    return 1;
}

constexpr Profile profiles[] = {Profile::gaussian,     Profile::boxcar,   Profile::triangular,
                                Profile::epanechnikov, Profile::biweight, Profile::triweight,
                                Profile::laplace,      Profile::constant};

// The error and how often a neighbourhood was empty.
std::pair<double, int64_t> naive(const Tensor& x, const Tensor& y, Profile profile, double h) {
    const At xs(unsqueeze(x, 0)), ys(unsqueeze(y, 0));
    const int64_t n = x.size(0);
    long double error = 0;
    int64_t fallbacks = 0;
    for (int64_t i = 0; i < n; ++i) {
        long double total = 0, nearest = infinity;
        int64_t closest = -1;
        std::vector<long double> out(size_t(y.size(1)), 0);
        for (int64_t j = 0; j < n; ++j) {
            if (j == i) continue;
            long double s = 0;
            for (int64_t c = 0; c < x.size(1); ++c)
                s += std::pow((long double)xs(0, 0, i, c) - xs(0, 0, j, c), 2);
            if (s < nearest) nearest = s, closest = j;
            const long double w = weight(profile, std::sqrt(s) / h);
            total += w;
            for (size_t c = 0; c < out.size(); ++c) out[c] += w * ys(0, 0, j, int64_t(c));
        }
        fallbacks += total == 0;
        for (size_t c = 0; c < out.size(); ++c) {
            const long double at = total == 0 ? ys(0, 0, closest, int64_t(c)) : out[c] / total;
            error += std::pow(ys(0, 0, i, int64_t(c)) - at, 2);
        }
    }
    return {double(error / n), fallbacks};
}

// The tutorial's task (spec D.1): 40 noisy points of 2 sin x + x.
struct Task {
    Tensor x = uniform(Key{31, 1}, {40, 1}, DType::f64, 0, 5);
    Tensor y = sin(x) * 2.0 + x + randn(Key{31, 2}, {40, 1}, DType::f64);
};

}  // namespace

TEST_CASE("leave-one-out equals leaving each out, every profile, any dimension") {
    for (const int64_t n : {2, 7, 64, 150})  // blocks of 64 rows
        for (const auto& [d, values] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}}) {
            const Tensor x = sample(uint64_t(n), {n, d}), y = sample(uint64_t(n) + 1, {n, values});
            for (const Profile p : profiles)
                for (const double h : {0.02, 0.3, 1.0, 5.0}) {
                    const auto [error, fallbacks] = naive(x, y, p, h);
                    const LeaveOneOut got = leave_one_out(x, y, h, p);
                    CAPTURE(int(p));
                    CAPTURE(h);
                    CHECK(got.error == doctest::Approx(error).epsilon(1e-12));
                    // exp(−u) and exp(−u²/2) are weighed by their logarithms: never all zero
                    const bool log = p == Profile::gaussian || p == Profile::laplace;
                    CHECK(got.fallbacks == (log ? 0 : fallbacks));
                }
        }
    const Tensor x = sample(3, {9, 1});
    CHECK(leave_one_out(cast(x, DType::f32), x, 1).error ==
          doctest::Approx(leave_one_out(x, x, 1).error).epsilon(1e-6));
}

TEST_CASE("the filter hides the diagonal, by tiles too") {
    for (const int64_t offset : {0, 3, -2}) {
        const Filter f = others(offset);
        for (int64_t i = 0; i < 9; ++i)
            for (int64_t j = 0; j < 9; ++j) {
                CHECK(f.rule()->sees({0, 0, i, j}) == (j != i + offset));
                for (const int64_t size : {1, 3}) {
                    const FilterTile t{0, 0, i, size, j, size};
                    bool seen[9];
                    f.rule()->mark(t, seen);
                    int64_t count = 0;
                    for (int64_t c = 0; c < size * size; ++c) {
                        CHECK(seen[c] == (j + c % size != i + c / size + offset));
                        count += seen[c];
                    }
                    CHECK(f.classify(t) == (count == 0             ? TileClass::empty
                                            : count == size * size ? TileClass::full
                                                                   : TileClass::partial));
                }
            }
    }
}

TEST_CASE("the slope in log h is that of the error, and boxcars have none") {
    const Task task;
    for (const Profile p : profiles) {
        if (p == Profile::boxcar || p == Profile::constant) {
            CHECK_THROWS_AS(leave_one_out_slope(task.x, task.y, 1, p), ValueError);
            CHECK_THROWS_AS(learn_bandwidth(task.x, task.y, 1, p), ValueError);
            continue;
        }
        for (const double h : {0.2, 0.7, 2.0}) {
            const double e = 1e-5;
            const auto at = [&](double t) {
                return leave_one_out(task.x, task.y, h * std::exp(t), p).error;
            };
            const double slope = (at(-2 * e) - 8 * at(-e) + 8 * at(e) - at(2 * e)) / (12 * e);
            const LeaveOneOut got = leave_one_out_slope(task.x, task.y, h, p);
            // A triangle's kinks in the stencil leave first-order errors.
            CHECK(got.slope ==
                  doctest::Approx(slope).epsilon(p == Profile::triangular ? 1e-3 : 1e-6));
            CHECK(got.error == doctest::Approx(at(0)).epsilon(1e-14));
            CHECK(got.fallbacks == leave_one_out(task.x, task.y, h, p).fallbacks);
        }
    }
}

TEST_CASE("the chosen bandwidth is the least of a fine grid, with every profile") {
    const Task task;
    for (const Profile p : profiles) {
        CAPTURE(int(p));
        const BandwidthChoice choice = choose_bandwidth(task.x, task.y, {.profile = p});
        const LeaveOneOut at = leave_one_out(task.x, task.y, choice.bandwidth, p);
        CHECK(choice.rmse == std::sqrt(at.error));
        CHECK(choice.fallbacks == at.fallbacks);
        REQUIRE(choice.tried.size() == 60);
        for (size_t i = 0; i < 60; ++i) {
            CHECK(choice.rmse <= choice.tried_rmse[i]);
            CHECK(choice.tried_rmse[i] ==
                  std::sqrt(leave_one_out(task.x, task.y, choice.tried[i], p).error));
        }
        // smooth errors have no lower place that the grid did not see
        const bool smooth = p == Profile::gaussian || p == Profile::laplace;
        for (double h = choice.tried.front(); smooth && h < choice.tried.back(); h *= 1.05)
            CHECK(choice.rmse <= std::sqrt(leave_one_out(task.x, task.y, h, p).error) + 1e-9);
    }
    // one's own grid, in three dimensions
    const Tensor x = sample(5, {70, 3}), y = sum(square(x), {-1}, true);
    const BandwidthChoice own =
        choose_bandwidth(x, y, {.points = 9, .low = 0.1, .high = 10, .refinements = 30});
    CHECK(own.tried.front() == doctest::Approx(0.1));
    CHECK(own.tried.back() == doctest::Approx(10));
    CHECK(own.tried[4] == doctest::Approx(1));
    CHECK(own.rmse < std::ranges::min(own.tried_rmse));
}

TEST_CASE("by gradient: where the slope is zero, and what the grid finds from near it") {
    const Task task;
    for (const Profile p : profiles) {
        if (p == Profile::boxcar || p == Profile::constant) continue;
        CAPTURE(int(p));
        const BandwidthChoice choice = choose_bandwidth(task.x, task.y, {.profile = p});
        const LearnedBandwidth learned = learn_bandwidth(task.x, task.y, choice.bandwidth * 1.1, p);
        CHECK(learned.converged);
        CHECK(learned.rmse <=
              std::sqrt(leave_one_out(task.x, task.y, choice.bandwidth * 1.1, p).error));
        CHECK(learned.fallbacks == leave_one_out(task.x, task.y, learned.bandwidth, p).fallbacks);
        if (p != Profile::gaussian && p != Profile::laplace) continue;  // others have kinks
        CHECK(learned.bandwidth == doctest::Approx(choice.bandwidth).epsilon(1e-4));
        CHECK(learned.rmse <= choice.rmse * (1 + 1e-10));
        const LeaveOneOut at = leave_one_out_slope(task.x, task.y, learned.bandwidth, p);
        CHECK(std::abs(at.slope) < 1e-6 * at.error);
    }
    // from afar too, whatever the unit of the values
    const double h = choose_bandwidth(task.x, task.y).bandwidth;
    for (const double unit : {1e-6, 1.0, 1e6})
        for (const double start : {h / 3, h * 3})
            CHECK(learn_bandwidth(task.x, task.y * unit, start).bandwidth ==
                  doctest::Approx(h).epsilon(1e-4));
    CHECK_FALSE(learn_bandwidth(task.x, task.y, 3 * h, Profile::gaussian, 1).converged);
}

TEST_CASE("points of any size: nothing is squared out of range") {
    const Task task;
    const BandwidthChoice usual = choose_bandwidth(task.x, task.y);
    const auto near = [](double x) { return doctest::Approx(x).epsilon(1e-9); };
    const auto with = [](const Tensor& t, double x) {
        const Tensor both[] = {t, Tensor::full({1, 1}, x, DType::f64)};
        return concat(both, 0);
    };
    for (const double unit : {std::exp2(-600), std::exp2(1000)}) {
        const Tensor x = task.x * unit;
        const BandwidthChoice choice = choose_bandwidth(x, task.y);
        CHECK(choice.bandwidth / unit == near(usual.bandwidth));
        CHECK(choice.rmse == near(usual.rmse));
        CHECK(choice.tried.back() / unit == near(usual.tried.back()));
        CHECK(leave_one_out_slope(x, task.y, 0.7 * unit).slope ==
              near(leave_one_out_slope(task.x, task.y, 0.7).slope));
        CHECK(learn_bandwidth(x, task.y, unit).bandwidth / unit ==
              near(learn_bandwidth(task.x, task.y, 1).bandwidth));
        CHECK(leave_one_out(x, task.y, 1e-300).error ==
              near(leave_one_out(x, task.y, 1e-320).error));
    }
    // Bandwidths as far as doubles go weigh all points alike.
    const double most = std::numeric_limits<double>::max(),
                 alike = leave_one_out(task.x, task.y, 1e9).error;
    for (const double far : {1e120, 1e308, most}) {
        const BandwidthChoice choice =
            choose_bandwidth(task.x, task.y, {.points = 400, .low = .1, .high = far});
        CHECK(choice.bandwidth == doctest::Approx(usual.bandwidth).epsilon(1e-2));
        CHECK(choice.tried.back() == doctest::Approx(far));
        CHECK(choice.tried_rmse.back() == near(std::sqrt(alike)));
        for (const Profile p : {Profile::gaussian, Profile::triweight, Profile::laplace}) {
            const LearnedBandwidth stays = learn_bandwidth(task.x, task.y, far, p);
            CHECK((stays.converged && stays.bandwidth == doctest::Approx(far)));
        }
    }
    // Two so near to each other that a quarter of their distance has no square.
    for (const double unit : {1.0, std::exp2(-600), std::exp2(1000)})
        CHECK(
            choose_bandwidth(with(with(task.x * unit, 0), unit * 1e-160), with(with(task.y, 1), 1))
                .bandwidth > 0);
    // Far from 0 and close together.
    const Tensor at = Tensor::linspace(0, 39, 40, DType::f64) * std::exp2(-22);
    const Tensor x = unsqueeze(at, 1),
                 y = unsqueeze(sin(Tensor::linspace(0, 19.5, 40, DType::f64)), 1);
    for (const Profile p : {Profile::laplace, Profile::triangular, Profile::gaussian})
        CHECK(leave_one_out(x + std::exp2(30), y, std::exp2(-21), p).error ==
              leave_one_out(x, y, std::exp2(-21), p).error);
}

TEST_CASE("the same choice for any number of threads") {
    const Restore restore;
    const Task task;
    set_thread_count(1);
    const BandwidthChoice one = choose_bandwidth(task.x, task.y);
    set_thread_count(2);
    const BandwidthChoice two = choose_bandwidth(task.x, task.y);
    CHECK(one.bandwidth == two.bandwidth);
    CHECK(one.tried_rmse == two.tried_rmse);
}

TEST_CASE("bandwidths of what cannot be smoothed") {
    const Tensor x = sample(6, {4, 2}), y = sample(7, {4, 1});
    CHECK_THROWS_AS(leave_one_out(x, sample(7, {3, 1}), 1), ShapeError);
    CHECK_THROWS_AS(leave_one_out(x, sample(7, {4}), 1), ShapeError);
    CHECK_THROWS_AS(leave_one_out(slice(x, 0, 0, 1), slice(y, 0, 0, 1), 1), ValueError);
    for (const double h : {0.0, -1.0, double(NAN)})
        CHECK(message_of<ValueError>([&] {
                  leave_one_out(x, y, h);
              }).starts_with("[leave_one_out] the bandwidth"));
    CHECK_THROWS_AS(choose_bandwidth(Tensor::ones({4, 2}), y), ValueError);
    for (const double bad : {double(NAN), double(INFINITY)}) {
        CHECK_THROWS_AS(leave_one_out(x * bad, y, 1), ValueError);
        CHECK_THROWS_AS(choose_bandwidth(x * bad, y), ValueError);
        CHECK_THROWS_AS(choose_bandwidth(x, y * bad), ValueError);
    }
    CHECK_THROWS_AS(choose_bandwidth(x, y, {.points = 0}), ValueError);
    CHECK_THROWS_AS(choose_bandwidth(x, y, {.low = 2, .high = 1}), ValueError);
    CHECK_THROWS_AS(learn_bandwidth(x, y, 0), ValueError);
    const std::string said =
        message_of<ValueError>([&] { learn_bandwidth(x, y, 1, Profile::boxcar); });
    for (const char* part : {"[learn_bandwidth]", "boxcar", "choose_bandwidth"})
        CHECK_MESSAGE(said.find(part) != std::string::npos, said);
}
