// y = (x − mean)/√(var + ε) · gain + bias over the last axis, with var = mean((x − mean)²)
// (Ba, Kiros and Hinton 2016)
#pragma once

#include "models/layers/parameters.h"

namespace mercer {

struct MERCER_API LayerNorm {
    Tensor gain, bias;  // [width], ones and zeros
    double epsilon = 1e-5;

    explicit LayerNorm(int64_t width);

    Var forward(const Binding& at, const Var& x) const;
    void collect(Parameters& parameters, const std::string& prefix);
};

}  // namespace mercer
