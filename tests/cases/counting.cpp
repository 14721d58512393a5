// any, all, count_nonzero, argmax, argmin, and reductions of integers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cases/families.h"
#include "tests/support/naive_reduce.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;
using oracle::reduced;

Tensor coarse(const Var& x, DType dtype) {
    const Tensor whole = cast(x.value() * 1.5, DType::i32);
    return dtype == DType::boolean ? not_equal(whole, 0)
                                   : cast(whole, is_floating(dtype) ? x.dtype() : dtype);
}
Naive coarse(Naive x, DType dtype = DType::f64) {
    for (Real& v : x.at)
        v = dtype == DType::boolean ? Real(std::trunc(v * 1.5L) != 0) : std::trunc(v * 1.5L);
    return x;
}

using Axes = std::span<const int>;

void over_axes(std::vector<Case>& list, const Input& in) {
    constexpr Real inf = std::numeric_limits<Real>::infinity();
    const int rank = in.shape.rank();
    for (unsigned axes = 1; axes < (1u << rank); ++axes) {
        std::vector<int> named;
        int64_t n = 1;
        for (int a = 0; a < rank; ++a)
            if (axes & (1u << a)) named.push_back(a % 2 ? a - rank : a), n *= in.shape[a];
        const bool keep = axes % 2;
        const auto add = [&](const char* name, DType t, Tensor (*f)(const Var&, Axes, bool),
                             Real start, Real (*join)(Real, Real)) {
            list.push_back(
                {describe(std::string(name) + " of " + std::string(name_of(t)) + " axes " +
                              std::to_string(axes),
                          {in}),
                 {in},
                 [=](Vars x) { return f(Var(coarse(x[0], t)), named, keep); },
                 [=](Naives x) { return reduced(coarse(x[0], t), axes, keep, start, join); },
                 8,
                 true,
                 false});
        };
        for (DType t : {DType::f64, DType::i32, DType::i64, DType::boolean}) {
            add("any", t, any, 0, [](Real a, Real b) { return Real(a != 0 || b != 0); });
            add("all", t, all, 1, [](Real a, Real b) { return Real(a != 0 && b != 0); });
            add("count_nonzero", t, count_nonzero, 0,
                [](Real a, Real b) { return a + Real(b != 0); });
        }
        for (DType t : {DType::i32, DType::i64}) {
            add(
                "sum", t, [](const Var& x, Axes a, bool k) { return sum(x.value(), a, k); }, 0,
                [](Real a, Real b) { return a + b; });
            if (n == 0) continue;
            add(
                "max", t, [](const Var& x, Axes a, bool k) { return max(x.value(), a, k); }, -inf,
                [](Real a, Real b) { return std::max(a, b); });
            add(
                "min", t, [](const Var& x, Axes a, bool k) { return min(x.value(), a, k); }, inf,
                [](Real a, Real b) { return std::min(a, b); });
        }
    }
}

// The first index of the extremum along `axis` (-1: of all), of numbers with ties or with NaN.
template <bool largest>
Naive first_extremum(const Naive& x, int axis, bool keep) {
    Shape shape = x.shape;
    Naive best, at;
    const unsigned axes = axis < 0 ? (1u << shape.rank()) - 1 : 1u << axis;
    best = reduced(x, axes, true, std::nanl(""), [](Real a, Real) { return a; });
    at = best;
    std::vector<int64_t> seen(best.at.size());
    each(x.shape, [&](const Shape& i, size_t p) {
        Shape j = i;
        for (int a = 0; a < j.rank(); ++a)
            if (axes & (1u << a)) j[a] = 0;
        const size_t to = oracle::place(
            best.shape =
                [&] {
                    Shape s = x.shape;
                    for (int a = 0; a < s.rank(); ++a)
                        if (axes & (1u << a)) s[a] = 1;
                    return s;
                }(),
            j);
        Real& b = best.at[to];
        const Real v = x.at[p];
        const bool better =
            seen[to] == 0 || (!std::isnan(b) && (std::isnan(v) || (largest ? v > b : v < b)));
        if (better) b = v, at.at[to] = Real(seen[to]);
        ++seen[to];
    });
    at.shape = reduced(x, axes, keep, 0, [](Real a, Real) { return a; }).shape;
    return at;
}

template <bool largest>
void extrema(std::vector<Case>& list, const Input& in) {
    const std::string name = largest ? "argmax" : "argmin";
    for (int axis = -1; axis < in.shape.rank(); ++axis)
        for (DType t : {DType::f64, DType::i32, DType::i64, DType::f32}) {
            const bool nan = t == DType::f32;  // as floats, with NaN
            list.push_back(
                {describe(name + " of " + (nan ? "floats with nan" : std::string(name_of(t))) +
                              " axis " + std::to_string(axis),
                          {in}),
                 {in},
                 [=](Vars x) {
                     Tensor v = coarse(x[0], nan ? DType::f64 : t);
                     if (nan)
                         v = where(greater(x[0], 1.9), Tensor::scalar(std::nan(""), v.dtype()), v);
                     const Var y(v);
                     if (axis < 0) return largest ? argmax(y) : argmin(y);
                     return largest ? argmax(y, axis, axis % 2) : argmin(y, axis, axis % 2);
                 },
                 [=](Naives x) {
                     Naive v = coarse(x[0]);
                     if (nan)
                         for (size_t k = 0; k < v.at.size(); ++k)
                             if (x[0].at[k] > 1.9L) v.at[k] = std::nanl("");
                     return first_extremum<largest>(v, axis, axis >= 0 && axis % 2);
                 },
                 8,
                 true,
                 false});
        }
}

}  // namespace

void add_counting(std::vector<Case>& list, bool big) {
    const std::vector<Input> small{{{0}},
                                   {{1}},
                                   {{7}},
                                   {{33}},
                                   {{70}},
                                   {{3, 5}},
                                   {{5, 3}, Layout::transposed},
                                   {{2, 3, 4}, Layout::stepped},
                                   {{3, 0}},
                                   {{3, 9}, Layout::expanded}},
        large{{{50001}}, {{301, 257}, Layout::transposed}, {{17, 129, 33}}, {{20000, 3}}};
    for (const Input& in : big ? large : small) {
        over_axes(list, in);
        if (oracle::total(in.shape) == 0) continue;
        extrema<true>(list, in);
        extrema<false>(list, in);
    }
}

}  // namespace cases
