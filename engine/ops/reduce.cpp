#include "engine/ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"

namespace mercer {
namespace {

void require_number(const char* name, const Tensor& x) {
    if (x.dtype() == DType::bf16) refuse_bf16(name);
    if (x.dtype() == DType::boolean)
        throw DTypeError(name, "works on numbers, got bool; use cast, or count_nonzero");
}
void require_elements(const char* name, const Tensor& x, unsigned axes) {
    if (reduced_count(x.shape(), axes) == 0 && count(kept_shape(x.shape(), axes)) > 0)
        throw ValueError(name, "nothing to reduce over in ", x.shape());
}

Tensor reduce(const char* name, cpu::Reduction op, const ReduceAttrs& attrs, const Tensor& x) {
    require_number(name, x);
    if (op == cpu::Reduction::max || op == cpu::Reduction::min)
        require_elements(name, x, attrs.axes);
    if (attrs.axes == 0) return x.clone();
    const Tensor y = cpu::reduce(op, x, attrs.axes);
    if (op == cpu::Reduction::prod && is_floating(y.dtype())) settle_products(x, attrs.axes, y);
    return finished(y, attrs);
}

Tensor counted(const char* name, cpu::Counting op, const Tensor& x, const ReduceAttrs& attrs) {
    const OperationScope scope(name, {&x});
    return finished(cpu::reduce(op, x, attrs.axes), attrs);
}

Tensor extremum_index(const char* name, cpu::Extremum op, const Tensor& x,
                      const ReduceAttrs& attrs) {
    const OperationScope scope(name, {&x});
    require_number(name, x);
    require_elements(name, x, attrs.axes);
    return finished(cpu::arg(op, x, attrs.axes), attrs);
}

Tensor mean_squared_deviation(const char* name, const VarianceAttrs& attrs, const Tensor& x) {
    require_floating(name, x);
    return finished(cpu::moments(x, attrs.axes, false)[1] / degrees_of_freedom(x.shape(), attrs),
                    attrs);
}

// (Σ|x|^p)^(1/p) of numbers scaled by their largest, which neither overflows nor vanishes.
Tensor scaled_norm(const Tensor& x, unsigned axes, double p) {
    p = std::max(p, 0x1p-149);  // f32's least, which gives the same; of 0 zeros would count as well
    const Tensor unit = largest_magnitude(x, axes), scaled = x / unit;
    const Tensor sum = p == 2 ? cpu::reduce(cpu::Reduction::sum_square, scaled, axes)
                              : cpu::reduce(cpu::Reduction::sum,
                                            pow(abs(scaled), Tensor::scalar(p, x.dtype())), axes);
    return unit * (p == 2 ? sqrt(sum) : pow(sum, Tensor::scalar(1 / p, x.dtype())));
}

// One pass; only where a square may have overflowed or vanished is the scaled form computed instead.
Tensor euclidean_norm(const Tensor& x, unsigned axes) {
    const Tensor sum = cpu::reduce(cpu::Reduction::sum_square, x, axes);
    const bool wide = x.dtype() == DType::f64;
    const double least = (wide ? 0x1p-1022 : 0x1p-126) * 0x1p60;
    const Tensor safe = logical_and(greater(sum, least), isfinite(sum));
    if (all(safe).item<bool>()) return sqrt(sum);
    return where(safe, sqrt(sum), scaled_norm(x, axes, 2));
}

}  // namespace

ReduceAttrs reduce_axes(const char* operation, std::span<const int> axes, int rank, bool keep) {
    unsigned mask = 0;
    for (int axis : axes) {
        const unsigned bit = 1u << normal_axis(operation, axis, rank);
        if (mask & bit) throw ShapeError(operation, "axis ", axis, " is named twice");
        mask |= bit;
    }
    return {mask, keep};
}
Tensor finished(const Tensor& y, const ReduceAttrs& attrs) {
    if (attrs.keep) return y;
    Shape shape = y.shape();
    for (int i = y.rank() - 1; i >= 0; --i)
        if (attrs.axes & (1u << i)) shape.erase(i);
    return y.view(shape, contiguous_strides(shape), y.offset());
}
ReduceAttrs reduce_all(int rank) { return {(1u << rank) - 1u, false}; }

int64_t reduced_count(const Shape& shape, unsigned axes) {
    int64_t n = 1;
    for (int i = 0; i < shape.rank(); ++i)
        if (axes & (1u << i)) n *= shape[i];
    return n;
}

Tensor mean_of(const Tensor& x, unsigned axes) { return cpu::moments(x, axes, true)[0]; }
Tensor largest_magnitude(const Tensor& x, unsigned axes) {
    const Tensor top = cpu::reduce(cpu::Reduction::max_abs, x, axes);
    return where(logical_and(isfinite(top), greater(top, 0)), top, Tensor::ones({}, x.dtype()));
}

Tensor attained(const Tensor& x, const Tensor& y, bool some_nan) {
    const Tensor hit = equal(x, y);
    return some_nan ? logical_or(hit, logical_and(isnan(x), isnan(y))) : hit;
}
Tensor how_many(const Tensor& mask, unsigned axes, DType dtype) {
    if (reduced_count(mask.shape(), axes) < 8)  // which floats are added up for many rows at a time
        return cpu::reduce(cpu::Reduction::sum, cast(mask, dtype), axes);
    return cast(cpu::reduce(cpu::Counting::count, mask, axes), dtype);
}
bool holds_nan(const Tensor& y) { return is_floating(y.dtype()) && any(isnan(y)).item<bool>(); }

AxesLast::AxesLast(const Shape& shape, unsigned axes) {
    for (const bool reduced : {false, true})
        for (int a = 0; a < shape.rank(); ++a) {
            if (bool(axes & (1u << a)) != reduced) continue;
            moved.push_back(shape[a]);
            (reduced ? n : rows) *= shape[a];
            back[a] = rank;
            order[rank++] = a;
        }
}

double degrees_of_freedom(const Shape& shape, const VarianceAttrs& attrs) {
    return std::max(0.0, double(reduced_count(shape, attrs.axes)) - double(attrs.correction));
}

#define MERCER_REDUCED(Op, which)                            \
    Tensor Op::forward(const Attrs& a, TensorRefs x) {       \
        return reduce(name, cpu::Reduction::which, a, x[0]); \
    }
MERCER_REDUCED(Sum, sum)
MERCER_REDUCED(Max, max)
MERCER_REDUCED(Min, min)
MERCER_REDUCED(Prod, prod)
#undef MERCER_REDUCED

Tensor Mean::forward(const Attrs& a, TensorRefs x) {
    require_floating(name, x[0]);
    return reduce(name, cpu::Reduction::sum, a, x[0]) / double(reduced_count(x[0].shape(), a.axes));
}
Tensor Variance::forward(const Attrs& a, TensorRefs x) {
    return mean_squared_deviation(name, a, x[0]);
}
Tensor Deviation::forward(const Attrs& a, TensorRefs x) {
    return sqrt(mean_squared_deviation(name, a, x[0]));
}
Tensor NormP::forward(const Attrs& a, TensorRefs in) {
    const Tensor& x = in[0];
    require_floating(name, x);
    if (!(a.p >= 0)) throw ValueError(name, "p must be at least 0, got ", a.p);
    if (reduced_count(x.shape(), a.axes) == 0)
        return finished(Tensor::zeros(kept_shape(x.shape(), a.axes), x.dtype()), a);
    if (a.p == 0) return finished(cast(cpu::reduce(cpu::Counting::count, x, a.axes), x.dtype()), a);
    if (a.p == 1) return finished(cpu::reduce(cpu::Reduction::sum_abs, x, a.axes), a);
    if (a.p == 2) return finished(euclidean_norm(x, a.axes), a);
    if (std::isinf(a.p)) return finished(cpu::reduce(cpu::Reduction::max_abs, x, a.axes), a);
    return finished(scaled_norm(x, a.axes, a.p), a);
}

#define MERCER_COUNTING(function, which)                                          \
    Tensor function(const Tensor& x, std::span<const int> axes, bool keep) {      \
        return counted(#function, cpu::Counting::which, x,                        \
                       reduce_axes(#function, axes, x.rank(), keep));             \
    }                                                                             \
    Tensor function(const Tensor& x) {                                            \
        return counted(#function, cpu::Counting::which, x, reduce_all(x.rank())); \
    }
MERCER_COUNTING(any, any)
MERCER_COUNTING(all, all)
MERCER_COUNTING(count_nonzero, count)
#undef MERCER_COUNTING

#define MERCER_ARG(function, which)                                                      \
    Tensor function(const Tensor& x, int axis, bool keep) {                              \
        return extremum_index(#function, cpu::Extremum::which, x,                        \
                              {1u << normal_axis(#function, axis, x.rank()), keep});     \
    }                                                                                    \
    Tensor function(const Tensor& x) {                                                   \
        return extremum_index(#function, cpu::Extremum::which, x, reduce_all(x.rank())); \
    }
MERCER_ARG(argmax, max)
MERCER_ARG(argmin, min)
#undef MERCER_ARG

}  // namespace mercer
