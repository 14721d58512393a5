// Sorting along one axis. Results: the elements, and their indices (i64).
#pragma once

#include <array>
#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct MERCER_API Sort : Reads<output_bit_of(1)> {
    static constexpr const char* name = "sort";
    struct Attrs {
        int axis;
        bool descending;
    };
    static std::array<Tensor, 2> forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API TopK : Reads<output_bit_of(1)> {
    static constexpr const char* name = "topk";
    struct Attrs {
        int64_t k;
        int axis;
        bool largest;
    };
    static std::array<Tensor, 2> forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
