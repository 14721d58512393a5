// gather, its adjoint scatter_add, and scatter. Inputs: x, index (i64).
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct MERCER_API Gather : Reads<input_bit(1)> {
    static constexpr const char* name = "gather";
    struct Attrs {
        int axis;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API ScatterAdd : Reads<input_bit(1)> {
    static constexpr const char* name = "scatter_add";
    struct Attrs {
        int axis;
        int64_t size;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

/// Inputs: x, index (i64), source.
struct MERCER_API Scatter : Reads<input_bit(1)> {
    static constexpr const char* name = "scatter";
    struct Attrs {
        int axis;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
