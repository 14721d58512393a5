#include "attention/smoother/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/smoother/placed.h"
#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "autograd/ops/matmul.h"
#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/ops/require.h"
#include "engine/shown.h"

namespace mercer {
namespace {

using Kind = Normaliser::Kind;

constexpr double infinity = std::numeric_limits<double>::infinity();

Var number(double value, DType dtype) { return Tensor::scalar(value, dtype); }

// [B…, Tq, 1, d] and [B…, 1, Tk, d]: for what is not a function of inner products.
std::pair<Var, Var> pairs(const Var& q, const Var& k) {
    Shape column = q.shape(), row = k.shape();
    column[q.rank() - 1] = 1;
    column.push_back(q.shape().back());
    row[k.rank() - 2] = 1;
    row[k.rank() - 1] = k.size(-2);
    row.push_back(k.shape().back());
    return {reshape(q, column), reshape(k, row)};
}

Var norms(const Var& x) { return sum(square(x), {-1}, true); }  // ‖x‖²: [B…, T, 1]

void check_shapes(const Var& q, const Var& k) {
    if (q.rank() < 2 || k.rank() < 2 || q.shape().back() != k.shape().back())
        throw ShapeError("attend", "queries ", q.shape(), " and keys ", k.shape(),
                         " need two axes or more and the same width");
}

/// In one chain, as the fused smoother sums: how many keys or columns there are does not show.
Var product(const Var& a, const Var& b) { return matmul_in(cpu::Order::chain, a, b); }

Var scores(const Var& q, const Var& k, const Kernel& kernel) {
    if (kernel.score == Kernel::Score::product) return product(q, transpose(k));
    const auto [column, row] = pairs(q, k);
    if (kernel.score == Kernel::Score::difference) return sum(square(column - row), {-1});
    const Var& w = kernel.parameters.front();
    if (w.dtype() != q.dtype())
        throw DTypeError(kernel.name, "the weights are ", w.dtype(), ", the queries ", q.dtype(),
                         "; use cast");
    if (w.rank() != 1 || w.count() != q.shape().back())
        throw ShapeError(kernel.name, "the weights ", w.shape(), " should be (", q.shape().back(),
                         ")");
    return sum(tanh(column + row) * w, {-1});
}

// What the kernel's formula and the positions give for all pairs: log k, or k of a direct one. [B…,
// Tq, Tk]
Var formula_values(const Positioned& at, const Kernel& kernel) {
    const Var &q = at.q, &k = at.k;
    check_shapes(q, k);
    std::vector<Var> x{scores(q, k, kernel)};
    if (kernel.norms == Kernel::Norms::both) x.push_back(norms(q));
    if (kernel.norms != Kernel::Norms::none) x.push_back(transpose(norms(k)));
    for (size_t i = kernel.score == Kernel::Score::additive; i < kernel.parameters.size(); ++i)
        x.push_back(attention::formula_parameter(kernel, kernel.parameters[i], q.dtype()));
    const Var values = kernel.formula(q.shape().back())(std::move(x)), term = at.term();
    if (!term.defined()) return values;
    if (kernel.direct)
        throw ValueError(kernel.name, "gives weights; this position scheme adds to log weights");
    return values + term;
}

// The mask of a filter that hides something, else undefined.
Tensor mask_of(const Filter& filter, const Var& values) {
    return filter.rule() ? visible(filter, values.shape()) : Tensor();
}

// 1 at each row's nearest visible key: the largest score of a product, the least distance.
Tensor nearest(const Var& q, const Var& k, const Kernel& kernel, const Tensor& mask) {
    Tensor s = scores(q.detach(), k.detach(), kernel).value();
    if (kernel.score == Kernel::Score::difference) s = -s;
    if (mask.defined()) s = where(mask, s, number(-infinity, s.dtype()).value());
    return cast(one_hot(argmax(s, -1), s.size(-1)), s.dtype());
}

// w/Σw over visible keys, signed weights too. A row whose visible weights are all zero, or too faint
// for 1/Σ|w|, takes its nearest visible key; both are counted.
Var divided(const Positioned& at, const Var& direct, const Tensor& mask,
            const SmootherOptions& options) {
    const Var zero = number(0, direct.dtype()), one = number(1, direct.dtype());
    const Var w = mask.defined() ? where(mask, direct, zero) : direct;
    const Var total = sum(w, {-1}, true);
    const Tensor empty = isinf(reciprocal(sum(abs(w.value()), {-1}, true)));
    const Var share = w / where(empty, one, total);
    const Tensor sees = mask.defined() ? any(broadcast_to(mask, w.shape()), {-1}, true)
                                       : Tensor::full({1}, w.size(-1) > 0, DType::boolean);
    const Tensor lost = logical_and(empty, sees);
    if (options.report) {
        options.report->fallbacks += count_nonzero(lost).item<int64_t>();
        options.report->nonpositive +=
            count_nonzero(logical_and(logical_not(empty), less_equal(total, 0))).item<int64_t>();
    }
    if (!any(lost).item<bool>()) return share;
    return where(lost, Var(nearest(at.q, at.k, options.kernel, mask)), share);
}

Var normalised(const Var& z, const Tensor& mask, const Normaliser& normaliser) {
    const bool soft = normaliser.kind == Kind::automatic || normaliser.kind == Kind::softmax;
    if (soft) return softmax(mask.defined() ? where(mask, z, number(-infinity, z.dtype())) : z, -1);
    const Var seen = mask.defined() ? where(mask, z, number(-infinity, z.dtype())) : z;
    Var p;
    if (normaliser.kind == Kind::sparsemax) {
        p = sparsemax(seen, -1);
    } else if (normaliser.kind == Kind::entmax15) {
        p = entmax15(seen, -1);
    } else {
        const Var alpha = cast(normaliser.alpha, z.dtype());
        p = entmax(seen, alpha.count() == 1 ? reshape(alpha, {}) : alpha, -1);
    }
    return mask.defined() ? where(mask, p, number(0, z.dtype())) : p;
}

// x with zeros for NaN and infinities, and which rows hold them: [B…, T, 1]; undefined if none.
std::pair<Var, Tensor> cleaned(const Var& x) {
    if (attention::all_finite(x.value())) return {x, Tensor()};
    const Tensor finite = isfinite(x.value());
    return {where(finite, x, number(0, x.dtype())), logical_not(all(finite, {-1}, true))};
}

// The kernel's values of all pairs. NaN and infinities stand as zeros in q and k, and make their
// pairs' values NaN: where those are hidden, nothing is left of them.
struct Pairs {
    Positioned at;
    Var z;
    bool finite;
};
Pairs pairs_of(Positioned at, const Kernel& kernel) {
    Tensor bad;  // broadcasts to [B…, Tq, Tk]
    const auto clean = [&](Var& x, bool keys) {
        const auto [finite, rows] = cleaned(x);
        if (!rows.defined()) return;
        x = finite;
        const Tensor its = keys ? transpose(rows) : rows;
        bad = bad.defined() ? logical_or(bad, its) : its;
    };
    clean(at.q, false), clean(at.k, true);
    if (at.inner) clean(at.inner->queries, false);
    if (at.relative && at.relative->queries.defined()) clean(at.relative->queries, false);
    Var z = formula_values(at, kernel);
    const DType dtype = z.dtype();
    if (bad.defined()) z = z + Var(where(bad, number(NAN, dtype), number(0, dtype)).value());
    return {at, z, !bad.defined()};
}

// The normalised weights, [B…, Tq, Tk], and what they are made of.
struct Weights {
    Tensor mask;
    Var z, w;
};
Weights weights(const Positioned& placed, const SmootherOptions& options,
                const char* operation = "attend") {
    attention::check_normaliser(options.kernel, options.normaliser, operation);
    const auto [at, z, finite] = pairs_of(placed, options.kernel);
    const Tensor mask = mask_of(attention::filter_of(at, options), z);
    const Var w = options.kernel.direct ? divided(at, z, mask, options)
                                        : normalised(z, mask, options.normaliser);
    const bool hides = !finite && mask.defined();
    return {mask, z, hides ? where(mask, w, number(0, w.dtype())) : w};
}

// log Σe^z and −Σ w·log w = log Σe^z − Σ w·z of each row: [2, B…, Tq]. A row that sees nothing has −∞
// and 0.
Var measures_of(const Weights& x, const SmootherOptions& options) {
    const Kind kind = options.normaliser.kind;
    if (options.kernel.direct || (kind != Kind::automatic && kind != Kind::softmax))
        throw ValueError("attend_measured", "the kernel ", options.kernel.name,
                         " and its normaliser: log Σe^z and the entropy are those of softmax");
    const DType dtype = x.z.dtype();
    const bool hides = x.mask.defined();
    const Var z = hides ? where(x.mask, x.z, number(-infinity, dtype)) : x.z,
              finite = hides ? where(x.mask, x.z, number(0, dtype)) : x.z;
    const Var lse = logsumexp(z, {-1});
    const Var entropy =
        where(isfinite(lse.value()), lse, number(0, dtype)) - sum(x.w * finite, {-1});
    return concat({unsqueeze(lse, 0), unsqueeze(entropy, 0)}, 0);
}

// 0, and NaN for each query that sees one of the poisoned keys: [B…, Tq, 1].
Tensor poison(const Tensor& poisoned, const Tensor& mask, const Shape& weights, DType dtype) {
    Tensor hit = broadcast_to(transpose(poisoned), weights);
    if (mask.defined()) hit = logical_and(hit, mask);
    return where(any(hit, {-1}, true), Tensor::scalar(NAN, dtype), Tensor::scalar(0, dtype));
}

// The weights after dropout; of some rows only, by their places among all.
Var dropped(const Var& w, const WeightDropout& d, attention::RowsOf rows) {
    if (d.rate == 0) return w;
    if (rows.first < 0) return dropout(w, d.rate, d.key);
    Tensor keep = Tensor::empty(w.shape(), w.dtype());
    const int64_t n = w.size(-2), keys = w.size(-1),
                  heads = n * keys > 0 ? w.count() / (n * keys) : 0;
    for (int64_t h = 0; h < heads; ++h) {
        const int64_t begin = (h * rows.queries + rows.first) * keys;
        if (w.dtype() == DType::f64)
            attention::keep_factors(d, begin, n * keys, keep.mutable_data<double>() + h * n * keys);
        else
            attention::keep_factors(d, begin, n * keys, keep.mutable_data<float>() + h * n * keys);
    }
    return w * Var(keep);
}

}  // namespace

namespace attention {

Var for_heads_of(const Var& q, const Var& x) {
    if (x.rank() < 3 || x.rank() > q.rank() || x.size(-3) < 2 || x.size(-3) == q.size(-3) ||
        q.size(-3) % x.size(-3) != 0)
        return x;
    Shape wide = x.shape(), all = x.shape();
    wide[x.rank() - 2] = q.size(-3) / x.size(-3);
    wide[x.rank() - 1] = x.size(-2);
    wide.push_back(x.size(-1));
    all[x.rank() - 3] = q.size(-3);
    return reshape(broadcast_to(unsqueeze(x, -3), wide), all);
}

Positioned placed(const Var& q, const Var& k, const SmootherOptions& options,
                  const char* operation) {
    require_floating_pair(operation, q.value(), k.value(), "queries", "keys");
    const Var keys = for_heads_of(q, k);
    if (q.rank() < 2 || k.rank() < 2 || q.size(-1) != k.size(-1))
        throw ShapeError(operation, "queries ", q.shape(), " and keys ", k.shape(),
                         " need two axes or more, and the same width");
    cpu::broadcast_shape(operation, cpu::batch_shape(q.shape()), cpu::batch_shape(keys.shape()));
    return place(options.position, q, keys);
}

std::vector<Var> attend_placed(const Positioned& at, const Var& v, const SmootherOptions& options,
                               bool measures, RowsOf rows) {
    require_floating_pair("attend", at.q.value(), v.value(), "queries", "values");
    if (v.rank() < 2 || at.k.rank() < 2 || v.size(-2) != at.k.size(-2))
        throw ShapeError("attend", "keys ", at.k.shape(), " and values ", v.shape(),
                         " differ in length");
    const auto [keys, bad_keys] = cleaned(at.k);
    const auto [values, bad_values] = cleaned(for_heads_of(at.q, v));
    Positioned clean = at;
    clean.k = keys;
    const Weights made = weights(clean, options);
    const Var w = dropped(made.w, options.dropout, rows);
    for (int a = 3; a <= std::min(w.rank(), values.rank()); ++a)
        if (const int64_t x = w.size(-a), y = values.size(-a); x != y && x != 1 && y != 1)
            throw ShapeError("attend", "values ", v.shape(), " do not fit weights ", w.shape(),
                             ": their leading axes must be equal or 1");
    Var out = product(w, values);
    if (at.value_rows.defined()) {
        const Var rows = rows_of_distances(at.value_rows, -2, at.value_at, w.size(-2), w.size(-1));
        out = out + product(relative_unshift(w), rows);
    }
    for (const Tensor& bad : {bad_keys, bad_values})
        if (bad.defined())
            out = out + Var(poison(bad, mask_of(filter_of(at, options), w), w.shape(), w.dtype()));
    if (!measures) return {out};
    return {out, measures_of(made, options)};
}

Filter filter_of(const Positioned& at, const SmootherOptions& options) {
    return at.horizon ? options.filter & causal(*at.horizon) : options.filter;
}

void check_normaliser(const Kernel& kernel, const Normaliser& normaliser, const char* operation) {
    if (normaliser.kind == Kind::entmax && !normaliser.alpha.defined())
        throw ValueError(operation, "entmax needs its alpha; use entmax_weights(alpha)");
    const bool divides = normaliser.kind == Kind::division;
    if (normaliser.kind == Kind::automatic || divides == kernel.direct) return;
    throw ValueError(operation, "the kernel ", kernel.name,
                     (kernel.direct ? " gives weights: they are divided by their sum"
                                    : " gives log weights, which are not divided"));
}

Var formula_parameter(const Kernel& kernel, const Var& p, DType dtype) {
    if (!p.defined() || p.count() != 1)
        throw ValueError(kernel.name, "a parameter must be one element");
    if (kernel.score == Kernel::Score::difference && !(p.item<double>() > 0))
        throw ValueError(kernel.name, "the bandwidth must be one positive number");
    const double least = dtype == DType::f64 ? std::numeric_limits<double>::min()
                                             : double(std::numeric_limits<float>::min());
    if (const double h = p.item<double>(); kernel.squared && !(h * h >= least))
        throw ValueError(kernel.name, "the square of the bandwidth ", shown(h),
                         " is outside the range of ", name_of(dtype), "; scale the points");
    return reshape(cast(p, dtype), {});
}

}  // namespace attention

Var log_weights(const Var& q, const Var& k, const SmootherOptions& options) {
    constexpr const char* name = "log_weights";
    if (options.kernel.direct)
        throw ValueError(name, "the kernel ", options.kernel.name, " gives weights");
    const auto [at, z, finite] = pairs_of(attention::placed(q, k, options, name), options.kernel);
    const Tensor mask = mask_of(attention::filter_of(at, options), z);
    return mask.defined() ? where(mask, z, number(-infinity, z.dtype())) : z;
}

Var smoother_weights(const Var& q, const Var& k, const SmootherOptions& options) {
    constexpr const char* name = "smoother_weights";
    return weights(attention::placed(q, k, options, name), options, name).w;
}

Var attend_reference(const Var& q, const Var& k, const Var& v, const SmootherOptions& options) {
    return attention::attend_placed(attention::placed(q, k, options), v, options)[0];
}

}  // namespace mercer
