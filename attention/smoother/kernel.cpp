#include "attention/smoother/kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/error.h"

const mercer::PointwiseOp& kernel_scaled();
const mercer::PointwiseOp& kernel_affine();
const mercer::PointwiseOp& kernel_square();
const mercer::PointwiseOp& kernel_cosine();

namespace mercer {
namespace {

using Norms = Kernel::Norms;

// √d, and 1 for vectors without elements, all of whose products are 0.
double root_of(int64_t d) { return std::sqrt(double(std::max<int64_t>(d, 1))); }

// A formula that reads the width: make(√d) is the lambda.
template <int inputs, class Make>
Kernel by_width(const char* name, Norms norms, Make make) {
    return {.name = name,
            .formula = [make](int64_t d) { return KernelFormula::of<inputs>(make(root_of(d))); },
            .norms = norms};
}

// log k = score·s + norm·‖k‖², both functions of √d.
template <class F>
Kernel affine(const char* name, F of_root) {
    const bool reads_norms = of_root(1.0).norm != 0;
    return {.name = name,
            .formula =
                [=](int64_t d) {
                    const KernelFormula::Affine a = of_root(root_of(d));
                    return reads_norms ? KernelFormula::of(kernel_affine(), {a.score, a.norm}, a)
                                       : KernelFormula::of(kernel_scaled(), {a.score}, a);
                },
            .norms = reads_norms ? Norms::key : Norms::none};
}
using Affine = KernelFormula::Affine;

template <class Make>
Kernel profile(const char* name, bool direct, Var h, Make f, bool squared = true) {
    return {.name = name,
            .formula = [f](int64_t) { return KernelFormula::of<2>(f); },
            .score = Kernel::Score::difference,
            .direct = direct,
            .parameters = {std::move(h)},
            .squared = squared};
}

// max(x, low)
constexpr auto at_least = [](auto x, double low) { return maximum(x, decltype(x)(low)); };
// √s, with slope 0 at s = 0, where it has a kink.
constexpr auto root = [](auto s) { return sqrt(at_least(s, 1e-30)); };
// [x]₊
constexpr auto positive = [](auto x) { return at_least(x, 0); };

}  // namespace

Var KernelFormula::operator()(std::vector<Var> operands) const {
    const DType dtype = operands.front().dtype();
    for (double c : constants_) operands.push_back(Tensor::scalar(c, dtype));
    const std::vector<const Var*> inputs = pointers_to(std::span<const Var>(operands));
    return record_pointwise(*op_, pointwise_rule(), inputs, &state_, sizeof state_);
}

Kernel dot_product() {
    return affine("dot_product", [](double root_d) { return Affine{1 / root_d, 0}; });
}
Kernel dot_product(double scale) {
    return affine("dot_product", [scale](double) { return Affine{scale, 0}; });
}
Kernel linear() {
    Kernel k = direct_kernel([](auto s) { return s; });
    k.name = "linear";
    return k;
}
Kernel polynomial(int degree, double offset, double scale) {
    if (degree < 1) throw ValueError("polynomial", "the degree is ", degree, "; give 1 or more");
    if (degree == 2)
        return {.name = "polynomial",
                .formula =
                    [scale, offset](int64_t) {
                        return KernelFormula::of(kernel_square(), {scale, offset});
                    },
                .direct = true};
    Kernel k = direct_kernel([degree, offset, scale](auto s) {
        const auto base = s * scale + offset;
        auto power = base;  // squared once for each binary digit
        for (int bit = std::bit_width(unsigned(degree)) - 2; bit >= 0; --bit) {
            power = power * power;
            if (degree >> bit & 1) power = power * base;
        }
        return power;
    });
    k.name = "polynomial";
    return k;
}
Kernel rbf() {
    return affine("rbf", [](double root_d) { return Affine{2 / root_d, -1 / root_d}; });
}
Kernel rbf_similarity() {
    return affine("rbf_similarity", [](double root_d) {
        return Affine{1 / root_d, -0.5 / root_d};
    });
}

Kernel expsin(double period) {
    if (!(period >= 1e-15))
        throw ValueError("expsin", "the period must be 1e-15 or more, got ", period);
    return by_width<3>("expsin", Norms::both, [period](double root_d) {
        return [factor = M_PI * M_PI / (period * period), root_d](auto s, auto a, auto b) {
            // sin²√y as a function of y, which is smooth at 0: its series there. Rounding times a large factor is far below
            // 0, or beyond the numbers.
            using N = decltype(s);
            const N y = minimum(at_least((a + b - s * 2.0) * factor, -0.01), N(1e38));
            const auto series =
                y * (1.0 - y * (1.0 / 3 - y * (2.0 / 45 - y * (1.0 / 315 - y * (2.0 / 14175)))));
            const auto sine = sin(sqrt(at_least(y, 0.01)));
            return select(y < 0.01, series, sine * sine) * (-2 / root_d) + (a + b) * (0.5 / root_d);
        };
    });
}

Kernel cosine(Var temperature) {
    return {.name = "cosine",
            .formula = [](int64_t) { return KernelFormula::of(kernel_cosine()); },
            .norms = Norms::both,
            .parameters = {std::move(temperature)}};
}

Kernel additive(Var w) {
    Kernel k = log_kernel([](auto s) { return s; });
    k.name = "additive";
    k.score = Kernel::Score::additive;
    k.parameters = {std::move(w)};
    return k;
}

Kernel nadaraya_watson(Profile shape, Var bandwidth) {
    constexpr const char* name = "nadaraya_watson";
    Var h = std::move(bandwidth);
    switch (shape) {
        case Profile::gaussian:
            return profile(name, false, h, [](auto s, auto w) { return s / (w * w * -2.0); });
        case Profile::laplace:
            return profile(
                name, false, h, [](auto s, auto w) { return -root(s) / w; }, false);
        case Profile::constant:
            return profile(
                name, false, h, [](auto s, auto w) { return (s + w) * 0.0; }, false);
        case Profile::boxcar:
            return profile(name, true, h, [](auto s, auto w) {
                return select(s <= w * w, s * 0.0 + 1.0, s * 0.0);
            });
        case Profile::triangular:
            return profile(
                name, true, h, [](auto s, auto w) { return positive(1.0 - root(s) / w); }, false);
        case Profile::epanechnikov:
            return profile(name, true, h,
                           [](auto s, auto w) { return positive(1.0 - s / (w * w)) * 0.75; });
        case Profile::biweight:
            return profile(name, true, h, [](auto s, auto w) {
                const auto u = positive(1.0 - s / (w * w));
                return u * u * (15.0 / 16);
            });
        case Profile::triweight: break;
    }
    return profile(name, true, h, [](auto s, auto w) {
        const auto u = positive(1.0 - s / (w * w));
        return u * u * u * (35.0 / 32);
    });
}

}  // namespace mercer
