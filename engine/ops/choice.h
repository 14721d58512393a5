// where and cast.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

/// Inputs: mask (bool), a, b.
struct MERCER_API Where : Reads<input_bit(0)> {
    static constexpr const char* name = "where";
    struct Attrs {};
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API Cast : Reads<> {
    static constexpr const char* name = "cast";
    struct Attrs {
        DType from, to;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
