// y = x W + b
#pragma once

#include "engine/random.h"
#include "models/layers/parameters.h"

namespace mercer {

struct MERCER_API Linear {
    Tensor weight;  // [in, out]
    Tensor bias;    // [out]

    /// Both uniform on (−1/√in, 1/√in).
    Linear(int64_t in, int64_t out, Key key);

    /// [..., in] to [..., out].
    Var forward(const Binding& at, const Var& x) const;
    void collect(Parameters& parameters, const std::string& prefix);
};

}  // namespace mercer
