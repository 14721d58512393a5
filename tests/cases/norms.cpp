// Normalisation of rows.
#include "tests/cases/families.h"
#include "tests/support/naive_rows.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;
using oracle::Row;

// x̂·gain + bias over the last axes, `n` elements; centred or not.
Naive normalised(const Naive& x, size_t n, bool centred, Real epsilon, const Row& gain,
                 const Row& bias) {
    Naive y = x;
    for (size_t r = 0; r < x.at.size(); r += n) {
        Real mean = 0, square = 0;
        for (size_t i = 0; centred && i < n; ++i) mean += x.at[r + i] / Real(n);
        for (size_t i = 0; i < n; ++i) square += (x.at[r + i] - mean) * (x.at[r + i] - mean);
        for (size_t i = 0; i < n; ++i)
            y.at[r + i] = (x.at[r + i] - mean) / std::sqrt(square / Real(n) + epsilon) *
                              (gain.empty() ? 1 : gain[i]) +
                          (bias.empty() ? 0 : bias[i]);
    }
    return y;
}

struct Norm {
    Input x;
    int axes;  // that gain and bias have; 0: none of them
    double epsilon;
};

void norms(std::vector<Case>& list, const std::vector<Norm>& shapes) {
    for (const Norm& s : shapes) {
        Shape row;
        const int rank = s.x.shape.rank();
        for (int a = rank - std::max(s.axes, 1); a < rank; ++a) row.push_back(s.x.shape[a]);
        const size_t n = size_t(oracle::total(row));
        std::vector<Input> inputs{s.x};
        if (s.axes) inputs.insert(inputs.end(), {{row}, {row}});
        const double e = s.epsilon;
        list.push_back({describe("layer_norm", inputs), inputs,
                        [e](Vars x) {
                            return x.size() == 1 ? layer_norm(x[0], {}, {}, e)
                                                 : layer_norm(x[0], x[1], x[2], e);
                        },
                        [n, e](Naives x) {
                            return x.size() == 1 ? normalised(x[0], n, true, e, {}, {})
                                                 : normalised(x[0], n, true, e, x[1].at, x[2].at);
                        }});
        if (s.axes) inputs.pop_back();
        list.push_back({describe("rms_norm", inputs), inputs,
                        [e](Vars x) {
                            return x.size() == 1 ? rms_norm(x[0], {}, e) : rms_norm(x[0], x[1], e);
                        },
                        [n, e](Naives x) {
                            return normalised(x[0], n, false, e, x.size() == 1 ? Row{} : x[1].at,
                                              {});
                        }});
    }
}

// Every channel's elements as one row: mean, variance, x̂·gain + bias; `result` says which.
Naive by_channel(Naives x, int result, Real epsilon) {
    const Shape shape = x[0].shape;
    const size_t channels = size_t(shape[1]);
    Row mean(channels, 0), var(channels, 0);
    const Real n = Real(x[0].at.size() / channels);
    oracle::each(shape, [&](const Shape& i, size_t p) { mean[size_t(i[1])] += x[0].at[p] / n; });
    oracle::each(shape, [&](const Shape& i, size_t p) {
        const Real d = x[0].at[p] - mean[size_t(i[1])];
        var[size_t(i[1])] += d * d / n;
    });
    if (x.size() == 5) mean = x[3].at, var = x[4].at;
    if (result > 0) return {{shape[1]}, result == 1 ? mean : var};
    Naive y = x[0];
    oracle::each(shape, [&](const Shape& i, size_t p) {
        const size_t c = size_t(i[1]);
        y.at[p] = (y.at[p] - mean[c]) / std::sqrt(var[c] + epsilon) * x[1].at[c] + x[2].at[c];
    });
    return y;
}

void batch_norms(std::vector<Case>& list, const std::vector<Input>& shapes) {
    for (const Input& in : shapes) {
        const Shape row{in.shape[1]};
        for (int k = 0; k < 3; ++k)
            list.push_back({describe("batch_norm result " + std::to_string(k), {in, {row}, {row}}),
                            {in, {row}, {row}},
                            [k](Vars x) { return batch_norm(x[0], x[1], x[2], 0.1)[size_t(k)]; },
                            [k](Naives x) { return by_channel(x, k, 0.1L); },
                            16});
        list.push_back({describe("batch_norm of x", {in}),
                        {in},
                        [](Vars x) { return batch_norm(x[0], {}, {}, 0.1)[0]; },
                        [](Naives x) {
                            const size_t n = size_t(x[0].shape[1]);
                            const Naive all[] = {x[0], {{}, Row(n, 1)}, {{}, Row(n, 0)}};
                            return by_channel(all, 0, 0.1L);
                        },
                        16});
        const std::vector<Input> inputs{
            in, {row}, {row}, {row}, {row, Layout::dense, Domain::positive}};
        list.push_back({describe("batch_norm_inference", inputs), inputs,
                        [](Vars x) { return batch_norm_inference(x[0], x[3], x[4], x[1], x[2]); },
                        [](Naives x) { return by_channel(x, 0, 1e-5L); }});
    }
}

void group_norms(std::vector<Case>& list, bool big) {
    struct Groups {
        Input x;
        int64_t groups;
    };
    for (const auto& [in, groups] :
         big ? std::vector<Groups>{{{{20, 24, 150}}, 4}, {{{300, 64}}, 8}, {{{70, 6, 9, 7}}, 3}}
             : std::vector<Groups>{{{{2, 4}}, 2},
                                   {{{3, 6, 2}}, 3},
                                   {{{2, 4, 3}, Layout::transposed}, 1},
                                   {{{3, 4, 19}}, 2},
                                   {{{2, 4, 2, 2}, Layout::stepped}, 2}}) {
        const Shape row{in.shape[1]};
        const size_t n = size_t(oracle::total(in.shape) / (in.shape[0] * groups));
        list.push_back({describe("group_norm in " + std::to_string(groups), {in, {row}, {row}}),
                        {in, {row}, {row}},
                        [groups](Vars x) { return group_norm(x[0], groups, x[1], x[2], 0.1); },
                        [n](Naives x) {
                            Naive y = normalised(x[0], n, true, 0.1L, {}, {});
                            oracle::each(x[0].shape, [&](const Shape& i, size_t p) {
                                const size_t c = size_t(i[1]);
                                y.at[p] = y.at[p] * x[1].at[c] + x[2].at[c];
                            });
                            return y;
                        },
                        16});
        if (big) continue;
        list.push_back({describe("group_norm of x in " + std::to_string(groups), {in}),
                        {in},
                        [groups](Vars x) { return group_norm(x[0], groups, {}, {}, 0.1); },
                        [n](Naives x) { return normalised(x[0], n, true, 0.1L, {}, {}); },
                        16});
    }
}

}  // namespace

void add_norms(std::vector<Case>& list, bool big) {
    if (big)
        norms(list, {{{{301, 517}}, 1, 1e-5},
                     {{{2500, 33}}, 1, 1e-5},
                     {{{97, 1031}, Layout::transposed}, 0, 1e-5},
                     {{{3, 40000}}, 1, 1e-5},
                     {{{1100, 2048}}, 1, 1e-5}});
    else
        norms(list, {{{{1}}, 1, 0.5},
                     {{{7}}, 0, 1e-5},
                     {{{33}}, 1, 1e-5},
                     {{{3, 5}}, 1, 0.1},
                     {{{5, 9}, Layout::transposed}, 1, 1e-2},
                     {{{2, 3, 4}}, 2, 1e-2},
                     {{{3, 2, 3}}, 3, 1e-2},
                     {{{3, 8}, Layout::stepped}, 1, 1e-2},
                     {{{2, 17}, Layout::reversed}, 0, 1e-2},
                     {{{3, 4}, Layout::expanded}, 1, 0.5},
                     {{{2, 65}}, 1, 1e-5},
                     {{{0, 3}}, 1, 1e-5}});
    group_norms(list, big);
    batch_norms(list, big ? std::vector<Input>{{{64, 33, 50}},
                                               {{700, 70}},
                                               {{2, 3, 20000}},
                                               {{9, 40, 7}, Layout::transposed}}
                          : std::vector<Input>{{{3, 5}},
                                               {{5, 3}, Layout::transposed},
                                               {{2, 3, 4}},
                                               {{2, 3, 2, 2}, Layout::stepped}});
}

}  // namespace cases
