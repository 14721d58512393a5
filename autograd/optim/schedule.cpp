#include "autograd/optim/schedule.h"

#include <algorithm>
#include <numbers>

#include "autograd/optim/check.h"

namespace mercer {
namespace {

/// From a to b as x goes from 0 to 1, by half a cosine.
double half_cosine(double a, double b, double x) {
    return b + (a - b) / 2 * (1 + std::cos(std::numbers::pi * x));
}

}  // namespace

Schedule constant_lr(double lr) {
    check_not_negative("constant_lr", "lr", lr);
    return [lr](int64_t) { return lr; };
}

Schedule step_lr(double lr, int64_t every, double factor) {
    check_not_negative("step_lr", "lr", lr);
    check_at_least("step_lr", "every", every, 1);
    check_positive("step_lr", "factor", factor);
    return [=](int64_t t) {
        const int64_t falls = t / every;
        return lr * std::pow(factor, double(falls));
    };
}

Schedule step_lr(double lr, std::vector<int64_t> milestones, double factor) {
    check_not_negative("step_lr", "lr", lr);
    check_positive("step_lr", "factor", factor);
    for (size_t i = 1; i < milestones.size(); ++i)
        check_at_least("step_lr", "milestones", milestones[i], milestones[i - 1]);
    return [=, milestones = std::move(milestones)](int64_t t) {
        const auto passed = std::upper_bound(milestones.begin(), milestones.end(), t);
        return lr * std::pow(factor, double(passed - milestones.begin()));
    };
}

Schedule cosine_lr(double lr, double least, int64_t period) {
    check_not_negative("cosine_lr", "lr", lr);
    check_not_negative("cosine_lr", "least", least);
    check_at_least("cosine_lr", "period", period, 1);
    return [=](int64_t t) {
        return half_cosine(lr, least, double(std::min(t, period)) / double(period));
    };
}

Schedule cosine_restarts_lr(double lr, double least, int64_t period, int64_t growth) {
    check_not_negative("cosine_restarts_lr", "lr", lr);
    check_not_negative("cosine_restarts_lr", "least", least);
    check_at_least("cosine_restarts_lr", "period", period, 1);
    check_at_least("cosine_restarts_lr", "growth", growth, 1);
    return [=](int64_t t) {
        int64_t length = period;
        if (growth == 1)
            t %= length;
        else
            while (t >= length) {
                t -= length;
                length = length > INT64_MAX / growth ? INT64_MAX : length * growth;
            }
        return half_cosine(lr, least, double(t) / double(length));
    };
}

Schedule transformer_lr(int64_t width, int64_t warm_up, double factor) {
    check_at_least("transformer_lr", "width", width, 1);
    check_at_least("transformer_lr", "warm_up", warm_up, 1);
    check_not_negative("transformer_lr", "factor", factor);
    const double scale = factor / std::sqrt(double(width)), slope = std::pow(double(warm_up), -1.5);
    return [=](int64_t t) {
        const double s = double(t + 1);
        return scale * std::min(1 / std::sqrt(s), s * slope);
    };
}

Schedule inverse_sqrt_lr(double peak, int64_t warm_up, double start) {
    check_not_negative("inverse_sqrt_lr", "peak", peak);
    check_at_least("inverse_sqrt_lr", "warm_up", warm_up, 0);
    check_not_negative("inverse_sqrt_lr", "start", start);
    return [=](int64_t t) {
        if (t < warm_up) return start + (peak - start) * double(t) / double(warm_up);
        const double from = double(std::max<int64_t>(warm_up, 1));
        return peak * std::sqrt(from / std::max(double(t), from));
    };
}

Schedule warmed_up(Schedule after, int64_t steps, double start) {
    check_at_least("warmed_up", "steps", steps, 0);
    check_option("warmed_up", "start", start, start >= 0 && start <= 1, "0 to 1");
    return [=, after = std::move(after)](int64_t t) {
        if (t >= steps) return after(t - steps);
        return after(0) * (start + (1 - start) * double(t) / double(steps));
    };
}

Schedule one_cycle_lr(double lr, int64_t total, const OneCycleOptions& options) {
    constexpr const char* name = "one_cycle_lr";
    check_not_negative(name, "lr", lr);
    check_at_least(name, "total", total, 1);
    check_option(name, "rising", options.rising,
                 options.rising >= 0 && options.rising <= (options.three_phases ? 0.5 : 1),
                 options.three_phases ? "0 to 0.5" : "0 to 1");
    check_positive(name, "start_divisor", options.start_divisor);
    check_positive(name, "final_divisor", options.final_divisor);
    const double n = double(total), top = options.rising * n - 1,
                 turn = options.three_phases ? 2 * top : n - 1, first = lr / options.start_divisor,
                 last = first / options.final_divisor;
    const bool linear = options.linear, three = options.three_phases;
    return [=](int64_t step) {
        const double t = std::min(double(step), n - 1);
        const auto between = [&](double a, double b, double from, double to) {
            const double x = to > from ? std::clamp((t - from) / (to - from), 0.0, 1.0) : 1;
            return linear ? a + (b - a) * x : half_cosine(a, b, x);
        };
        if (t <= top) return between(first, lr, 0, top);
        if (!three) return between(lr, last, std::max(top, 0.0), turn);
        if (t <= turn) return between(lr, first, std::max(top, 0.0), turn);
        return between(first, last, std::max(turn, 0.0), n - 1);
    };
}

}  // namespace mercer
