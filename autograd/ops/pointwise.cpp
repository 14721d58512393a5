// The chain rule for pointwise operations. Three nodes close under differentiation up to second
// order:
//   y = f(x…)   →   ĝx = g·∂f (PointwiseBackward)   →   its derivatives (pointwise_second)
// Sums and products are written with themselves instead, and so have derivatives of every order.
#include "autograd/ops/pointwise.h"

#include <cstring>
#include <new>
#include <string_view>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/cpu/layout.h"
#include "engine/ops/pointwise/formula.h"
#include "engine/ops/registry.h"

namespace mercer {
namespace {

struct Attrs {
    const PointwiseOp* op;
    const void* state;
    const Shape* summed = nullptr;  // of f(x…), if y is a sum over its last axes
};

// The cotangent of each f(x…): of a sum, its own, repeated.
template <class X>
X cotangent(const Vjp<X>& c) {
    const Shape* shape = c.template attrs<Attrs>().summed;
    if (!shape) return c.g();
    Shape kept = c.g().shape();
    while (kept.rank() < shape->rank()) kept.push_back(1);
    return broadcast_to(reshape(c.g(), kept), *shape);
}

// Saved inputs x₀… of a node whose first x is input `first`.
struct SavedInputs {
    std::array<Tensor, max_pointwise_inputs> x;
    size_t n;

    template <class X>
    SavedInputs(const Vjp<X>& c, int first, int count) : n(size_t(count)) {
        for (int k = 0; k < count; ++k) x[size_t(k)] = c.value(first + k);
    }
    operator std::span<const Tensor>() const { return std::span(x).first(n); }
};

// Of the first n inputs those that are wanted, as bits; and what each of them gets.
template <class X>
unsigned wanted_of(const Vjp<X>& c, int n) {
    unsigned wanted = 0;
    for (int i = 0; i < n; ++i)
        if (c.wants(i)) wanted |= input_bit(i);
    return wanted;
}
template <class X, class Values>
void give_all(Vjp<X>& c, int n, const Values& values) {
    for (int i = 0; i < n; ++i)
        if (c.wants(i)) c.give(i, sum_to(values[size_t(i)], c.in_shape(i)));
}

// ---- third derivatives do not exist ----

template <class X>
void no_third(Vjp<X>& c) {
    throw TapeError(c.template attrs<Attrs>().op->name,
                    "third derivatives of this formula are not compiled; sums, products and layout "
                    "have every order");
}
constexpr Rule second_rule{"pointwise_second", no_third<Tensor>, no_third<Var>};

// ---- backward: inputs g, x₀…, y; outputs ĝx₀… ----

template <class X>
void backward_vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    const int n = c.outputs();
    const SavedInputs x(c, 1, n);
    std::vector<Tensor> cotangents;
    for (int k = 0; k < n; ++k) cotangents.push_back(value_of(c.g(k)));
    const PointwiseGradients out = pointwise_second(*attrs.op, c.value(0), x, c.value(n + 1),
                                                    cotangents, wanted_of(c, n + 1), attrs.state);
    if constexpr (std::is_same_v<X, Tensor>) {
        give_all(c, n + 1, out);
    } else {
        std::vector<Var> inputs;
        for (int i = 0; i < c.inputs(); ++i) inputs.push_back(c.in(i));
        for (int k = 0; k < n; ++k) inputs.push_back(c.g(k));
        std::vector<Tensor> values;
        for (int i = 0; i <= n; ++i)
            if (c.wants(i)) values.push_back(out[size_t(i)]);
        const std::vector<Var> recorded = c.tape().append(
            second_rule, &attrs, pointers_to(std::span<const Var>(inputs)), values, 0);
        size_t next = 0;
        for (int i = 0; i <= n; ++i)
            if (c.wants(i)) c.give(i, sum_to(recorded[next++], c.in_shape(i)));
    }
}
constexpr Rule backward_rule{"pointwise_backward", backward_vjp<Tensor>, backward_vjp<Var>};

// ---- forward ----

void forward_vjp(Vjp<Tensor>& c) {
    const Attrs& attrs = c.attrs<Attrs>();
    const SavedInputs x(c, 0, c.inputs());
    const PointwiseGradients out = pointwise_backward(*attrs.op, cotangent(c), x, c.out_value(),
                                                      wanted_of(c, c.inputs()), attrs.state);
    give_all(c, c.inputs(), out);
}

void forward_vjp_recorded(Vjp<Var>& c) {
    const Attrs& attrs = c.attrs<Attrs>();
    const int n = c.inputs();
    const SavedInputs x(c, 0, n);
    const Var g = cotangent(c);
    // Every ĝx is computed: the node has one output for each input, so that cotangents find their
    // place.
    const PointwiseGradients out =
        pointwise_backward(*attrs.op, g.value(), x, c.out_value(), (1u << n) - 1u, attrs.state);
    std::vector<Var> inputs{g};
    for (int k = 0; k < n; ++k) inputs.push_back(c.in(k));
    inputs.push_back(Var(c.out_value()));  // a function of x, accounted for by the kernel
    const std::vector<Var> recorded =
        c.tape().append(backward_rule, &attrs, pointers_to(std::span<const Var>(inputs)),
                        std::span(out.data(), size_t(n)), (1u << (n + 2)) - 1u);
    give_all(c, n, recorded);
}

// ---- arithmetic, written with itself ----

template <class X>
void add_vjp(Vjp<X>& c) {
    if (c.wants(0)) c.give(0, sum_to(c.g(), c.in_shape(0)));
    if (c.wants(1)) c.give(1, sum_to(c.g(), c.in_shape(1)));
}
template <class X>
void sub_vjp(Vjp<X>& c) {
    if (c.wants(0)) c.give(0, sum_to(c.g(), c.in_shape(0)));
    if (c.wants(1)) c.give(1, sum_to(-c.g(), c.in_shape(1)));
}
template <class X>
void mul_vjp(Vjp<X>& c) {
    if (c.wants(0)) c.give(0, sum_to(c.g() * c.in(1), c.in_shape(0)));
    if (c.wants(1)) c.give(1, sum_to(c.g() * c.in(0), c.in_shape(1)));
}
template <class X>
void neg_vjp(Vjp<X>& c) {
    c.give(0, -c.g());
}

constexpr Rule rule_named(const char* name) {
    const std::string_view n(name);
    if (n == "add") return {name, add_vjp<Tensor>, add_vjp<Var>};
    if (n == "sub") return {name, sub_vjp<Tensor>, sub_vjp<Var>};
    if (n == "mul") return {name, mul_vjp<Tensor>, mul_vjp<Var>};
    if (n == "neg") return {name, neg_vjp<Tensor>, neg_vjp<Var>};
    return {name, forward_vjp, forward_vjp_recorded};
}

// What a rule reads: the written ones as they say, the general one as the formula says.
unsigned saved_by(const Rule& rule, const PointwiseOp& op, unsigned wanted) {
    if (rule.tensor == mul_vjp<Tensor>)
        return (wants_input(wanted, 0) ? input_bit(1) : 0) |
               (wants_input(wanted, 1) ? input_bit(0) : 0);
    if (rule.tensor != forward_vjp) return 0;
    const unsigned needs = pointwise_needs(op);
    return (needs & (needs_output - 1)) | (needs & needs_output ? output_bit : 0);
}

}  // namespace

const Rule& pointwise_rule() {
    static constexpr Rule rule{"map", forward_vjp, forward_vjp_recorded};
    return rule;
}

namespace {
// Records the values of `op`, or their sum over the last `axes`.
Var recorded(const PointwiseOp& op, const Rule& rule, VarRefs x, int axes, const void* state,
             size_t state_bytes) {
    const Tensor* values[max_pointwise_inputs];
    for (size_t k = 0; k < x.size(); ++k) values[k] = &x[k]->value();
    const std::span<const Tensor* const> in(values, x.size());
    const Tensor y = axes ? pointwise_sum(op, in, axes, state) : pointwise(op, in, state);
    instruments::settle();
    Tape* tape = Tape::of(op.name, x);
    if (!tape) return Var(y);
    const void* kept_state = nullptr;
    if (state_bytes) kept_state = std::memcpy(tape->keep(state_bytes), state, state_bytes);
    auto* attrs = new (tape->keep(sizeof(Attrs))) Attrs{&op, kept_state};
    if (axes) {
        Shape shape = x[0]->shape();
        for (const Var* v : x) shape = cpu::broadcast_shape(op.name, shape, v->shape());
        attrs->summed = new (tape->keep(sizeof shape)) Shape(shape);
    }
    return tape->append_one(rule, attrs, x, y, saved_by(rule, op, Tape::wanted(x)));
}
}  // namespace

Var record_pointwise(const PointwiseOp& op, const Rule& rule, VarRefs x, const void* state,
                     size_t state_bytes) {
    return recorded(op, rule, x, 0, state, state_bytes);
}

Var record_pointwise_sum(const PointwiseOp& op, VarRefs x, int axes, const void* state,
                         size_t state_bytes) {
    // A derivative that reads the result of each element needs them all.
    const bool store = pointwise_needs(op) & needs_output;
    const Var y = recorded(op, pointwise_rule(), x, store ? 0 : axes, state, state_bytes);
    if (!store) return y;
    std::vector<int> last;
    for (int a = 1; a <= axes; ++a) last.push_back(-a);
    return sum(y, last);
}

#define MERCER_RECORD(name, parameters, ...)                \
    Var name parameters {                                   \
        static constexpr Rule rule = rule_named(#name);     \
        static const PointwiseOp& op = pointwise_op(#name); \
        const Var* const operands[] = {__VA_ARGS__};        \
        return record_pointwise(op, rule, operands);        \
    }
#define MERCER_RECORD_1(name) MERCER_RECORD(name, (const Var& x), &x)
#define MERCER_RECORD_2(name) MERCER_RECORD(name, (const Var& a, const Var& b), &a, &b)
#define MERCER_RECORD_3(name) \
    MERCER_RECORD(name, (const Var& a, const Var& b, const Var& c), &a, &b, &c)
#define FUNCTION(...)
#define POINTWISE(name, formula, arity, ...) MERCER_RECORD_##arity(name)
#include "engine/ops/ops.def"
#undef POINTWISE
#undef FUNCTION

}  // namespace mercer
