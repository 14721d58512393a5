// Operations that move no values or only repeat them: reshape, permute, broadcast_to and its
// adjoint sum_to.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct MERCER_API Reshape : Reads<> {
    static constexpr const char* name = "reshape";
    struct Attrs {
        Shape shape;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API Permute : Reads<> {
    static constexpr const char* name = "permute";
    struct Attrs {
        int axes[Dims::max_rank];
        int rank;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API BroadcastTo : Reads<> {
    static constexpr const char* name = "broadcast_to";
    struct Attrs {
        Shape shape;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API SumTo : Reads<> {
    static constexpr const char* name = "sum_to";
    struct Attrs {
        Shape shape;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

/// The shape with its one -1 replaced so that `n` elements fit. ShapeError.
MERCER_API Shape resolve_shape(const Shape& shape, int64_t n, const Shape& from);
MERCER_API Permute::Attrs permutation(std::span<const int> axes, int rank);
MERCER_API Permute::Attrs last_two_exchanged(int rank);

}  // namespace mercer
