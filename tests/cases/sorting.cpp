// sort, argsort, topk and searchsorted along every axis: random numbers, few different ones (stability), NaN, integers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

enum class Kind { numbers, coarse, nan, i32, i64 };
constexpr const char* kind_names[] = {"numbers", "with ties", "with NaN", "of i32", "of i64"};

Var prepared(const Var& x, Kind kind) {
    if (kind == Kind::numbers) return x;
    const Tensor whole = cast(x.value() * 1.5, kind == Kind::i32 ? DType::i32 : DType::i64);
    if (kind == Kind::i32 || kind == Kind::i64) return whole;
    const Tensor ties = cast(whole, x.dtype());
    return kind == Kind::coarse
               ? ties
               : where(greater(x, 0.9), Tensor::scalar(std::nan(""), x.dtype()), -ties);  // −0 too
}
Naive prepared(Naive x, Kind kind) {
    for (Real& v : x.at) {
        const Real whole = std::trunc(v * 1.5L);
        if (kind == Kind::nan)
            v = v > 0.9L ? std::nanl("") : -whole;
        else if (kind != Kind::numbers)
            v = whole;
    }
    return x;
}

// The first k indices (or elements) of every line in order.
Naive ordered(const Naive& x, int axis, int64_t k, bool descending, bool elements) {
    Shape shape = x.shape;
    shape[axis] = k;
    Naive y = oracle::make(shape);
    each(x.shape, [&](const Shape& start, size_t) {
        if (start[axis] != 0) return;
        Shape at = start;
        std::vector<Real> line;
        for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis])
            line.push_back(x.at[oracle::place(x.shape, at)]);
        std::vector<size_t> order(line.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            if (std::isnan(line[a]) || std::isnan(line[b]))
                return !std::isnan(line[a]) && std::isnan(line[b]);
            return descending ? line[a] > line[b] : line[a] < line[b];
        });
        for (int64_t i = 0; i < k; ++i) {
            at[axis] = i;
            y.at[oracle::place(shape, at)] =
                elements ? line[order[size_t(i)]] : Real(order[size_t(i)]);
        }
    });
    return y;
}

void over_axes(std::vector<Case>& list, const Input& in, bool big) {
    for (int axis = 0; axis < in.shape.rank(); ++axis)
        for (Kind kind : {Kind::numbers, Kind::coarse, Kind::nan, Kind::i32, Kind::i64})
            for (bool descending : {false, true}) {
                if (big && kind == Kind::coarse) continue;
                const std::string tag = std::string(" ") + kind_names[int(kind)] + " axis " +
                                        std::to_string(axis) + (descending ? " descending" : "");
                const bool smooth = kind == Kind::numbers;
                const int64_t n = in.shape[axis];
                const auto add = [&](const std::string& name, int64_t k,
                                     std::function<Var(const Var&)> f, bool elements) {
                    list.push_back({describe(name + tag, {in}),
                                    {in},
                                    [=](Vars x) { return f(prepared(x[0], kind)); },
                                    [=](Naives x) {
                                        return ordered(prepared(x[0], kind), axis, k, descending,
                                                       elements);
                                    },
                                    0,
                                    true,
                                    smooth && elements && n <= 33});  // close neighbours are kinks
                };
                add(
                    "argsort", n, [=](const Var& x) { return argsort(x, axis, descending); },
                    false);
                if (kind !=
                    Kind::nan)  // NaN is unequal to the oracle's; its places are checked above
                    add(
                        "sort", n, [=](const Var& x) { return sort(x, axis, descending).first; },
                        true);
                for (int64_t k : {int64_t{1}, int64_t{9}, n / 3, n}) {
                    if (k > n || (big && k > 100)) continue;
                    if (!smooth &&
                        ((k != n / 3 && k != 9) || kind == Kind::coarse || kind == Kind::i32))
                        continue;  // the order is argsort's: its cases have the rest
                    const std::string name = "topk " + std::to_string(k);
                    add(
                        name + " indices", k,
                        [=](const Var& x) { return topk(x, k, axis, descending).second; }, false);
                    if (kind != Kind::nan)
                        add(
                            name, k,
                            [=](const Var& x) { return topk(x, k, axis, descending).first; }, true);
                }
            }
}

// Lists in order, the last numbers of them doubled and NaN behind, each searched by its own row; or one by all.
void searches(std::vector<Case>& list, const Input& in, bool rows) {
    const int64_t n = 9, outer = rows ? in.shape[0] : 1;
    std::vector<double> at;
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t k = 0; k < n; ++k)
            at.push_back(k == n - 1 ? std::nan("")
                                    : std::floor(double(k) / 2) - 2 + double(o) * 0.5);
    const Tensor lists = Tensor::from(at, rows ? Shape{outer, n} : Shape{n});
    for (bool right : {false, true})
        for (Kind kind : {Kind::numbers, Kind::nan, Kind::i64})
            list.push_back({describe(std::string("searchsorted ") + kind_names[int(kind)] +
                                         (rows ? " by rows" : "") + (right ? " right" : ""),
                                     {in}),
                            {in},
                            [=](Vars x) {
                                const Var v = prepared(x[0], kind);
                                const Tensor some =
                                    kind == Kind::i64 ? slice(lists, -1, 0, n - 1) : lists;
                                return Var(searchsorted(cast(some, v.dtype()), v, right));
                            },
                            [=](Naives x) {
                                Naive y = prepared(x[0], kind);
                                const int64_t m =
                                    std::max<int64_t>(int64_t(y.at.size()) / outer, 1);
                                for (size_t i = 0; i < y.at.size(); ++i) {
                                    const Real v = y.at[i];
                                    int64_t below = 0;
                                    for (int64_t k = 0; k < (kind == Kind::i64 ? n - 1 : n); ++k) {
                                        const double b = at[size_t(int64_t(i) / m * n + k)];
                                        const double e = kind == Kind::i64 ? std::trunc(b) : b;
                                        if (std::isnan(v) || std::isnan(e))
                                            below += std::isnan(v) && (right || !std::isnan(e));
                                        else
                                            below += e < v || (right && e == v);
                                    }
                                    y.at[i] = Real(below);
                                }
                                return y;
                            },
                            0,
                            true,
                            false});
}

}  // namespace

void add_sorting(std::vector<Case>& list, bool big) {
    if (big) {
        searches(list, Input{{70001}}, false);
        for (const Input& in :
             {Input{{300001}}, Input{{7, 1031}}, Input{{257, 301}, Layout::transposed}})
            over_axes(list, in, true);
        return;
    }
    for (const Input& in : {Input{{0}}, Input{{1}}, Input{{7}}, Input{{33}}, Input{{3, 5}},
                            Input{{5, 3}, Layout::transposed}, Input{{2, 3, 4}}, Input{{3, 70}},
                            Input{{3, 4}, Layout::reversed}})
        over_axes(list, in, false);
    for (const Input& in : {Input{{0}}, Input{{7}}, Input{{3, 5}},
                            Input{{5, 3}, Layout::transposed}, Input{{2, 3, 4}}}) {
        searches(list, in, false);
        if (in.shape.rank() == 2) searches(list, in, true);
    }
}

}  // namespace cases
