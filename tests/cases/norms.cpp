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
}

}  // namespace cases
