// Softmax, dropout, embedding and products on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/dropout.inl"
#include "engine/ops/embedding.inl"
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

Var matmul(const Var& a, const Var& b) {
    if (a.rank() < 1 || b.rank() < 1)
        throw ShapeError("matmul", "operands need an axis: lhs " + to_string(a.shape()) +
                                       " vs rhs " + to_string(b.shape()));
    return promoted_matmul(a, b, [](const Var& l, const Var& r) {
        return record<Matmul>({}, {&l, &r});
    });
}

}  // namespace mercer
