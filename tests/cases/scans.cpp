// Scans along every axis, in both directions.
#include <cmath>

#include "engine/random.h"
#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

// y[i] = step(y before i, i) along `axis`.
Naive scanned(const Shape& shape, int axis, bool reverse,
              const std::function<Real(Real, size_t)>& step) {
    Naive y = oracle::make(shape);
    const int64_t n = shape[axis];
    each(shape, [&](const Shape& i, size_t) {
        if (i[axis] != 0) return;
        Real state = 0;
        Shape at = i;
        for (int64_t t = 0; t < n; ++t) {
            at[axis] = reverse ? n - 1 - t : t;
            const size_t p = oracle::place(shape, at);
            y.at[p] = state = step(t ? state : std::nanl(""), p);
        }
    });
    return y;
}
// What stood one step before, `fill` first.
Naive delayed(const Naive& y, int axis, bool reverse, Real fill) {
    Naive z = y;
    each(y.shape, [&](const Shape& i, size_t p) {
        Shape at = i;
        at[axis] += reverse ? 1 : -1;
        z.at[p] =
            at[axis] < 0 || at[axis] >= y.shape[axis] ? fill : y.at[oracle::place(y.shape, at)];
    });
    return z;
}

// The extremum so far, of x or of whole numbers (NaN for 3), or where it stood.
enum class Kind { numbers, ties, nan, i32 };
constexpr const char* kind_names[] = {"", " with ties", " with NaN", " of i32"};
Naive running(const Naive& x, int axis, bool reverse, bool largest, Kind kind, bool where) {
    const auto value = [&](size_t p) {
        if (kind == Kind::numbers) return x.at[p];
        const Real whole = std::trunc(x.at[p] * 2);
        return kind == Kind::nan && whole == 3 ? std::nanl("") : whole;
    };
    const int64_t n = x.shape[axis], step = oracle::place(x.shape, [&] {
                                         Shape one = Shape::filled(x.shape.rank(), 0);
                                         one[axis] = n > 1;
                                         return one;
                                     }());
    Real place = 0;
    Naive y = oracle::make(x.shape);
    const Naive values = scanned(x.shape, axis, reverse, [&](Real s, size_t p) {
        const Real v = value(p);
        const int64_t t = n > 1 ? int64_t(p) / step % n : 0;
        const bool first = t == (reverse ? n - 1 : 0);
        const bool taken =
            first || std::isnan(v) || (!std::isnan(s) && (largest ? v >= s : v <= s));
        y.at[p] = place = taken ? Real(t) : place;
        return taken ? v : s;
    });
    return where ? y : values;
}
Var prepared(const Var& x, Kind kind) {
    if (kind == Kind::numbers) return x;
    const Tensor whole = cast(x.value() * 2.0, DType::i32);
    if (kind == Kind::i32) return whole;
    const Tensor v = cast(whole, x.dtype());
    return kind == Kind::ties ? v
                              : where(equal(v, 3.0), Tensor::scalar(std::nan(""), x.dtype()), v);
}

void extrema(std::vector<Case>& list, const Input& in, int axis) {
    for (bool largest : {true, false})
        for (bool reverse : {false, true})
            for (Kind kind : {Kind::numbers, Kind::ties, Kind::nan, Kind::i32})
                for (bool where : {false, true}) {
                    if (kind == Kind::nan && !where) continue;  // NaN is unequal to the oracle's
                    const auto f = [=](const Var& x) -> Var {
                        const auto [values, at] =
                            largest ? cummax(x, axis, reverse) : cummin(x, axis, reverse);
                        return where ? Var(at) : values;
                    };
                    const bool smooth = kind == Kind::numbers && !where;
                    list.push_back(
                        {describe(std::string(largest ? "cummax" : "cummin") +
                                      (where ? " places" : "") + kind_names[int(kind)] + " axis " +
                                      std::to_string(axis) + (reverse ? " reverse" : ""),
                                  {in}),
                         {in},
                         [=](Vars x) { return f(prepared(x[0], kind)); },
                         [=](Naives x) {
                             return running(x[0], axis, reverse, largest, kind, where);
                         },
                         0,
                         true,
                         smooth && in.shape[axis] <= 33});  // close neighbours are kinks
                }
}

void over_axes(std::vector<Case>& list, const Input& in, bool big) {
    for (int axis = 0; axis < in.shape.rank(); ++axis) extrema(list, in, axis);
    for (int axis = 0; axis < in.shape.rank(); ++axis)
        for (int flags = 0; flags < 4; ++flags) {
            const bool exclusive = flags & 1, reverse = flags & 2;
            const std::string tag = " axis " + std::to_string(axis) +
                                    (exclusive ? " exclusive" : "") + (reverse ? " reverse" : "");
            const double n = double(in.shape[axis]), slack = 8 + 2 * std::sqrt(n);
            list.push_back({describe("cumsum" + tag, {in}),
                            {in},
                            [=](Vars x) { return cumsum(x[0], axis, exclusive, reverse); },
                            [=](Naives x) {
                                const Naive y =
                                    scanned(x[0].shape, axis, reverse, [&](Real s, size_t p) {
                                        return std::isnan(s) ? x[0].at[p] : s + x[0].at[p];
                                    });
                                return exclusive ? delayed(y, axis, reverse, 0) : y;
                            },
                            slack});
            list.push_back(
                {describe("cumprod" + tag, {in}),
                 {in},
                 [=](Vars x) {
                     return cumprod(big ? x[0] * 0.01 + 1.0 : x[0], axis, exclusive, reverse);
                 },
                 [=](Naives x) {
                     const Naive y = scanned(x[0].shape, axis, reverse, [&](Real s, size_t p) {
                         const Real v = big ? 1 + x[0].at[p] / 100 : x[0].at[p];
                         return std::isnan(s) ? v : s * v;
                     });
                     return exclusive ? delayed(y, axis, reverse, 1) : y;
                 },
                 2 * slack});
            if (exclusive) continue;
            list.push_back(
                {describe("linear_recurrence" + tag, {in, in}),
                 {in, in},
                 [=](Vars x) { return linear_recurrence(x[0] * 0.4, x[1], axis, reverse); },
                 [=](Naives x) {
                     return scanned(x[0].shape, axis, reverse, [&](Real s, size_t p) {
                         return std::isnan(s) ? x[1].at[p] : x[0].at[p] * 0.4L * s + x[1].at[p];
                     });
                 },
                 4 * slack});
        }
}

}  // namespace

void add_scans(std::vector<Case>& list, bool big) {
    if (big) {
        for (const Input& in : {Input{{50001}}, Input{{5, 40000}}, Input{{301, 257}},
                                Input{{301, 257}, Layout::transposed}, Input{{17, 129, 33}}})
            over_axes(list, in, true);
        return;
    }
    for (const Input& in :
         {Input{{0}}, Input{{1}}, Input{{7}}, Input{{16}}, Input{{17}}, Input{{33}}, Input{{3, 5}},
          Input{{5, 3}, Layout::transposed}, Input{{2, 3, 4}}, Input{{3, 4}, Layout::reversed}})
        over_axes(list, in, false);
    for (int flags = 0; flags < 4; ++flags) {
        const bool exclusive = flags & 1, reverse = flags & 2;
        const std::vector<Input> in{{{3, 4}}};
        const std::vector<double> holes{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1};
        list.push_back({describe("cumprod with zeros " + std::to_string(flags), in), in,
                        [=](Vars x) {  // zeros that gradcheck moves
                            const Tensor base =
                                randn(Key{1, 0}, {3, 4}, DType::f64) * Tensor::from(holes, {3, 4});
                            return cumprod(x[0] - Var(cast(base, x[0].dtype())), 1, exclusive,
                                           reverse);
                        },
                        [=](Naives x) {
                            const Naive y = scanned({3, 4}, 1, reverse, [&](Real s, size_t p) {
                                const Real v = holes[p] != 0 ? 0 : x[0].at[p];
                                return std::isnan(s) ? v : s * v;
                            });
                            return exclusive ? delayed(y, 1, reverse, 1) : y;
                        },
                        16, true, true, false});
        list.push_back({describe("cumsum of integers " + std::to_string(flags), in), in,
                        [=](Vars x) {
                            return cumsum(cast(x[0].value() * 3.0, DType::i64), 1, exclusive,
                                          reverse);
                        },
                        [=](Naives x) {
                            const Naive y = scanned({3, 4}, 1, reverse, [&](Real s, size_t p) {
                                const Real v = std::trunc(x[0].at[p] * 3);
                                return std::isnan(s) ? v : s + v;
                            });
                            return exclusive ? delayed(y, 1, reverse, 0) : y;
                        },
                        8, true, false});
    }
}

}  // namespace cases
