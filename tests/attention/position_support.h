// What the tests of position schemes share.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "attention/smoother/position/position.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/support/message.h"

namespace mercer::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline Tensor sample(uint64_t stream, const Shape& shape) {
    return randn(Key{17, stream}, shape, DType::f64);
}

inline double largest(const Tensor& t) { return t.count() ? max(abs(t)).item<double>() : 0; }

/// max|a − b|/max|b|; shapes must be equal.
inline double difference(const Var& a, const Var& b) {
    REQUIRE(a.shape() == b.shape());
    return largest((a - b).value()) / largest(b.value());
}

/// Element [b, h, i, c] of a tensor [B, H, T, d], or of a table [H, T, d] with b = 0.
struct At {
    std::vector<double> x;
    Shape shape;

    explicit At(const Var& v) : x(v.value().to_vector<double>()), shape(v.shape()) {}
    double operator()(int64_t b, int64_t h, int64_t i, int64_t c) const {
        const auto size = [&](int axis) {
            return shape.rank() >= axis ? shape[shape.rank() - axis] : 1;
        };
        if (size(3) == 1) h = 0;
        return x[size_t(((b * size(3) + h) * size(2) + i) * size(1) + c)];
    }
};

/// The logits of exp(⟨q, k⟩/√d) times what the scheme adds.
inline Var logits(const Positioned& p) {
    const Var dots = matmul(p.q, transpose(p.k)) / std::sqrt(double(p.q.size(-1)));
    const Var term = p.term();
    return term.defined() ? dots + term : dots;
}
inline Var weights(const Position& scheme, const Var& q, const Var& k) {
    return softmax(logits(place(scheme, q, k)), -1);
}

/// Σ_c a[i, c]·b[j, c] over the widths.
inline double dot(const At& a, const At& b, int64_t n, int64_t h, int64_t i, int64_t j) {
    double s = 0;
    for (int64_t c = 0; c < a.shape.back(); ++c) s += a(n, h, i, c) * b(n, h, j, c);
    return s;
}

/// Every element of out [B, H, Tq, Tk] against f(b, h, i, j), to 1e-12 of the largest.
template <class F>
void check_elements(const Var& out, F f, const std::string& what = "") {
    REQUIRE(out.rank() == 4);
    const At got(out);
    double error = 0, scale = 0;
    for (int64_t b = 0; b < out.size(0); ++b)
        for (int64_t h = 0; h < out.size(1); ++h)
            for (int64_t i = 0; i < out.size(2); ++i)
                for (int64_t j = 0; j < out.size(3); ++j) {
                    const double want = f(b, h, i, j), have = got(b, h, i, j);
                    if (std::isfinite(want)) scale = std::max(scale, std::abs(want));
                    if (want == have) continue;  // infinities too
                    const double e = std::abs(have - want);
                    error = std::isnan(e) ? infinity : std::max(error, e);
                }
    CHECK_MESSAGE(error <= 1e-12 * scale, what, " error ", error, " of ", scale);
}

template <class F>
void check_gradients(const char* what, F f, std::initializer_list<Tensor> inputs) {
    const GradcheckReport r = gradcheck([&](std::span<const Var> x) { return f(x); },
                                        std::span(inputs.begin(), inputs.size()));
    CHECK_MESSAGE(r.ok, what, ": ", r.failure);
}

}  // namespace mercer::test
