// Reductions over axes: sum, mean, max, min.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

/// Axes as a bit mask.
struct ReduceAttrs {
    unsigned axes;
    bool keep;
};
MERCER_API ReduceAttrs reduce_axes(const char* operation, std::span<const int> axes, int rank, bool keep);
MERCER_API ReduceAttrs reduce_all(int rank);
/// `shape` with the reduced axes left as 1.
MERCER_API Shape kept_shape(const Shape& shape, unsigned axes);
/// The number of elements reduced into one.
MERCER_API int64_t reduced_count(const Shape& shape, unsigned axes);

struct MERCER_API Sum {
    static constexpr const char* name = "sum";
    using Attrs = ReduceAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return 0; }
    template <class X>
    static void vjp(Vjp<X>& c);
};
struct MERCER_API Mean {
    static constexpr const char* name = "mean";
    using Attrs = ReduceAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return 0; }
    template <class X>
    static void vjp(Vjp<X>& c);
};
struct MERCER_API Max {
    static constexpr const char* name = "max";
    using Attrs = ReduceAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return input_bit(0) | output_bit; }
    template <class X>
    static void vjp(Vjp<X>& c);
};
struct MERCER_API Min {
    static constexpr const char* name = "min";
    using Attrs = ReduceAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return input_bit(0) | output_bit; }
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
