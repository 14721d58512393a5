// Products, variances and norms over every set of axes, also where elements are zero.
#include <algorithm>
#include <cmath>

#include "engine/random.h"
#include "tests/cases/families.h"
#include "tests/support/naive_reduce.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;
using oracle::reduced;

const auto plus = [](Real a, Real b) { return a + b; };
const auto times = [](Real a, Real b) { return a * b; };

Naive moments(const Naive& x, unsigned axes, bool keep, Real n, int64_t correction) {
    const Naive mean = reduced(x, axes, true, 0, [n](Real a, Real b) { return a + b / n; });
    Naive d = x;
    each(x.shape, [&](const Shape& i, size_t p) {
        d.at[p] = (x.at[p] - oracle::broadcast(mean, i)) * (x.at[p] - oracle::broadcast(mean, i));
    });
    Naive y = reduced(d, axes, keep, 0, plus);
    for (Real& v : y.at) v /= std::max<Real>(0, n - Real(correction));
    return y;
}

Naive norm(Naive x, unsigned axes, bool keep, Real p) {
    if (std::isinf(p)) {
        for (Real& v : x.at) v = std::abs(v);
        return reduced(x, axes, keep, 0, [](Real a, Real b) { return std::max(a, b); });
    }
    for (Real& v : x.at) v = p == 0 ? Real(v != 0) : std::pow(std::abs(v), p);
    Naive y = reduced(x, axes, keep, 0, plus);
    if (p > 0)
        for (Real& v : y.at) v = std::pow(v, 1 / p);
    return y;
}

void over_axes(std::vector<Case>& list, const Input& in, bool big) {
    const int rank = in.shape.rank();
    for (unsigned axes = 1; axes < (1u << rank); ++axes) {
        std::vector<int> named;
        int64_t n = 1;
        for (int a = 0; a < rank; ++a)
            if (axes & (1u << a)) {
                named.push_back(a % 2 ? a - rank : a);
                n *= in.shape[a];
            }
        const bool keep = axes % 2;
        const std::string tag = " axes " + std::to_string(axes);
        const double slack = 8 + 4 * std::sqrt(double(n));
        // Factors near 1, so that large products neither overflow nor vanish.
        list.push_back({describe("prod" + tag, {in}),
                        {in},
                        [=](Vars x) {
                            return prod(x[0] * (big ? 0.01 : 1.0) + (big ? 1.0 : 0.0), named, keep);
                        },
                        [=](Naives x) {
                            Naive y = x[0];
                            for (Real& v : y.at) v = big ? 1 + v / 100 : v;
                            return reduced(y, axes, keep, 1, times);
                        },
                        slack});
        if (n == 0) continue;
        for (int64_t correction : {0, 1}) {
            if (n <= correction) continue;
            list.push_back(
                {describe("var" + tag + " correction " + std::to_string(correction), {in}),
                 {in},
                 [=](Vars x) { return var(x[0] + 3.0, named, correction, keep); },
                 [=](Naives x) { return moments(x[0], axes, keep, Real(n), correction); },
                 6 * slack});  // x + 3 is rounded
        }
        if (n > 1)
            list.push_back({describe("stddev" + tag, {in}),
                            {in},
                            [=](Vars x) { return stddev(x[0], named, 1, keep); },
                            [=](Naives x) {
                                Naive y = moments(x[0], axes, keep, Real(n), 1);
                                for (Real& v : y.at) v = std::sqrt(v);
                                return y;
                            },
                            slack});
        for (double p : {0.0, 1.0, 2.0, 2.5, 3.0, HUGE_VAL}) {
            if (big && p > 2 && p <= 3) continue;
            Input away = in;
            if (p != 2) away.domain = Domain::nonzero;
            list.push_back({describe("norm_p" + tag + " p " + std::to_string(p), {in}),
                            {away},
                            [=](Vars x) { return norm_p(x[0], named, p, keep); },
                            [=](Naives x) { return norm(x[0], axes, keep, Real(p)); },
                            2 * slack});
        }
    }
}

// The inputs of make_inputs with zeros at every place that is a multiple of `period`, so that some lines hold one zero
// and some two; perturbed by gradcheck they are zeros no more.
Var punched(const Var& x, int period) {
    std::vector<double> mask(size_t(x.count()));
    for (size_t k = 0; k < mask.size(); k += size_t(period)) mask[k] = 1;
    const Tensor base = randn(Key{1, 0}, x.shape(), DType::f64) * Tensor::from(mask, x.shape());
    return x - Var(cast(base, x.dtype()));
}
Naive punched(Naive x, int period) {
    for (size_t k = 0; k < x.at.size(); k += size_t(period)) x.at[k] = 0;
    return x;
}

void with_zeros(std::vector<Case>& list, const Shape& shape, int period) {
    const std::vector<Input> in{{shape}};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::string tag =
            " zeros every " + std::to_string(period) + " axis " + std::to_string(axis);
        list.push_back(
            {describe("prod" + tag, in), in,
             [=](Vars x) { return prod(punched(x[0], period), {axis}); },
             [=](Naives x) { return reduced(punched(x[0], period), 1u << axis, false, 1, times); },
             16, true, true, false});
    }
    list.push_back({describe("prod zeros every " + std::to_string(period) + " all", in), in,
                    [=](Vars x) { return prod(punched(x[0], period)); },
                    [=](Naives x) {
                        return reduced(punched(x[0], period), (1u << shape.rank()) - 1, false, 1,
                                       times);
                    },
                    16, true, true, false});
}

// Numbers whose squares or cubes leave the range, and rows of zeros.
Case extreme_norm(double p, double scale) {
    const std::vector<Input> in{{{3, 40}}};
    return {describe("norm_p far p " + std::to_string(p) + " scale " + std::to_string(scale), in),
            in,
            [=](Vars x) {
                const bool wide = x[0].dtype() == DType::f64;
                const Tensor rows = Tensor::from(std::vector<double>{1, 0, 1}, {3, 1});
                return norm_p(x[0] * std::pow(wide ? 0x1p1000 : 0x1p120, scale) *
                                  cast(rows, x[0].dtype()),
                              {1}, p) *
                       std::pow(wide ? 0x1p1000 : 0x1p120, -scale);
            },
            [=](Naives x) {
                Naive y = norm(x[0], 2, false, Real(p));
                y.at[1] = 0;
                return y;
            },
            40,
            true,
            false,
            false};
}

}  // namespace

void add_statistics(std::vector<Case>& list, bool big) {
    if (big) {
        for (const Input& in :
             {Input{{50001}}, Input{{1301, 257}}, Input{{301, 257}, Layout::transposed},
              Input{{17, 129, 33}}, Input{{20000, 3}}})
            over_axes(list, in, true);
        return;
    }
    for (const Input& in : {Input{{0}}, Input{{1}}, Input{{7}}, Input{{17}}, Input{{33}},
                            Input{{3, 5}}, Input{{5, 3}, Layout::transposed}, Input{{2, 3, 4}},
                            Input{{2, 3, 4}, Layout::stepped}, Input{{3, 0}}})
        over_axes(list, in, false);
    for (int period : {2, 3, 7}) with_zeros(list, {3, 4}, period);
    with_zeros(list, {2, 3, 2}, 5);
    for (double p : {1.0, 2.0, 3.0, HUGE_VAL})
        for (double scale : {1.0, -1.0}) list.push_back(extreme_norm(p, scale));
    const std::vector<Input> same{{{3, 4}}};
    list.push_back({describe("stddev of equal numbers", same), same,
                    [](Vars x) { return stddev(x[0] * 0.0 + 2.0, {1}); },
                    [](Naives) { return oracle::make({3}); }});
}

}  // namespace cases
