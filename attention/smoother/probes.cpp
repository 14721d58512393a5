#include "attention/smoother/probes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t block = 64;  // queries at a time

// [B…, T, d] as [B, H, T, d], the axes that filters know; more leading axes only where the filter
// does not tell them apart.
Tensor with_heads(const Tensor& x, const Filter& filter) {
    const Shape& s = x.shape();
    if (s.rank() == 2) return reshape(x, {1, 1, s[0], s[1]});
    if (s.rank() == 3) return reshape(x, {s[0], 1, s[1], s[2]});
    if (s.rank() == 4) return x;
    if (filter.rule() && (filter.rule()->by_batch() || filter.rule()->by_head()))
        throw ShapeError("probe_rows", "the filter looks at batch entries or heads; ", s,
                         " should be [B, H, T, d]");
    int64_t entries = 1;
    for (int a = 0; a < s.rank() - 2; ++a) entries *= s[a];
    return reshape(x, {entries, 1, s[s.rank() - 2], s[s.rank() - 1]});
}

Tensor entry(const Tensor& x, int64_t b, int64_t h) {
    return reshape(slice(slice(x, 0, b, b + 1), 1, h, h + 1), {x.size(2), x.size(3)});
}

}  // namespace

LogFactors similarity_and_magnitude(const Var& q, const Var& k) {
    const CalledAs called("similarity_and_magnitude");
    const Var log_rbf =
        log_weights(q, k, {.kernel = rbf_similarity()});  // without the query's norm
    const auto magnitude = [](const Var& x) {
        return sum(square(x), {-1}, true) * (0.5 / std::sqrt(double(x.size(-1))));
    };
    const Var query = magnitude(q);
    return {log_rbf - query, query, transpose(magnitude(k))};
}

RowProbes probe_rows(const Tensor& q, const Tensor& k, const Filter& filter) {
    bool fits = q.rank() >= 2 && q.rank() == k.rank() && q.size(-1) == k.size(-1);
    for (int a = 0; fits && a < q.rank() - 2; ++a) fits = q.size(a) == k.size(a);
    if (!fits)
        throw ShapeError("probe_rows", "queries ", q.shape(), " and keys ", k.shape(),
                         " need the same leading axes and the same width");
    const Tensor qs = with_heads(q, filter), ks = with_heads(k, filter);
    const int64_t queries = q.size(-2), keys = k.size(-2);
    if (filter.rule()) filter.rule()->check(extent(qs.shape(), keys));
    Shape rows = q.shape();
    rows.erase(rows.rank() - 1);
    RowProbes out{Tensor::full(rows, nan, DType::f64), Tensor::full(rows, nan, DType::f64)};
    double *closest = out.log_similarity.mutable_data<double>(),
           *magnitude = out.magnitude.mutable_data<double>();
    std::vector<char> marks(size_t(block * keys), true);
    bool* const seen = reinterpret_cast<bool*>(marks.data());
    for (int64_t b = 0; b < qs.size(0); ++b)
        for (int64_t h = 0; h < qs.size(1); ++h) {
            const Tensor all_keys = cast(entry(ks, b, h), DType::f64);
            for (int64_t i = 0; i < queries; i += block) {
                const int64_t n = std::min(block, queries - i);
                const LogFactors f = similarity_and_magnitude(
                    cast(slice(entry(qs, b, h), 0, i, i + n), DType::f64), all_keys);
                const std::vector<double> s = f.similarity.value().to_vector<double>(),
                                          a = f.query.value().to_vector<double>(),
                                          c = f.key.value().to_vector<double>();
                if (filter.rule()) filter.rule()->mark({b, h, i, n, 0, keys}, seen);
                for (int64_t r = 0; r < n; ++r, ++closest, ++magnitude) {
                    double most = -std::numeric_limits<double>::infinity(), total = 0;
                    int64_t count = 0;
                    for (int64_t j = 0; j < keys; ++j) {
                        if (!seen[r * keys + j]) continue;
                        const double one = s[size_t(r * keys + j)];
                        most = std::isnan(most) || one <= most ? most : one;
                        total += c[size_t(j)];
                        ++count;
                    }
                    if (count == 0) continue;
                    *closest = std::min(most, 0.0);  // above 0 only by rounding
                    *magnitude = a[size_t(r)] + total / double(count);
                }
            }
        }
    return out;
}

LayerProbe probe_layer(const Tensor& q, const Tensor& k, const Filter& filter) {
    const RowProbes rows = probe_rows(q, k, filter);
    const auto mean_of = [](const Tensor& x) {
        const Tensor sees = logical_not(isnan(x));
        return sum(where(sees, x, Tensor::zeros({}, DType::f64))).item<double>() /
               double(count_nonzero(sees).item<int64_t>());
    };
    return {mean_of(rows.log_similarity), mean_of(rows.magnitude)};
}

}  // namespace mercer
