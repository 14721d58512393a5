// Dropout by position: the mask is a function of key and element, so it is drawn again, not kept.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/random.h"
#include "engine/tensor.h"

namespace mercer {

struct MERCER_API Dropout : Reads<> {
    static constexpr const char* name = "dropout";
    struct Attrs {
        double p;
        Key key;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
