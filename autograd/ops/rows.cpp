// Softmax and products on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/matmul.inl"
#include "engine/ops/softmax.inl"

namespace mercer {

Var softmax(const Var& x, int axis) {
    return record<Softmax>({normal_axis("softmax", axis, x.rank())}, {&x});
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
