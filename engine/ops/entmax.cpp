#include "engine/ops/entmax.h"

#include "engine/cpu/dispatch.h"
#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/losses.h"
#include "engine/ops/reduce.h"
#include "engine/ops/rows.h"

namespace mercer {

MERCER_DISPATCH(cpu::EntmaxTable, entmax_table)

namespace {

// alpha of each row, in the order of as_rows.
Tensor alpha_rows(const char* name, const Tensor& alpha, const Tensor& x, int axis) {
    if (!alpha.defined()) throw ValueError(name, "alpha is missing");
    require_same_dtype(name, x, alpha, "x", "alpha");
    const Shape kept = kept_shape(x.shape(), 1u << axis);
    if (!(cpu::broadcast_shape(name, alpha.shape(), kept) == kept))
        throw ShapeError(name, "alpha ", alpha.shape(), " must broadcast to one for each row, ",
                         kept);
    const Tensor rows = as_rows(broadcast_to(alpha, kept), axis);
    require_alpha(name, rows);
    return rows;
}

int kind_of(double alpha) {
    return int(alpha == 2     ? EntmaxAlpha::two
               : alpha == 1.5 ? EntmaxAlpha::three_halves
                              : EntmaxAlpha::any);
}

// The row kernels pass over what may have weight about ten times.
constexpr int64_t work = 8;

}  // namespace

void require_alpha(const char* name, const Tensor& alpha) {
    const Tensor all = alpha.contiguous();
    visit_floating(all.dtype(), [&]<class T>(T) {
        const T* const a = static_cast<const T*>(all.raw());
        for (int64_t i = 0; i < all.count(); ++i)
            if (!(a[i] >= T(1) && a[i] <= T(1e6)))
                throw ValueError(name, "alpha must be in [1, 1e6], got ", a[i],
                                 "; keep a free one there as 1 + softplus(a)");
    });
}

template <EntmaxAlpha kind>
Tensor Entmax<kind>::forward(const Attrs& attrs, TensorRefs in) {
    require_floating(name, in[0]);
    constexpr bool any = kind == EntmaxAlpha::any;
    const Tensor alpha = any ? alpha_rows(name, in[1], in[0], attrs.axis) : Tensor();
    const Tensor x = as_rows(in[0], attrs.axis), p = Tensor::empty(x.shape(), x.dtype());
    const auto kernel = entmax_table().forward[int(kind)][x.dtype() == DType::f64];
    const int64_t n = x.shape().back();
    for_rows(rows_of(x), n * work, [&](int64_t r, int64_t rows) {
        kernel(at(x, r * n), any ? at(alpha, r) : nullptr, at(p, r * n), rows, n);
    });
    return as_rows(p, attrs.axis);
}

template <EntmaxAlpha kind>
std::array<Tensor, 2> Entmax<kind>::backward(const Attrs& attrs, const Tensor& out,
                                             const Tensor& alphas, const Tensor& gradient,
                                             bool wants_alpha) {
    const OperationScope scope(name, {&out, &alphas, &gradient});
    constexpr bool any = kind == EntmaxAlpha::any;
    const Tensor alpha = any ? alpha_rows(name, alphas, out, attrs.axis) : Tensor();
    const Tensor p = as_rows(out, attrs.axis), g = as_rows(gradient, attrs.axis),
                 dx = Tensor::empty(p.shape(), p.dtype());
    const Tensor dalpha = wants_alpha ? Tensor::zeros(alpha.shape(), p.dtype()) : Tensor();
    const auto kernel = entmax_table().backward[int(kind)][p.dtype() == DType::f64];
    const int64_t n = p.shape().back();
    for_rows(rows_of(p), n * (any ? work : 1), [&](int64_t r, int64_t rows) {
        kernel(at(p, r * n), any ? at(alpha, r) : nullptr, at(g, r * n), at(dx, r * n),
               wants_alpha ? at(dalpha, r) : nullptr, rows, n);
    });
    return {as_rows(dx, attrs.axis),
            wants_alpha ? sum_to(as_rows(dalpha, attrs.axis), alphas.shape()) : Tensor()};
}

template struct Entmax<EntmaxAlpha::two>;
template struct Entmax<EntmaxAlpha::three_halves>;
template struct Entmax<EntmaxAlpha::any>;

std::array<Tensor, 4> FenchelYoung::forward(const Attrs& attrs, TensorRefs in) {
    require_floating(name, in[0]);
    if (in[0].rank() == 0 || in[0].size(-1) == 0 || !(in[0].shape() == in[1].shape()))
        throw ShapeError(name, "x needs a class at least, and the target its shape: x ",
                         in[0].shape(), " vs target ", in[1].shape());
    require_same_dtype(name, in[0], in[1], "x", "target");
    if (!(attrs.alpha >= 1 && attrs.alpha <= 1e6))
        throw ValueError(name, "alpha must be in [1, 1e6], got ", attrs.alpha);
    const Tensor x = in[0].contiguous(), y = in[1].contiguous();
    const Shape shape = x.shape().part(0, x.rank() - 1);
    std::array<Tensor, 4> out;  // loss, top, s, Σ
    for (Tensor& t : out) t = Tensor::empty(shape, x.dtype());
    const auto kernel = entmax_table().loss[kind_of(attrs.alpha)][x.dtype() == DType::f64];
    const int64_t n = x.shape().back();
    for_rows(rows_of(x), n * work, [&](int64_t r, int64_t rows) {
        kernel(at(x, r * n), at(y, r * n), at(out[0], r), at(out[1], r), at(out[2], r),
               at(out[3], r), rows, n, attrs.alpha - 1);
    });
    return out;
}

Tensor FenchelYoung::backward(const Attrs& attrs, const Tensor& from, const Tensor& target,
                              const Tensor& top, const Tensor& s, const Tensor& sum,
                              const Tensor& g) {
    const OperationScope scope(name, {&from, &target, &g});
    const Tensor x = from.contiguous(), y = target.contiguous(), w = g.contiguous(),
                 dx = Tensor::empty(x.shape(), x.dtype());
    const auto kernel = entmax_table().loss_gradient[kind_of(attrs.alpha)][x.dtype() == DType::f64];
    const int64_t n = x.shape().back();
    const bool stream = streams(x, 3);
    for_rows(rows_of(x), n, [&](int64_t r, int64_t rows) {
        kernel(at(x, r * n), at(y, r * n), at(top, r), at(s, r), at(sum, r), at(w, r),
               at(dx, r * n), rows, n, attrs.alpha - 1, stream);
    });
    return dx;
}

}  // namespace mercer
