// Products of floats, some of whose partial products may leave the range: with an exponent of their own, so that 0·∞ is
// not met unless it stands in x. Gradients line by line in f64.
#include <algorithm>
#include <cmath>

#include "engine/functions.h"
#include "engine/ops/reduce.h"
#include "engine/ops/rows.h"
#include "engine/ops/scan.h"
#include "engine/scratch.h"

namespace mercer {
namespace {

bool is_moderate(double x) { return std::abs(x) >= 0x1p-500 && std::abs(x) <= 0x1p500; }

/// m·2^e.
struct Scaled {
    double m = 1;
    int64_t e = 0;

    Scaled operator*(double x) const {
        if (is_moderate(m * x) || m == 0 || x == 0) return {m * x, e};
        int of_m = 0, of_x = 0;
        const double y = std::frexp(m, &of_m) * std::frexp(x, &of_x);
        return {y, e + of_m + of_x};
    }
    Scaled operator*(const Scaled& x) const {
        const Scaled y = *this * x.m;
        return {y.m, y.e + x.e};
    }
    explicit operator double() const {
        return std::ldexp(m, int(std::clamp<int64_t>(e, -4000, 4000)));
    }
};

// y ← y·factor; whether that is in range.
bool multiply(double& y, double factor) {
    const double before = y;
    y *= factor;
    return is_moderate(y) || before == 0 || factor == 0;
}
bool multiply(Scaled& y, double factor) {
    y = y * factor;
    return true;
}

/// dx_j = g · Π_{k<j} x_k · Π_{k>j} x_k by numbers Y, `before` room for n of them; false, and nothing said of dx, where they
/// do not hold a partial product.
template <class Y, class T>
bool products_of_others(const T* x, int64_t n, double g, Y* before, T* dx) {
    bool held = true;
    Y y{1}, after{1};
    for (int64_t j = 0; j < n; ++j) before[j] = y, held &= multiply(y, double(x[j]));
    for (int64_t j = n - 1; held && j >= 0; --j) {
        dx[j] = T(double(before[j] * after * g));
        held = multiply(after, double(x[j]));
    }
    return held;
}

template <class T>
void cumprod_gradient(const ScanAttrs& attrs, const T* x, const T* g, int64_t n, double* tail,
                      T* dx) {
    const auto at = [&](int64_t j) { return attrs.reverse ? n - 1 - j : j; };
    // Where a product is 0 because a factor is, an overflow of the others does not count; an infinity that is given among
    // them does: the first one of x, and the last one of x beyond j or of g from there on, as the largest such j.
    int64_t first = n, last = -1;
    bool looked = false;
    const auto look = [&] {
        for (int64_t k = 0; !looked && k < n; ++k) {
            if (std::isinf(x[at(k)])) first = std::min(first, k), last = std::max(last, k - 1);
            if (std::isinf(g[at(k)])) last = std::max(last, attrs.exclusive ? k - 1 : k);
        }
        looked = true;
    };
    // a: of x before `end`; b: of what there is for j
    const auto by = [&](double a, double b, int64_t end, int64_t j) {
        if (!(a == 0 && std::isinf(b)) && !(b == 0 && std::isinf(a))) return a * b;
        look();
        return (a == 0 ? last >= j : first < end) ? a * b : 0;
    };
    double r = 0, before = 1;
    for (int64_t j = n - 1; j >= 0; --j) {
        const int64_t from = attrs.exclusive ? j + 1 : j;
        if (j + 1 < n) r = by(double(x[at(j + 1)]), r, j + 2, j + 1);
        tail[j] = r = r + (from < n ? double(g[at(from)]) : 0);
    }
    for (int64_t j = 0; j < n; ++j) {
        dx[at(j)] = T(by(before, tail[j], j, j));
        before *= double(x[at(j)]);
    }
}

/// dx, line by line: body(r, line r of x, room for n numbers, that of dx).
template <class Body>
Tensor line_by_line(const AxesLast& t, const Tensor& x, Body body) {
    const Tensor from = t.lines(x).contiguous(), to = Tensor::empty(from.shape(), from.dtype());
    visit_floating(to.dtype(), [&]<class T>(T) {
        for_rows(t.rows, 8 * t.n, [&](int64_t first, int64_t rows) {
            Scratch scratch;
            double* const room = scratch.take<double>(t.n);
            for (int64_t r = first; r < first + rows; ++r)
                body(r, static_cast<const T*>(from.raw()) + r * t.n, room,
                     static_cast<T*>(to.raw()) + r * t.n);
        });
    });
    return t.restored(to);
}

}  // namespace

void settle_products(const Tensor& x, unsigned axes, const Tensor& y) {
    // Of those that are 0 nearly all should be, and to look at each again would take as long as the product.
    if (y.count() == 0) return;
    const Tensor top = cpu::reduce(cpu::Reduction::max_abs, reshape(y, {y.count(), 1}), 1);
    if (std::isfinite(top.item<double>())) return;
    const AxesLast t(x.shape(), axes);
    const Tensor lines = t.lines(x).contiguous();
    visit_floating(y.dtype(), [&]<class T>(T) {
        T* const to = static_cast<T*>(y.raw());
        for_rows(t.rows, 8 * t.n, [&](int64_t first, int64_t rows) {
            for (int64_t r = first; r < first + rows; ++r) {
                if (std::isfinite(to[r])) continue;
                const T* const from = static_cast<const T*>(lines.raw()) + r * t.n;
                Scaled all;
                for (int64_t j = 0; j < t.n; ++j) all = all * double(from[j]);
                to[r] = T(double(all));
            }
        });
    });
}

Tensor prod_gradient(const Tensor& x, unsigned axes, const Tensor& g) {
    const OperationScope scope(Prod::name, {&x, &g});
    const AxesLast t(x.shape(), axes);
    const Tensor weights = g.contiguous();
    return line_by_line(t, x, [&]<class T>(int64_t r, const T* row, double* before, T* dx) {
        const double weight = double(static_cast<const T*>(weights.raw())[r]);
        if (products_of_others(row, t.n, weight, before, dx)) return;
        Scratch more;
        products_of_others(row, t.n, weight, more.take<Scaled>(t.n), dx);
    });
}

Tensor cumprod_gradient(const ScanAttrs& attrs, const Tensor& x, const Tensor& g) {
    const OperationScope scope(Cumprod::name, {&x, &g});
    const AxesLast t(x.shape(), 1u << attrs.axis);
    const Tensor by = t.lines(g).contiguous();
    return line_by_line(t, x, [&]<class T>(int64_t r, const T* row, double* tail, T* dx) {
        cumprod_gradient(attrs, row, static_cast<const T*>(by.raw()) + r * t.n, t.n, tail, dx);
    });
}

}  // namespace mercer
