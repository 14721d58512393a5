#include "engine/ops/choice.h"

#include <array>
#include <bit>
#include <initializer_list>

#include "engine/cpu/compare_table.h"
#include "engine/cpu/copy.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/pointwise.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/require.h"

namespace mercer {

MERCER_DISPATCH(cpu::CompareTable, compare_table)

namespace {

using cpu::Comparison;
using cpu::Logic;
using cpu::Test;

/// A pointwise kernel over what its operands broadcast to: the result, of `dtype`; `cost` as in PointwiseKernels. ShapeError
/// names `operation`.
Tensor run_broadcast(const char* operation, cpu::PointwiseFn kernel, int cost, DType dtype,
                     std::initializer_list<const Tensor*> in) {
    Shape shape = (*in.begin())->shape();
    for (const Tensor* t : in) {
        t->require_defined(operation);
        shape = cpu::broadcast_shape(operation, shape, t->shape());
    }
    std::array<Strides, cpu::Walk::max_operands> strides;
    size_t n = 0;
    for (const Tensor* t : in)
        strides[n++] = cpu::broadcast_strides(operation, t->shape(), t->strides(), shape);
    Tensor out = Tensor::empty(shape, dtype);
    cpu::run_pointwise(kernel, cost, shape, in, std::span(strides.data(), n), {&out, 1}, nullptr);
    return out;
}

template <class... X>
Tensor run(const char* name, cpu::PointwiseFn kernel, const Tensor& first, const X&... more) {
    const OperationScope scope(name, {&first, &more...});
    return run_broadcast(name, kernel, 1, DType::boolean, {&first, &more...});
}

Tensor compare(const char* name, Comparison which, const Tensor& a, const Tensor& b) {
    if (a.dtype() == DType::bf16) refuse_bf16(name);
    require_same_dtype(name, a, b);
    return run(name, compare_table().compare[int(which)][int(a.dtype())], a, b);
}

void require_bool(const char* name, const Tensor& x) {
    if (x.dtype() != DType::boolean)
        throw DTypeError(name, "works on bool, got ", x.dtype(), "; use not_equal(x, 0)");
}

Tensor logic(const char* name, Logic which, const Tensor& a, const Tensor& b) {
    require_bool(name, a);
    require_bool(name, b);
    return run(name, compare_table().logic[int(which)], a, b);
}

Tensor test(const char* name, Test which, const Tensor& x) {
    require_floating(name, x);
    return run(name, compare_table().test[int(which)][x.dtype() == DType::f64], x);
}

}  // namespace

#define MERCER_COMPARISON(name, which, first, second)            \
    Tensor name(const Tensor& a, const Tensor& b) {              \
        return compare(#name, Comparison::which, first, second); \
    }                                                            \
    Tensor name(const Tensor& a, double b) { return name(a, number_like(#name, b, a.dtype())); }
MERCER_COMPARISON(equal, equal, a, b)
MERCER_COMPARISON(not_equal, not_equal, a, b)
MERCER_COMPARISON(less, less, a, b)
MERCER_COMPARISON(less_equal, less_equal, a, b)
MERCER_COMPARISON(greater, less, b, a)
MERCER_COMPARISON(greater_equal, less_equal, b, a)
#undef MERCER_COMPARISON

#define MERCER_LOGIC(name, which) \
    Tensor name(const Tensor& a, const Tensor& b) { return logic(#name, Logic::which, a, b); }
MERCER_LOGIC(logical_and, conjunction)
MERCER_LOGIC(logical_or, disjunction)
MERCER_LOGIC(logical_xor, exclusive)
#undef MERCER_LOGIC
Tensor logical_not(const Tensor& x) {
    require_bool("logical_not", x);
    return run("logical_not", compare_table().logic[int(Logic::negation)], x);
}
Tensor isnan(const Tensor& x) { return test("isnan", Test::nan, x); }
Tensor isinf(const Tensor& x) { return test("isinf", Test::infinite, x); }
Tensor isfinite(const Tensor& x) { return test("isfinite", Test::finite, x); }

Tensor Where::forward(const Attrs&, TensorRefs x) {
    if (x[0].dtype() != DType::boolean)
        throw DTypeError(name, "the mask must be bool, got ", x[0].dtype());
    require_same_dtype(name, x[1], x[2]);
    const auto kernel = compare_table().choose[std::countr_zero(size_of(x[1].dtype()))];
    return run_broadcast(name, kernel, 2, x[1].dtype(), {&x[1], &x[2], &x[0]});
}

Tensor Cast::forward(const Attrs& attrs, TensorRefs x) {
    x[0].require_defined(name);
    if (attrs.from == attrs.to) return x[0];
    Tensor out = Tensor::empty(x[0].shape(), attrs.to);
    cpu::convert(out, x[0]);
    return out;
}

}  // namespace mercer
