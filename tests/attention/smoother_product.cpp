#include "tests/attention/smoother_product.h"

#include "tests/attention/every_kernel.h"

namespace mercer::test {
namespace {

using Kind = Normaliser::Kind;

constexpr int most_draws = 41;
constexpr double rounding = 0x1p-24;

double root_mean_square(const Tensor& x) {
    return x.count() ? std::sqrt(mean(square(cast(x, DType::f64))).item<double>()) : 0;
}
double largest(const Tensor& x) { return x.count() ? max(abs(x)).item<double>() : 0; }
double median(std::vector<double> x) {
    std::nth_element(x.begin(), x.begin() + int64_t(x.size() / 2), x.end());
    return x[x.size() / 2];
}

// ∂w = e∘(∂z − Σ e·∂z/Σ e): e = w^{2−α}, of a division 1/Σz.
Tensor escorts(const Tensor& w, const Tensor& z, const Normaliser& n) {
    const Tensor inside = not_equal(w, 0), zero = Tensor::scalar(0, DType::f64);
    const auto power = [&](const Tensor& exponent) {
        return where(inside, exp(log(where(inside, w, zero + 1.0)) * exponent), zero);
    };
    switch (n.kind) {
        case Kind::sparsemax: return power(zero);
        case Kind::entmax15: return power(zero + 0.5);
        case Kind::entmax: return power(2.0 - n.alpha.value());
        case Kind::division: return where(not_equal(z, 0), w / z, zero);
        default: return w;
    }
}

// z, or of a cosine what its slope along the vectors is taken from: of constant norms.
Var score(const Attended& a) {
    const Kernel& kernel = a.options.kernel;
    if (kernel.direct) return kernel_values(kernel, a.q, a.k);
    if (std::string(kernel.name) != "cosine") return log_weights(a.q, a.k, a.options);
    const auto norm = [](const Var& x) { return sqrt(sum(square(x.detach()), {-1}, true)); };
    return matmul(a.q / norm(a.q), transpose(a.k / norm(a.k))) * kernel.parameters.front();
}

/// Errors of float32 for one result, draw by draw, in roundings.
struct Errors {
    std::vector<double> fused{}, plain{};
    void add(double ours, double theirs, double unit) {
        const auto in_units = [&](double error) { return error == 0 ? 0 : error / unit; };
        fused.push_back(in_units(ours)), plain.push_back(in_units(theirs));
    }
    bool hold() const { return median(fused) <= 2 * median(plain) + 1; }
};

}  // namespace

Subject::Subject(const Combination& c) : width_(c.d) {
    constexpr int64_t widths[] = {1, 8, 33, 64, 128};
    values_ = widths[(c.kernel + c.filter) % 5];
    filter_ = product_filters(c.t)[c.filter];
    // Small ones have heads enough to be handed out whole.
    const int64_t least = c.t < 64 ? 2 : 1;
    batches_ = std::max(filter_.batches, least), heads_ = std::max(filter_.heads, least);
    kernel_ = product_kernels(c.d, std::max(filter_.queries, filter_.keys))[c.kernel];
    normaliser_ = product_normalisers(heads_, filter_.queries)[c.normaliser];
    name = kernel_.name + ", " + filter_.name + ", " + normaliser_.name + ", " +
           std::to_string(c.t) + " × " + std::to_string(c.d);
}

std::vector<Tensor> Subject::operands(uint64_t draw) const {
    const auto sample = [&](uint64_t n, int64_t rows, int64_t width) {
        return randn(Key{93, n + 10 * draw}, {batches_, heads_, rows, width}, DType::f64);
    };
    const auto place = [&](uint64_t n, int64_t rows) {
        const Tensor x = sample(n, rows, width_) * 0.8;
        if (kernel_.has_sign) return x + 0.5;        // or the weights all but cancel
        return width_ > 1 ? x : x * 0.75 + sign(x);  // a norm near 0 makes slopes of its inverse
    };
    std::vector<Tensor> x{place(0, filter_.queries), place(1, filter_.keys),
                          sample(2, filter_.keys, values_)};
    for (const auto* more : {&kernel_.parameters, &normaliser_.parameters})
        x.insert(x.end(), more->begin(), more->end());
    return x;
}

SmootherResults Subject::results(bool fused, const std::vector<Tensor>& x) const {
    return smoother_results(fused, x, [&](std::span<const Var> at) {
        const Attended a = attended(at);
        return (fused ? attend : attend_reference)(a.q, a.k, at[2], a.options);
    });
}

double Subject::condition(const std::vector<Tensor>& x) const {
    if (!kernel_.has_sign) return 1;
    const Attended a = attended(std::vector<Var>(x.begin(), x.end()));
    const Tensor w = smoother_weights(a.q, a.k, a.options).value();
    return std::max(1.0, largest(sum(abs(w), {-1})));
}

SmootherResults Subject::parts(const std::vector<Tensor>& x) const {
    Tape tape;
    std::vector<Var> at;
    for (const Tensor& t : x) at.push_back(tape.watch(t));
    const Attended a = attended(at);
    const Tensor w = smoother_weights(a.q, a.k, a.options).value(),
                 zero = Tensor::scalar(0, DType::f64), inside = not_equal(w, 0);
    Shape out = x[2].shape();
    out[out.rank() - 2] = filter_.queries;
    const Tensor g = matmul(cotangent_of(out), transpose(x[2]));
    const Var z = score(a);
    const Tensor e = escorts(w, z.value(), a.options.normaliser);
    const Var losses[] = {z};
    SmootherResults r = tape.gradient(losses, at, {.cotangents = {where(inside, e * g, zero)}});
    r[2] = zero;
    r.insert(r.begin(), zero);
    if (!normaliser_.parameters.empty()) {
        // ∂p/∂α is p·((1 + …)·H − …)/ε: of each row H·D/ε, H the entropy
        const Tensor h = sum(where(inside, w * log(where(inside, w, zero + 1.0)), zero), {-1},
                             true),
                     mean_ = sum(e * g, {-1}, true) / (sum(e, {-1}, true) + 1e-300),
                     each = h * mean_ / (a.options.normaliser.alpha.value() - 1.0);
        r.back() = r.back().count() > 1 ? each : sqrt(sum(square(each)));
    }
    return r;
}

Attended Subject::attended(std::span<const Var> x) const {
    const size_t n = kernel_.parameters.size();
    Attended a = kernel_.make(x[0], x[1], x.subspan(3, n));
    a.options.filter = filter_.filter;
    a.options.normaliser = normaliser_.make(x.subspan(3 + n));
    return a;
}

Outcome compare(const Combination& c) {
    const Subject s(c);
    Outcome out{.name = s.name};
    std::vector<Tensor> x = s.operands(0);
    SmootherResults exact = s.results(false, x), parts;
    const auto parts_of = [&](const std::vector<Tensor>& at) {
        if (parts.empty()) parts = s.parts(at);
    };
    const double condition = s.condition(x);
    const SmootherResults fused = s.results(true, x);
    for (size_t i = 0; i < exact.size(); ++i) {
        double d = largest_distance(fused[i], exact[i]) / condition;
        if (!(d < 1e-12)) {
            parts_of(x);
            const double size = std::max(0.5, largest(exact[i]));
            d *= size / std::max(size, largest(parts[i]));
        }
        out.float64 = d <= out.float64 ? out.float64 : d;
        if (!(d < 1e-12))
            out.failures.push_back(s.name + ": float64, result " + std::to_string(i) + ": " +
                                   std::to_string(d * 1e12) + "e-12");
    }

    std::vector<Errors> errors;
    const auto all_hold = [&] {
        return std::all_of(errors.begin(), errors.end(), [](const Errors& e) { return e.hold(); });
    };
    for (int draw = 0; draw < most_draws; ++draw) {
        if (draw > 0) x = s.operands(uint64_t(draw)), exact = s.results(false, x), parts.clear();
        const std::vector<Tensor> narrow = in_float32(x);
        const SmootherResults ours = s.results(true, narrow), plain = s.results(false, narrow);
        const auto error = [&](const SmootherResults& r, size_t i) {
            return root_mean_square(cast(r[i], DType::f64) - exact[i]);
        };
        const double unit = rounding * s.condition(x);
        const auto add = [&] {
            errors.resize(exact.size());
            for (size_t i = 0; i < exact.size(); ++i) {
                double size = root_mean_square(exact[i]);
                if (out.by_parts) size = std::max(size, 2 * root_mean_square(parts[i]));
                errors[i].add(error(ours, i), error(plain, i), unit * size);
            }
        };
        if (out.by_parts) parts_of(x);
        add();
        if (draw == 0 && !all_hold()) {
            out.by_parts = true;
            parts_of(x);
            errors.clear();
            add();
        }
        out.draws = draw + 1;
        if (all_hold()) break;
    }
    for (size_t i = 0; i < errors.size(); ++i) {
        const Errors& e = errors[i];
        const double mine = median(e.fused), theirs = median(e.plain);
        if (mine > 1) out.ratio = std::max(out.ratio, (mine - 1) / theirs);
        if (!e.hold())
            out.failures.push_back(s.name + ": float32, result " + std::to_string(i) + ": " +
                                   std::to_string(mine) + " roundings against " +
                                   std::to_string(theirs));
    }
    return out;
}

}  // namespace mercer::test
