// Softmax, dropout, embedding and products on Vars.
#include "autograd/functions.h"
#include "autograd/ops/matmul.h"
#include "autograd/record.h"
#include "engine/ops/dropout.inl"
#include "engine/ops/embedding.inl"
#include "engine/ops/linear.inl"
#include "engine/ops/matmul.inl"
#include "engine/ops/softmax.inl"

namespace mercer {

Var softmax(const Var& x, int axis) {
    return record<Softmax>({normal_axis("softmax", axis, x.rank())}, {&x});
}

Var dropout(const Var& x, double p, Key key) { return record<Dropout>({p, key}, {&x}); }

Var embedding(const Var& table, const Tensor& ids, int64_t padding) {
    const Var at(ids);
    return record<Embedding>({table.size(0), padding}, {&table, &at});
}

Var dot(const Var& a, const Var& b, unsigned axes) { return record<Dot>({axes, false}, {&a, &b}); }
Var matmul(const Var& a, const Var& b) { return matmul_in(cpu::Order::by_shape, a, b); }

Var matmul_in(cpu::Order order, const Var& a, const Var& b) {
    if (a.rank() < 1 || b.rank() < 1)
        throw ShapeError("matmul", "operands need an axis: lhs ", a.shape(), " vs rhs ", b.shape());
    return promoted_matmul(a, b, [order](const Var& l, const Var& r) {
        return record<Matmul>({order}, {&l, &r});
    });
}

Var linear(const Var& x, const Var& w, const Var& bias, Activation activation) {
    const Var* const inputs[] = {&x, &w, &bias};
    if (!Tape::of("linear", inputs))
        return Var(linear(x.value(), w.value(), bias.value(), activation));
    const Var y = record<Linear>({Activation::none}, inputs);
    switch (activation) {
        case Activation::none: return y;
        case Activation::relu: return relu(y);
        case Activation::gelu: return gelu(y);
        case Activation::tanh: return tanh(y);
        case Activation::sigmoid: return sigmoid(y);
    }
    throw ValueError("linear", "no activation has the number ", int(activation));
}

}  // namespace mercer
