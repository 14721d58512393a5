// LSTM and GRU: all results of a call, one after the other, against plain loops over the equations.
#include <cmath>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::Naive;
using oracle::Real;

struct Layer {
    int64_t steps, batch, inputs, units;
    bool reverse = false;
    std::vector<int64_t> lengths = {};
    bool given = true;  // biases and initial states
    Layout layout = Layout::dense;
};

Real sigma(Real x) { return 1 / (1 + std::exp(-x)); }

// The states of one sequence, advanced step by step: row r of w·x and u·h with their biases.
struct Weights {
    const Naive &w, &u;
    const Naive *b = nullptr, *c = nullptr;
    Real from_x(const Real* x, int64_t r) const {
        Real s = b ? b->at[size_t(r)] : 0;
        for (int64_t k = 0; k < w.shape[1]; ++k) s += w.at[size_t(r * w.shape[1] + k)] * x[k];
        return s;
    }
    Real from_h(const std::vector<Real>& h, int64_t r) const {
        Real s = c ? c->at[size_t(r)] : 0;
        for (int64_t k = 0; k < u.shape[1]; ++k)
            s += u.at[size_t(r * u.shape[1] + k)] * h[size_t(k)];
        return s;
    }
};

/// y, then the last states, flat. advance(x, h, c) makes one step.
template <class Advance>
Naive run(const Layer& l, const Naive& x, const Naive* h0, const Naive* c0, bool cells,
          Advance advance) {
    const int64_t n = l.units, all = l.steps * l.batch * n, state = l.batch * n;
    Naive out = oracle::make({all + state * (cells ? 2 : 1)});
    for (int64_t b = 0; b < l.batch; ++b) {
        std::vector<Real> h(size_t(n), 0), c(size_t(n), 0);
        for (int64_t j = 0; j < n; ++j) {
            if (h0) h[size_t(j)] = h0->at[size_t(b * n + j)];
            if (c0) c[size_t(j)] = c0->at[size_t(b * n + j)];
        }
        for (int64_t s = 0; s < l.steps; ++s) {
            const int64_t t = l.reverse ? l.steps - 1 - s : s;
            if (l.lengths.empty() || t < l.lengths[size_t(b)])
                advance(&x.at[size_t((t * l.batch + b) * l.inputs)], h, c);
            for (int64_t j = 0; j < n; ++j)
                out.at[size_t((t * l.batch + b) * n + j)] = h[size_t(j)];
        }
        for (int64_t j = 0; j < n; ++j) {
            out.at[size_t(all + b * n + j)] = h[size_t(j)];
            if (cells) out.at[size_t(all + state + b * n + j)] = c[size_t(j)];
        }
    }
    return out;
}

Naive lstm_of(const Layer& l, Naives in) {
    const Weights w{in[1], in[2], l.given ? &in[3] : nullptr, l.given ? &in[4] : nullptr};
    const int64_t n = l.units;
    return run(l, in[0], l.given ? &in[5] : nullptr, l.given ? &in[6] : nullptr, true,
               [&](const Real* x, std::vector<Real>& h, std::vector<Real>& c) {
                   std::vector<Real> next(h.size());
                   for (int64_t j = 0; j < n; ++j) {
                       const auto z = [&](int64_t gate) {
                           return w.from_x(x, gate * n + j) + w.from_h(h, gate * n + j);
                       };
                       Real& cell = c[size_t(j)];
                       cell = sigma(z(1)) * cell + sigma(z(0)) * std::tanh(z(2));
                       next[size_t(j)] = sigma(z(3)) * std::tanh(cell);
                   }
                   h = next;
               });
}

Naive gru_of(const Layer& l, Naives in) {
    const Weights w{in[1], in[2], l.given ? &in[3] : nullptr, l.given ? &in[4] : nullptr};
    const int64_t n = l.units;
    return run(l, in[0], l.given ? &in[5] : nullptr, nullptr, false,
               [&](const Real* x, std::vector<Real>& h, std::vector<Real>&) {
                   std::vector<Real> next(h.size());
                   for (int64_t j = 0; j < n; ++j) {
                       const auto z = [&](int64_t gate) {
                           return w.from_x(x, gate * n + j) + w.from_h(h, gate * n + j);
                       };
                       const Real r = sigma(z(0)), u = sigma(z(1));
                       const Real c =
                           std::tanh(w.from_x(x, 2 * n + j) + r * w.from_h(h, 2 * n + j));
                       next[size_t(j)] = (1 - u) * c + u * h[size_t(j)];
                   }
                   h = next;
               });
}

template <size_t n>
Var joined(const std::array<Var, n>& parts) {
    std::vector<Var> rows;
    for (const Var& p : parts) rows.push_back(reshape(p, {-1}));
    return concat(std::span<const Var>(rows), 0);
}

void layers(std::vector<Case>& list, const std::vector<Layer>& all) {
    for (const Layer& l : all)
        for (const bool cells : {true, false}) {
            const int64_t rows = (cells ? 4 : 3) * l.units;
            std::vector<Input> in{{{l.steps, l.batch, l.inputs}, l.layout},
                                  {{rows, l.inputs}, l.layout},
                                  {{rows, l.units}, l.layout}};
            if (l.given) {
                for (int k = 0; k < 2; ++k) in.push_back({{rows}});
                for (int k = 0; k < (cells ? 2 : 1); ++k) in.push_back({{l.batch, l.units}});
            }
            Tensor lengths;
            if (!l.lengths.empty()) lengths = Tensor::from(l.lengths);
            std::string text = describe(cells ? "lstm" : "gru", {in[0], in[2]});
            if (l.reverse) text += " reverse";
            if (lengths.defined()) text += " lengths";
            list.push_back({text, in,
                            [=, given = l.given, reverse = l.reverse](Vars v) {
                                const auto at = [&](size_t k) { return given ? v[k] : Var(); };
                                if (cells)
                                    return joined(lstm(v[0], at(5), given ? v[6] : Var(), v[1],
                                                       v[2], at(3), at(4), lengths, reverse));
                                return joined(
                                    gru(v[0], at(5), v[1], v[2], at(3), at(4), lengths, reverse));
                            },
                            [=](Naives v) { return cells ? lstm_of(l, v) : gru_of(l, v); }, 64});
        }
}

}  // namespace

void add_recurrent(std::vector<Case>& list, bool big) {
    if (big)
        layers(list, {{7, 33, 40, 50}, {3, 9, 70, 67, true}});
    else
        layers(list, {{1, 1, 1, 1},
                      {3, 2, 3, 2},
                      {3, 2, 3, 2, true},
                      {2, 2, 3, 5, false, {}, false},
                      {2, 5, 2, 17},
                      {4, 3, 2, 3, false, {4, 2, 0}},
                      {4, 3, 2, 3, true, {1, 4, 2}},
                      {3, 2, 4, 3, false, {}, true, Layout::transposed},
                      {3, 0, 2, 2}});
}

}  // namespace cases
