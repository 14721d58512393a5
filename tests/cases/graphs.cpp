// Segments, sorted and unsorted, with empty ones among them, and products with sparse matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;
using Ids = std::vector<int64_t>;

Tensor list(const Ids& ids) { return Tensor::from(ids, {int64_t(ids.size())}); }

/// `e` numbers below n that leave some out; ascending ones for CSR.
Ids make_ids(int64_t e, int64_t n, bool sorted) {
    Ids ids;
    for (int64_t k = 0; k < e; ++k) {
        const int64_t id = (k * k * 7 + k * 3) % n;
        ids.push_back(n > 2 && id % 5 == 1 ? id - 1 : id);  // 1, 6, … stay empty
    }
    if (sorted) std::sort(ids.begin(), ids.end());
    return ids;
}
Ids offsets_of(const Ids& ids, int64_t n) {
    Ids offsets(size_t(n) + 1, 0);
    for (int64_t id : ids)
        for (int64_t s = id + 1; s <= n; ++s) ++offsets[size_t(s)];
    return offsets;
}

/// The row of x that belongs to segment s, joined from `start`.
Naive joined(const Naive& x, const Ids& ids, int64_t n, Real start, Real (*join)(Real, Real)) {
    Shape shape = x.shape;
    shape[0] = n;
    Naive y = oracle::make(shape);
    std::fill(y.at.begin(), y.at.end(), start);
    const size_t width = size_t(oracle::total(shape) / std::max<int64_t>(n, 1));
    for (size_t k = 0; k < ids.size(); ++k)
        for (size_t c = 0; c < width; ++c) {
            Real& to = y.at[size_t(ids[k]) * width + c];
            to = join(to, x.at[k * width + c]);
        }
    return y;
}
Naive extremum(const Naive& x, const Ids& ids, int64_t n, bool largest, Real empty) {
    const Real start =
        largest ? -std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::infinity();
    Naive y = joined(
        x, ids, n, start,
        largest ? [](Real a, Real b) { return std::max(a, b); }
                : [](Real a, Real b) { return std::min(a, b); });
    const size_t width = y.at.size() / size_t(n);
    for (size_t i = 0; i < y.at.size(); ++i)
        if (std::find(ids.begin(), ids.end(), int64_t(i / width)) == ids.end()) y.at[i] = empty;
    return y;
}
Real plus(Real a, Real b) { return a + b; }

Naive softmaxed(const Naive& x, const Ids& ids, int64_t n) {
    const Naive top = extremum(x, ids, n, true, 0);
    Naive y = x;
    const size_t width = x.at.size() / std::max<size_t>(ids.size(), 1);
    const auto of = [&](size_t i) { return size_t(ids[i / width]) * width + i % width; };
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] = std::exp(y.at[i] - top.at[of(i)]);
    const Naive z = joined(y, ids, n, 0, plus);
    for (size_t i = 0; i < y.at.size(); ++i) y.at[i] /= z.at[of(i)];
    return y;
}

void segments(std::vector<Case>& cases, const Input& in, int64_t n) {
    for (bool sorted : {true, false}) {
        const Ids ids = make_ids(in.shape[0], n, sorted);
        const Tensor at = sorted ? list(offsets_of(ids, n)) : list(ids);
        const std::string prefix = sorted ? "segment_" : "unsorted_segment_",
                          tail = " into " + std::to_string(n);
        const auto add = [&](const std::string& what, std::function<Var(Vars)> f,
                             std::function<Naive(const Naive&)> g) {
            cases.push_back({describe(prefix + what + tail, {in}),
                             {in},
                             std::move(f),
                             [=](Naives x) { return g(x[0]); },
                             32});
        };
        const auto sum = [=](const Naive& x) { return joined(x, ids, n, 0, plus); };
        add(
            "sum",
            [=](Vars x) {
                return sorted ? segment_sum(x[0], at) : unsorted_segment_sum(x[0], at, n);
            },
            sum);
        add(
            "mean",
            [=](Vars x) {
                return sorted ? segment_mean(x[0], at) : unsorted_segment_mean(x[0], at, n);
            },
            [=](const Naive& x) {
                Naive y = sum(x);
                const size_t width = y.at.size() / size_t(n);
                for (size_t i = 0; i < y.at.size(); ++i)
                    y.at[i] /= Real(std::max<int64_t>(
                        std::count(ids.begin(), ids.end(), int64_t(i / width)), 1));
                return y;
            });
        add(
            "max",
            [=](Vars x) {
                return sorted ? segment_max(x[0], at) : unsorted_segment_max(x[0], at, n);
            },
            [=](const Naive& x) { return extremum(x, ids, n, true, 0); });
        add(
            "min",
            [=](Vars x) {
                return sorted ? segment_min(x[0], at, 7) : unsorted_segment_min(x[0], at, n, 7);
            },
            [=](const Naive& x) { return extremum(x, ids, n, false, 7); });
        add(
            "softmax",
            [=](Vars x) {
                return sorted ? segment_softmax(x[0], at) : unsorted_segment_softmax(x[0], at, n);
            },
            [=](const Naive& x) { return softmaxed(x, ids, n); });
    }
}

void products(std::vector<Case>& cases, int64_t n, int64_t m, int64_t e, int64_t d, Layout layout) {
    const Ids rows = make_ids(e, n, true);
    Ids columns;
    for (int64_t k = 0; k < e; ++k) columns.push_back((k * 5 + k * k) % m);
    const Tensor offsets = list(offsets_of(rows, n)), places = list(columns);
    const auto transpose = csr_transpose(offsets, places, m);
    const std::vector<Input> spmm_in{{{e}}, {{m, d}, layout}}, sddmm_in{{{n, d}}, {{m, d}, layout}};
    for (bool given : {false, true}) {
        const auto t = given ? transpose : std::array<Tensor, 3>{};
        const std::string tail = given ? " with its transpose" : "";
        cases.push_back(
            {describe("spmm" + tail, spmm_in), spmm_in,
             [=](Vars x) { return spmm(offsets, places, x[0], x[1], t[0], t[1], t[2]); },
             [=](Naives x) {
                 Naive y = oracle::make({n, d});
                 for (size_t k = 0; k < size_t(e); ++k)
                     for (int64_t c = 0; c < d; ++c)
                         y.at[size_t(rows[k] * d + c)] +=
                             x[0].at[k] * x[1].at[size_t(columns[k] * d + c)];
                 return y;
             },
             32});
        cases.push_back(
            {describe("sddmm" + tail, sddmm_in), sddmm_in,
             [=](Vars x) { return sddmm(offsets, places, x[0], x[1], t[0], t[1], t[2]); },
             [=](Naives x) {
                 Naive y = oracle::make({e});
                 for (size_t k = 0; k < size_t(e); ++k)
                     for (int64_t c = 0; c < d; ++c)
                         y.at[k] +=
                             x[0].at[size_t(rows[k] * d + c)] * x[1].at[size_t(columns[k] * d + c)];
                 return y;
             },
             32});
    }
}

/// The three results one after the other, as numbers.
Var numbers(const std::array<Tensor, 3>& parts, DType dtype) {
    return Var(cast(concat({parts[0], parts[1], parts[2]}, 0), dtype));
}

void forms(std::vector<Case>& cases, int64_t e, int64_t n) {
    const Ids rows = make_ids(e, n, false), columns = make_ids(e, 3, false);
    const auto by = [=](const Ids& key, const Ids& other, const Ids& offsets) {
        Naive y = oracle::make({int64_t(offsets.size()) + 2 * e});
        size_t at = 0;
        for (int64_t o : offsets) y.at[at++] = Real(o);
        for (int64_t id = 0; id < std::max<int64_t>(n, 3); ++id)
            for (size_t k = 0; k < size_t(e); ++k)
                if (key[k] == id) y.at[at] = Real(other[k]), y.at[size_t(e) + at++] = Real(k);
        return y;
    };
    const Input any{{1}};
    Case csr{
        describe("coo_to_csr", {any}),
        {any},
        [=](Vars x) { return numbers(coo_to_csr(list(rows), list(columns), n), x[0].dtype()); },
        [=](Naives) { return by(rows, columns, offsets_of(rows, n)); }};
    csr.differentiable = false;
    cases.push_back(csr);
    Ids sorted = rows;
    std::sort(sorted.begin(), sorted.end());
    csr.name = describe("csr_transpose", {any});
    csr.f = [=](Vars x) {
        return numbers(csr_transpose(list(offsets_of(sorted, n)), list(columns), 3), x[0].dtype());
    };
    csr.expected = [=](Naives) { return by(columns, sorted, offsets_of(columns, 3)); };
    cases.push_back(csr);
}

}  // namespace

void add_graphs(std::vector<Case>& cases, bool big) {
    if (big) {
        segments(cases, {{5000, 37}}, 401);
        segments(cases, {{30000}}, 1001);
        segments(cases, {{3000, 3, 150}, Layout::transposed}, 11);
        products(cases, 300, 211, 4000, 133, Layout::dense);
        return;
    }
    for (const Input& in : std::vector<Input>{{{9}},
                                              {{7, 3}},
                                              {{3, 6}, Layout::transposed},
                                              {{6, 2, 3}, Layout::stepped},
                                              {{5, 17}, Layout::reversed},
                                              {{4, 1}}})
        segments(cases, in, 4);
    segments(cases, {{70}}, 1);
    segments(cases, {{0, 3}}, 2);
    products(cases, 3, 4, 7, 2, Layout::dense);
    products(cases, 4, 2, 5, 19, Layout::transposed);
    products(cases, 2, 3, 4, 1, Layout::dense);
    products(cases, 2, 3, 0, 5, Layout::stepped);
    forms(cases, 11, 5);
    forms(cases, 1, 1);
    forms(cases, 0, 2);
}

}  // namespace cases
