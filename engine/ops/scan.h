// Scans along one axis: cumulative sum, product and extrema, and the linear recurrence whose adjoint is itself reversed.
#pragma once

#include <array>
#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct ScanAttrs {
    int axis;
    bool exclusive, reverse;
};
struct MERCER_API Cumsum : Reads<> {
    static constexpr const char* name = "cumsum";
    using Attrs = ScanAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};
struct MERCER_API Cumprod : Reads<input_bit(0)> {
    static constexpr const char* name = "cumprod";
    using Attrs = ScanAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};
/// Results: the extremum so far, and where it stood (i64).
struct RunningAttrs {
    int axis;
    bool reverse;
};
struct MERCER_API Cummax : Reads<output_bit_of(1)> {
    static constexpr const char* name = "cummax";
    using Attrs = RunningAttrs;
    static std::array<Tensor, 2> forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};
struct MERCER_API Cummin : Reads<output_bit_of(1)> {
    static constexpr const char* name = "cummin";
    using Attrs = RunningAttrs;
    static std::array<Tensor, 2> forward(const Attrs&, std::span<const Tensor> x);
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
