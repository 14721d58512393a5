#include "engine/ops/pointwise.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/layout.h"
#include "engine/cpu/pointwise.h"
#include "engine/cpu/pointwise_sum.h"
#include "engine/cpu/reduce.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/losses.h"
#include "engine/ops/pointwise/formula.h"
#include "engine/ops/registry.h"
#include "engine/ops/rows.h"

namespace mercer {
namespace {

cpu::PointwiseFn forward_for(const PointwiseOp& op, DType dtype) {
    const auto& kernels = op.kernels().forward;
    const bool integers = kernels[int(DType::i64)];
    if (size_t(dtype) < std::size(kernels) && kernels[int(dtype)]) return kernels[int(dtype)];
    throw DTypeError(op.name, "works on ", integers ? "f32, f64, i32 and i64" : "f32 and f64",
                     ", got ", dtype, "; use cast");
}

Shape common_shape(const PointwiseOp& op, std::span<const Tensor* const> x) {
    for (const Tensor* t : x) t->require_defined(op.name);
    Shape shape = x[0]->shape();
    for (size_t k = 1; k < x.size(); ++k) {
        if (x[k]->dtype() != x[0]->dtype()) require_same_dtype(op.name, *x[0], *x[k]);
        if (!(x[k]->shape() == shape)) shape = cpu::broadcast_shape(op.name, shape, x[k]->shape());
    }
    return shape;
}

struct Operands {
    std::array<const Tensor*, 2 * max_pointwise_inputs + 2> tensors;
    std::array<Strides, 2 * max_pointwise_inputs + 2> strides;
    int n = 0;
    void add(const PointwiseOp& op, const Tensor& t, const Shape& shape) {
        strides[size_t(n)] = t.defined()
                                 ? cpu::broadcast_strides(op.name, t.shape(), t.strides(), shape)
                                 : Dims::filled(shape.rank(), 0);
        tensors[size_t(n++)] = &t;
    }
    std::span<const Tensor* const> values() const { return {tensors.data(), size_t(n)}; }
    std::span<const Strides> steps() const { return {strides.data(), size_t(n)}; }
};

// The operand of the mask whose memory the result may take, or −1: nobody else holds it, it is not the host's, and all of it is
// the result's. None while instruments are on: they look at operands when the operation is over.
int taken_over(std::span<const Tensor* const> x, unsigned dying, const Shape& shape) {
    if (dying == 0 || instruments::on()) return -1;
    for (size_t k = 0; k < x.size(); ++k) {
        const Tensor& t = *x[k];
        if ((dying >> k & 1) && t.storage().alone() && t.shape() == shape && t.is_contiguous() &&
            t.storage()->bytes == size_t(t.count()) * size_of(t.dtype()))
            return int(k);
    }
    return -1;
}
// A dying operand; no Tensor of the caller's is left to see what became of its memory.
Tensor take(const Tensor& operand) { return std::move(const_cast<Tensor&>(operand)); }

// Few elements, dense and alike or numbers, as most small operands are: no strides to plan. Undefined if it is
// not so. Loops over as many operands as there are known to be save a tenth of an operation on eight elements.
template <size_t n>
Tensor pointwise_small(const PointwiseOp& op, std::span<const Tensor* const, n> x,
                       const void* state, unsigned dying) {
    const Tensor* whole = x[0];
    for (const Tensor* t : x)
        if (t->rank() > whole->rank()) whole = t;
    const DType dtype = whole->dtype();
    const int64_t elements = whole->count();
    if (elements > cpu::pointwise_piece || !is_floating(dtype)) return {};
    int64_t steps[max_pointwise_inputs];
    for (size_t k = 0; k < x.size(); ++k) {
        const Tensor& t = *x[k];
        const bool number = t.rank() == 0;
        if (t.dtype() != dtype ||
            (!number && (!(t.shape() == whole->shape()) || !t.is_contiguous())))
            return {};
        steps[k] = !number;
    }
    const OperationScope scope(op.name, std::span<const Tensor* const>(x));
    const int over = taken_over(x, dying, whole->shape());
    const void* in[max_pointwise_inputs];
    for (size_t k = 0; k < x.size(); ++k) in[k] = x[k]->raw();
    Tensor y = over < 0 ? Tensor::empty(whole->shape(), dtype) : take(*x[size_t(over)]);
    cpu::run_dense(op.kernels().forward[dtype == DType::f64], elements, in, steps, y.raw(), state);
    return y;
}

Tensor pointwise_any(const PointwiseOp& op, std::span<const Tensor* const> x, const void* state,
                     unsigned dying) {
    const OperationScope scope(op.name, x);
    const cpu::PointwiseFn kernel = forward_for(op, x[0]->dtype());
    const Shape shape = common_shape(op, x);
    const int over = taken_over(x, dying, shape);
    Tensor y = over < 0 ? Tensor::empty(shape, x[0]->dtype()) : *x[size_t(over)];
    Operands in;
    for (const Tensor* t : x) in.add(op, *t, shape);
    cpu::run_pointwise(kernel, op.kernels().cost, shape, x, in.steps(), {&y, 1}, state);
    if (over >= 0) take(*x[size_t(over)]);
    return y;
}

template <size_t n>
Tensor pointwise_of(const PointwiseOp& op, std::span<const Tensor* const, n> x, const void* state,
                    unsigned dying) {
    if (Tensor y = pointwise_small(op, x, state, dying); y.defined()) return y;
    return pointwise_any(op, x, state, dying);
}

// The first `count` results of a kernel that reads g, x, y and c.
PointwiseGradients derivatives(const PointwiseOp& op, const cpu::PointwiseFn (&kernel)[2],
                               const Tensor& g, std::span<const Tensor> x, const Tensor& y,
                               std::span<const Tensor> c, size_t count, unsigned wanted,
                               const void* state) {
    const OperationScope scope(op.name, x);
    Operands in;
    in.add(op, g, g.shape());
    for (const Tensor& t : x) in.add(op, t, g.shape());
    in.add(op, y, g.shape());
    for (const Tensor& t : c) in.add(op, t, g.shape());
    PointwiseGradients out;
    for (size_t k = 0; k < out.size(); ++k)
        if (wanted & (1u << k)) out[k] = Tensor::empty(g.shape(), g.dtype());
    cpu::run_pointwise(kernel[g.dtype() == DType::f64], op.kernels().cost, g.shape(), in.values(),
                       in.steps(), std::span(out.data(), count), state);
    return out;
}

}  // namespace

Tensor pointwise(const PointwiseOp& op, std::span<const Tensor* const> x, const void* state,
                 unsigned dying) {
    return pointwise_of(op, x, state, dying);
}

Tensor pointwise_sum(const PointwiseOp& op, std::span<const Tensor* const> x, int axes,
                     const void* state) {
    const OperationScope scope(op.name, x);
    require_floating(op.name, *x[0]);
    const Shape shape = common_shape(op, x);
    const Shape kept = shape.part(0, shape.rank() - axes),
                by_row = joined(kept, Shape::filled(axes, 1));
    const int64_t rows = count(kept), cols = count(shape.part(kept.rank(), shape.rank()));
    // Element (r, c) of an operand at r·row + c·col: dense, one number for each row, or one for all.
    std::array<int64_t, max_pointwise_inputs> row{}, col{};
    bool plain = op.sums != nullptr;
    for (size_t k = 0; k < x.size() && plain; ++k) {
        if (x[k]->count() == 1) continue;
        const bool dense = x[k]->shape() == shape;
        plain = x[k]->is_contiguous() && (dense || x[k]->shape() == by_row);
        row[k] = dense ? cols : 1;
        col[k] = dense;
    }
    if (!plain)
        return reshape(cpu::reduce(cpu::Reduction::sum, pointwise(op, x, state),
                                   ((1u << axes) - 1u) << kept.rank()),
                       kept);
    const int64_t chunk = std::min(cols, cpu::long_chunk),
                  chunks = cols > chunk ? (cols + chunk - 1) / chunk : 1;
    const Tensor sums = Tensor::empty({rows, chunks}, x[0]->dtype());
    const cpu::PointwiseFn kernel = op.sums().sum[x[0]->dtype() == DType::f64];
    const auto block = [&](int64_t first, int64_t n, int64_t c, int64_t columns) {
        const void* in[max_pointwise_inputs];
        for (size_t k = 0; k < x.size(); ++k) in[k] = at(*x[k], first * row[k] + c * col[k]);
        void* const out[1] = {at(sums, first * chunks + c / cpu::long_chunk)};
        kernel({n, columns, in, row.data(), col.data(), out, 0, state, false});
    };
    const int64_t grain = grain_for(std::max<int64_t>(chunk, 1) * op.kernels().cost / 16);
    parallel_for(rows * chunks, grain, [&](int64_t begin, int64_t end) {
        if (chunks == 1) return block(begin, end - begin, 0, cols);
        for (int64_t item = begin; item < end; ++item) {
            const int64_t c = item % chunks * chunk;
            block(item / chunks, 1, c, std::min(chunk, cols - c));
        }
    });
    return reshape(chunks == 1 ? sums : cpu::reduce(cpu::Reduction::sum, sums, 1u << 1), kept);
}

PointwiseGradients pointwise_backward(const PointwiseOp& op, const Tensor& g,
                                      std::span<const Tensor> x, const Tensor& y, unsigned wanted,
                                      const void* state) {
    return derivatives(op, op.kernels().backward, g, x, y, {}, x.size(), wanted, state);
}

PointwiseGradients pointwise_second(const PointwiseOp& op, const Tensor& g,
                                    std::span<const Tensor> x, const Tensor& y,
                                    std::span<const Tensor> c, unsigned wanted, const void* state) {
    return derivatives(op, op.kernels().second, g, x, y, c, 1 + x.size(), wanted, state);
}

unsigned pointwise_needs(const PointwiseOp& op) { return op.kernels().needs; }

// ---- the built-in ones, from the list ----------------------------------------------------------

#define FUNCTION(...)
#define POINTWISE(name, ...)                                 \
    MERCER_DISPATCH(cpu::PointwiseKernels, name##_kernels)   \
    namespace builtin {                                      \
    constexpr PointwiseOp name##_op{#name, &name##_kernels}; \
    }
#include "engine/ops/ops.def"
#undef POINTWISE
#undef FUNCTION

#define FUNCTION(name, types, signature, latex, parity, source) \
    {#name, latex, signature, Parity::parity, source, nullptr, ""},
#define POINTWISE(name, formula, arity, family, parameters, latex, domain, cost) \
    {#name,                                                                      \
     latex,                                                                      \
     parameters,                                                                 \
     Parity::bits,                                                               \
     "engine/ops/pointwise/" #family ".h",                                       \
     &builtin::name##_op,                                                        \
     domain},
std::span<const OperationInfo> operations() {
    static constexpr OperationInfo list[] = {
#include "engine/ops/ops.def"
    };
    return list;
}
#undef POINTWISE
#undef FUNCTION

#define MERCER_LOSS(name, ...)                                                 \
    MERCER_DISPATCH(cpu::PointwiseKernels, name##_kernels)                     \
    MERCER_DISPATCH(cpu::PointwiseSums, name##_sums)                           \
    const PointwiseOp& loss::name() {                                          \
        static constexpr PointwiseOp op{#name, &name##_kernels, &name##_sums}; \
        return op;                                                             \
    }
#include "engine/ops/losses.def"
#undef MERCER_LOSS

const PointwiseOp& pointwise_op(std::string_view name) {
    for (const OperationInfo& info : operations())
        if (info.pointwise && info.name == name) return *info.pointwise;
    throw ValueError("pointwise_op", "no pointwise operation is called '", name, "'");
}

void add_in_place(Tensor& a, const Tensor& b) {
    const WatchedScope scope("add", {&b});
    if (instruments::on()) [[unlikely]]
        instruments::made(a);
    const cpu::PointwiseKernels& kernels = builtin::add_op.kernels();
    const cpu::PointwiseFn kernel = kernels.forward[a.dtype() == DType::f64];
    if (a.count() <= cpu::pointwise_piece && b.is_contiguous()) {
        const void* const in[] = {a.raw(), b.raw()};
        constexpr int64_t steps[] = {1, 1};
        return cpu::run_dense(kernel, a.count(), in, steps, a.raw());
    }
    const Tensor* const x[] = {&a, &b};
    const Strides strides[] = {a.strides(), b.strides()};
    cpu::run_pointwise(kernel, kernels.cost, a.shape(), x, strides, {&a, 1}, nullptr);
}

#define MERCER_FUNCTION(name, dying, parameters, ...)                                     \
    Tensor name parameters {                                                              \
        const Tensor* const operands[] = {__VA_ARGS__};                                   \
        Tensor y = pointwise_of(builtin::name##_op, std::span(operands), nullptr, dying); \
        instruments::settle();                                                            \
        return y;                                                                         \
    }
#define MERCER_FUNCTION_1(name)                     \
    MERCER_FUNCTION(name, 0, (const Tensor& x), &x) \
    MERCER_FUNCTION(name, 1, (Tensor && x), &x)
#define MERCER_FUNCTION_2(name)                                          \
    MERCER_FUNCTION(name, 0, (const Tensor& a, const Tensor& b), &a, &b) \
    MERCER_FUNCTION(name, 1, (Tensor && a, const Tensor& b), &a, &b)     \
    MERCER_FUNCTION(name, 2, (const Tensor& a, Tensor&& b), &a, &b)      \
    MERCER_FUNCTION(name, 3, (Tensor && a, Tensor && b), &a, &b)
#define MERCER_FUNCTION_3(name) \
    MERCER_FUNCTION(name, 0, (const Tensor& a, const Tensor& b, const Tensor& c), &a, &b, &c)
#define FUNCTION(...)
#define POINTWISE(name, formula, arity, ...) MERCER_FUNCTION_##arity(name)
#include "engine/ops/ops.def"
#undef POINTWISE
#undef FUNCTION

}  // namespace mercer
