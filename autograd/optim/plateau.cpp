#include "autograd/optim/plateau.h"

#include <algorithm>

#include "autograd/optim/check.h"

namespace mercer {
namespace {

constexpr const char* name = "plateau";

}  // namespace

Plateau::Plateau(const PlateauOptions& options)
    : options_(options),
      lr_(options.lr),
      best_(std::numeric_limits<double>::infinity() * (options.maximize ? -1 : 1)) {
    check_not_negative(name, "lr", options.lr);
    check_fraction(name, "factor", options.factor);
    check_not_negative(name, "least", options.least);
    check_at_least(name, "patience", options.patience, 0);
    check_at_least(name, "cooldown", options.cooldown, 0);
    check_not_negative(name, "threshold", options.threshold);
}

double Plateau::step(double score) {
    const double gain = options_.maximize ? score - best_ : best_ - score;
    const double needed =
        options_.threshold * (options_.relative && std::isfinite(best_) ? std::abs(best_) : 1);
    if (std::isinf(best_) ? std::isfinite(score) : gain > needed) {
        best_ = score;
        bad_ = 0;
    } else {
        ++bad_;
    }
    if (cooldown_ > 0) {
        --cooldown_;
        bad_ = 0;
    }
    if (bad_ > options_.patience) {
        lr_ = std::min(lr_, std::max(options_.factor * lr_, options_.least));
        cooldown_ = options_.cooldown;
        bad_ = 0;
    }
    return lr_;
}

NamedTensors Plateau::state() const {
    const auto count = [](int64_t n) { return Tensor::scalar(double(n), DType::i64); };
    return {{"lr", Tensor::scalar(lr_, DType::f64)},
            {"best", Tensor::scalar(best_, DType::f64)},
            {"bad", count(bad_)},
            {"cooldown", count(cooldown_)}};
}

void Plateau::restore(const NamedTensors& state) {
    StateReader reader(name, state);
    const double lr = reader.number("lr"), best = reader.number("best");
    const int64_t bad = reader.count("bad"), cooldown = reader.count("cooldown");
    reader.finish();
    check_not_negative(name, "'lr' of the state", lr);
    check_option(name, "'best' of the state", best, !std::isnan(best), "a number");
    lr_ = lr;
    best_ = best;
    bad_ = bad;
    cooldown_ = cooldown;
}

}  // namespace mercer
