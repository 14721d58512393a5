#include "engine/ops/product.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/functions.h"
#include "engine/ops/rows.h"

namespace mercer {
namespace {

/// m·2^e, ½ ≤ |m| < 1 unless it is 0, ∞ or NaN.
struct Scaled {
    double m = 1;
    int64_t e = 0;

    Scaled operator*(double x) const {
        int of_x = 0, of_both = 0;
        const double y = std::frexp(m * std::frexp(x, &of_x), &of_both);
        return {y, e + of_x + of_both};
    }
    Scaled operator*(const Scaled& x) const {
        const Scaled y = *this * x.m;
        return {y.m, y.e + x.e};
    }
    double value() const { return std::ldexp(m, int(std::clamp<int64_t>(e, -4000, 4000))); }
};

template <class T>
void products_of_others(const T* x, int64_t n, T g, T* dx) {
    std::vector<Scaled> before(static_cast<size_t>(n));
    Scaled y, after = Scaled() * double(g);
    for (int64_t j = 0; j < n; ++j) before[size_t(j)] = y, y = y * double(x[j]);
    for (int64_t j = n - 1; j >= 0; --j) {
        dx[j] = T((before[size_t(j)] * after).value());
        after = after * double(x[j]);
    }
}

template <class T>
void cumprod_gradient(const ScanAttrs& attrs, const T* x, const T* g, int64_t n, T* dx) {
    const auto at = [&](int64_t j) { return attrs.reverse ? n - 1 - j : j; };
    std::vector<double> tail(static_cast<size_t>(n));
    double r = 0, before = 1;
    for (int64_t j = n - 1; j >= 0; --j) {
        const double next = j + 1 < n ? double(x[at(j + 1)]) : 0;
        const int64_t from = attrs.exclusive ? j + 1 : j;
        r = (from < n ? double(g[at(from)]) : 0) + (next == 0 ? 0 : next * r);
        tail[size_t(j)] = r;
    }
    for (int64_t j = 0; j < n; ++j) {
        dx[at(j)] = T(before == 0 ? 0 : before * tail[size_t(j)]);
        before *= double(x[at(j)]);
    }
}

/// body(r) for the lines r of n for which `wrong` does not hold a 0.
template <class Body>
void for_wrong(const Tensor& wrong, int64_t n, Body body) {
    const bool* const is = wrong.data<bool>();
    for_rows(wrong.count(), 8 * n, [&](int64_t r, int64_t rows) {
        for (const int64_t end = r + rows; r < end; ++r)
            if (is[r]) body(r);
    });
}
bool all_finite(const Tensor& dense) {
    return std::isfinite(norm_p(reshape(dense, {dense.count()}), INFINITY).item<double>());
}
Tensor not_normal(const Tensor& y) {
    const double least = y.dtype() == DType::f64 ? 0x1p-1022 : 0x1p-126;
    return logical_not(logical_and(greater_equal(abs(y), least), isfinite(y)));
}

}  // namespace

void settle_products(const Tensor& x, unsigned axes, const Tensor& y) {
    // Of those that are 0 nearly all should be, and to look at each again would take as long as the product.
    if (all_finite(y)) return;
    const Tensor wrong = logical_not(isfinite(y));
    const AxesLast t(x.shape(), axes);
    const Tensor lines = t.lines(x).contiguous();
    visit_floating(y.dtype(), [&]<class T>(T) {
        for_wrong(wrong, t.n, [&](int64_t r) {
            const T* const from = static_cast<const T*>(lines.raw()) + r * t.n;
            Scaled all;
            for (int64_t j = 0; j < t.n; ++j) all = all * double(from[j]);
            static_cast<T*>(y.raw())[r] = T(all.value());
        });
    });
}

Tensor prod_gradient(const Tensor& x, unsigned axes, const Tensor& y, const Tensor& g) {
    const OperationScope scope(Prod::name, {&x, &y, &g});
    const Tensor dx = y / x * g, wrong = not_normal(y);
    if (!any(wrong).item<bool>()) return dx;
    const AxesLast t(x.shape(), axes);
    const Tensor from = t.lines(x).contiguous(), to = t.lines(dx).contiguous(), by = g.contiguous();
    visit_floating(y.dtype(), [&]<class T>(T) {
        for_wrong(wrong, t.n, [&](int64_t r) {
            products_of_others(static_cast<const T*>(from.raw()) + r * t.n, t.n,
                               static_cast<const T*>(by.raw())[r],
                               static_cast<T*>(to.raw()) + r * t.n);
        });
    });
    return t.restored(to);
}

Tensor settled_cumprod_gradient(const ScanAttrs& attrs, const Tensor& x, const Tensor& g,
                                const Tensor& dx) {
    const Tensor wrong = logical_not(isfinite(norm_p(dx, {attrs.axis}, INFINITY)));
    if (!any(wrong).item<bool>()) return dx;
    const AxesLast t(x.shape(), 1u << attrs.axis);
    const Tensor from = t.lines(x).contiguous(), by = t.lines(g).contiguous(),
                 to = t.lines(dx).clone();
    visit_floating(dx.dtype(), [&]<class T>(T) {
        for_wrong(wrong, t.n, [&](int64_t r) {
            cumprod_gradient(attrs, static_cast<const T*>(from.raw()) + r * t.n,
                             static_cast<const T*>(by.raw()) + r * t.n, t.n,
                             static_cast<T*>(to.raw()) + r * t.n);
        });
    });
    return t.restored(to);
}

}  // namespace mercer
