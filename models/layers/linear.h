// y = x W + b, or x W
#pragma once

#include "engine/random.h"
#include "models/layers/parameters.h"

namespace mercer {

struct MERCER_API Linear {
    Tensor weight;  // [in, out]
    Tensor bias;    // [out], or undefined

    Linear() = default;  // nothing yet
    /// Both uniform on (−1/√in, 1/√in).
    Linear(int64_t in, int64_t out, Key key, bool has_bias = true);

    /// [..., in] to [..., out].
    Var forward(const Binding& at, const Var& x) const;
    void collect(Parameters& parameters, const std::string& prefix);
};

}  // namespace mercer
