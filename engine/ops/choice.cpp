#include "engine/ops/choice.h"

#include <algorithm>
#include <type_traits>

#include "engine/cpu/copy.h"
#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer {
namespace {

// By bits and without a branch, which a mask would often mislead: in registers where strides are 0 and 1.
template <class T>
void choose(const Tensor& out, const Tensor& mask, const Tensor& a, const Tensor& b) {
    const auto strides_of = [&](const Tensor& x) {
        return cpu::broadcast_strides("where", x.shape(), x.strides(), out.shape());
    };
    const Strides strides[] = {out.strides(), strides_of(mask), strides_of(a), strides_of(b)};
    if (out.count() == 0) return;
    const cpu::Walk walk = cpu::plan_walk(out.shape(), strides);
    const int last = walk.shape.rank() - 1;
    const int64_t sm = walk.strides[1][last], sa = walk.strides[2][last],
                  sb = walk.strides[3][last], piece = 1 << 14,
                  pieces = (walk.cols() + piece - 1) / piece;
    parallel_for(walk.rows() * pieces, grain_for(std::min(walk.cols(), piece) / 2),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin; item < end; ++item) {
                         int64_t at[4];
                         walk.locate(item / pieces, at);
                         const int64_t first = item % pieces * piece,
                                       n = std::min(piece, walk.cols() - first);
                         T* to = static_cast<T*>(out.raw()) + at[0] + first;
                         const auto* m =
                             static_cast<const uint8_t*>(mask.raw()) + at[1] + first * sm;
                         const T* x = static_cast<const T*>(a.raw()) + at[2] + first * sa;
                         const T* y = static_cast<const T*>(b.raw()) + at[3] + first * sb;
                         const auto run = [&](auto sm, auto sa, auto sb) {
                             for (int64_t i = 0; i < n; ++i) {
                                 const T chosen = T(0) - T(m[i * sm] != 0);
                                 to[i] = T((x[i * sa] & chosen) | (y[i * sb] & ~chosen));
                             }
                         };
                         constexpr std::integral_constant<int64_t, 0> zero;
                         constexpr std::integral_constant<int64_t, 1> one;
                         if (sm == 1 && sa == 1 && sb == 1)
                             run(one, one, one);
                         else if (sm == 1 && sa == 1 && sb == 0)
                             run(one, one, zero);
                         else if (sm == 1 && sa == 0 && sb == 1)
                             run(one, zero, one);
                         else
                             run(sm, sa, sb);
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
    switch (size_of(out.dtype())) {
        case 1: choose<uint8_t>(out, x[0], x[1], x[2]); break;
        case 4: choose<uint32_t>(out, x[0], x[1], x[2]); break;
        default: choose<uint64_t>(out, x[0], x[1], x[2]);
    }
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
