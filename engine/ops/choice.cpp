#include "engine/ops/choice.h"

#include "engine/cpu/copy.h"
#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer {
namespace {

// Three strided operands, one dense result: element(to, a, b, c) for every index.
template <class A, class B, class C, class To, class F>
void walk_three(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c, F element) {
    const Strides strides[] = {
        out.strides(), cpu::broadcast_strides("where", a.shape(), a.strides(), out.shape()),
        cpu::broadcast_strides("where", b.shape(), b.strides(), out.shape()),
        cpu::broadcast_strides("where", c.shape(), c.strides(), out.shape())};
    if (out.count() == 0) return;
    const cpu::Walk walk = cpu::plan_walk(out.shape(), strides);
    const int last = walk.shape.rank() - 1;
    parallel_for(walk.rows(), grain_for(walk.cols() / 2), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t at[4];
            walk.locate(row, at);
            To* to = static_cast<To*>(out.raw()) + at[0];
            const A* x = static_cast<const A*>(a.raw()) + at[1];
            const B* y = static_cast<const B*>(b.raw()) + at[2];
            const C* z = static_cast<const C*>(c.raw()) + at[3];
            const int64_t sx = walk.strides[1][last], sy = walk.strides[2][last],
                          sz = walk.strides[3][last];
            if (sx == 1 && sy == 1 && sz == 0)
                for (int64_t i = 0; i < walk.cols(); ++i) to[i] = element(x[i], y[i], *z);
            else
                for (int64_t i = 0; i < walk.cols(); ++i)
                    to[i] = element(x[i * sx], y[i * sy], z[i * sz]);
        }
    });
}

}  // namespace

Tensor Where::forward(const Attrs&, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (x[0].dtype() != DType::boolean)
        throw DTypeError(name, "the mask must be bool, got " + std::string(name_of(x[0].dtype())));
    if (x[1].dtype() != x[2].dtype())
        throw DTypeError(name, "dtypes differ: " + std::string(name_of(x[1].dtype())) + " vs " +
                                   std::string(name_of(x[2].dtype())) + "; use cast on one");
    const Shape shape = cpu::broadcast_shape(
        name, x[0].shape(), cpu::broadcast_shape(name, x[1].shape(), x[2].shape()));
    Tensor out = Tensor::empty(shape, x[1].dtype());
    visit(out.dtype(), [&]<class T>(T) {
        walk_three<bool, T, T, T>(out, x[0], x[1], x[2],
                                  [](bool m, T a, T b) { return m ? a : b; });
    });
    return out;
}

Tensor Cast::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (attrs.from == attrs.to) return x[0];
    Tensor out = Tensor::empty(x[0].shape(), attrs.to);
    cpu::convert(out, x[0]);
    return out;
}

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
    const Tensor x[] = {mask, a, b};
    return compute<Where>({}, x);
}
Tensor cast(const Tensor& x, DType dtype) { return compute<Cast>({x.dtype(), dtype}, {&x, 1}); }

}  // namespace mercer
