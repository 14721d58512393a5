#include "engine/ops/entmax.h"

#include "engine/cpu/dispatch.h"
#include "engine/cpu/entmax_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/loss_rows.h"
#include "engine/ops/reduce.h"
#include "engine/ops/rows.h"

namespace mercer {

MERCER_DISPATCH(cpu::EntmaxTable, entmax_table)

namespace {

// alpha of each row, in the order of as_rows.
Tensor alpha_rows(const char* name, const Tensor& alpha, const Tensor& x, int axis) {
    if (!alpha.defined()) throw ValueError(name, "alpha is missing");
    if (alpha.dtype() != x.dtype())
        throw DTypeError(name, "dtypes differ: x " + std::string(name_of(x.dtype())) +
                                   " vs alpha " + std::string(name_of(alpha.dtype())) +
                                   "; use cast on one");
    const Tensor rows = as_rows(broadcast_to(alpha, kept_shape(x.shape(), 1u << axis)), axis);
    visit(x.dtype(), [&]<class T>(T) {
        const T* a = static_cast<const T*>(rows.raw());
        for (int64_t r = 0; r < rows.count(); ++r)
            if (!(a[r] >= T(1) && a[r] <= T(1e6)))
                throw ValueError(name, "alpha must be in [1, 1e6], got " + std::to_string(a[r]) +
                                           "; keep a free one there as 1 + softplus(a)");
    });
    return rows;
}

// The row kernels pass over a row about ten times, each time with some arithmetic.
constexpr int64_t work = 32;

}  // namespace

template <EntmaxAlpha kind>
Tensor Entmax<kind>::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    require_floating(name, in[0]);
    constexpr bool any = kind == EntmaxAlpha::any;
    const Tensor alpha = any ? alpha_rows(name, in[1], in[0], attrs.axis) : Tensor();
    const Tensor x = as_rows(in[0], attrs.axis), p = Tensor::empty(x.shape(), x.dtype());
    const auto kernel = entmax_table().forward[int(kind)][x.dtype() == DType::f64];
    const int64_t n = x.shape().back();
    for_rows(rows_of(x), n * work, [&](int64_t r, int64_t rows) {
        kernel(at(x, r * n), any ? at(alpha, r) : nullptr, at(p, r * n), rows, n);
    });
    return from_rows(p, attrs.axis);
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
    const Tensor dalpha = wants_alpha ? Tensor::empty(alpha.shape(), p.dtype()) : Tensor();
    const auto kernel = entmax_table().backward[int(kind)][p.dtype() == DType::f64];
    const int64_t n = p.shape().back();
    for_rows(rows_of(p), n * (any ? work : 1), [&](int64_t r, int64_t rows) {
        kernel(at(p, r * n), any ? at(alpha, r) : nullptr, at(g, r * n), at(dx, r * n),
               wants_alpha ? at(dalpha, r) : nullptr, rows, n);
    });
    return {from_rows(dx, attrs.axis),
            wants_alpha ? sum_to(from_rows(dalpha, attrs.axis), alphas.shape()) : Tensor()};
}

template struct Entmax<EntmaxAlpha::two>;
template struct Entmax<EntmaxAlpha::half_three>;
template struct Entmax<EntmaxAlpha::any>;

namespace {

// Ω(p) by row: (Σ p^α − 1)/(α(α − 1)), Σ p log p for α = 1; 0 for a row of zeros.
Tensor negentropy(const Tensor& p, double alpha) {
    const Tensor zero = Tensor::zeros({}, p.dtype()), inside = greater(p, 0),
                 safe = where(inside, p, zero + 1.0);
    if (alpha == 1) return sum(p * log(safe), {-1});
    const Tensor above = alpha == 2 ? p : exp((alpha - 1) * log(safe));
    return sum(where(inside, p * (above - 1.0), zero), {-1}) / (alpha * (alpha - 1));
}

}  // namespace

Tensor FenchelYoung::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor &x = in[0], &y = in[1];
    require_floating(name, x);
    if (x.rank() == 0 || !(x.shape() == y.shape()))
        throw ShapeError(name, "the target must have the shape of x: x " + to_string(x.shape()) +
                                   " vs target " + to_string(y.shape()));
    const Tensor p = entmax_with(x, attrs.alpha);
    // θ·(p − y), the same under a shift of θ.
    const Tensor zero = Tensor::zeros({}, x.dtype()), away = p - y;
    const Tensor score = where(equal(away, zero), zero, (x - max(x, {-1}, true)) * away);
    return sum(score, {-1}) + negentropy(y, attrs.alpha) - negentropy(p, attrs.alpha);
}

Tensor sparsemax(const Tensor& x, int axis) {
    return compute<Entmax<EntmaxAlpha::two>>({normal_axis("sparsemax", axis, x.rank())}, {&x, 1});
}
Tensor entmax15(const Tensor& x, int axis) {
    return compute<Entmax<EntmaxAlpha::half_three>>({normal_axis("entmax15", axis, x.rank())},
                                                    {&x, 1});
}
Tensor entmax(const Tensor& x, const Tensor& alpha, int axis) {
    const Tensor in[] = {x, alpha};
    return compute<Entmax<EntmaxAlpha::any>>({normal_axis("entmax", axis, x.rank())}, in);
}

Tensor fenchel_young(const Tensor& x, const Tensor& target, double alpha, LossReduction reduction) {
    const Tensor in[] = {x, target};
    const Tensor losses = compute<FenchelYoung>({alpha}, in);
    return reduced_loss(losses, reduction, losses.count());
}

}  // namespace mercer
