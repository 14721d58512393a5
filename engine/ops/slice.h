// Parts and wholes: slice, its adjoint unslice, concat.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct MERCER_API Slice : Reads<> {
    static constexpr const char* name = "slice";
    struct Attrs {
        int axis;
        int64_t begin, step, n;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API Unslice : Reads<> {
    static constexpr const char* name = "unslice";
    struct Attrs {
        Shape shape;
        int axis;
        int64_t begin, step;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API Concat : Reads<> {
    static constexpr const char* name = "concat";
    struct Attrs {
        int axis;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

/// Python's rule for begin:end:step over `shape`. ValueError for step 0.
MERCER_API Slice::Attrs slice_range(const Shape& shape, int axis, int64_t begin, int64_t end,
                                    int64_t step);

}  // namespace mercer
