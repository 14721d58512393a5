// Scans along one axis: cumulative sum and product, and the linear recurrence whose adjoint is itself reversed.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct ScanAttrs {
    int axis;
    bool exclusive, reverse;
};
struct MERCER_API Cumsum {
    static constexpr const char* name = "cumsum";
    using Attrs = ScanAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return 0; }
    template <class X>
    static void vjp(Vjp<X>& c);
};
struct MERCER_API Cumprod {
    static constexpr const char* name = "cumprod";
    using Attrs = ScanAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return input_bit(0); }
    template <class X>
    static void vjp(Vjp<X>& c);
};
/// h_t = a_t h_{t−1} + b_t, h before the first being 0. Inputs: a, b of one shape.
struct MERCER_API LinearRecurrence {
    static constexpr const char* name = "linear_recurrence";
    struct Attrs {
        int axis;
        bool reverse;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned wanted) {
        return input_bit(0) | (wants_input(wanted, 0) ? output_bit : 0);
    }
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
