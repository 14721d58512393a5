// Products and dropout on Vars.
#include "autograd/functions.h"
#include "autograd/ops/matmul.h"
#include "autograd/record.h"

#define MERCER_VALUE Var
#include "engine/ops/dropout.inl"
#include "engine/ops/matmul.inl"

namespace mercer {

Var linear(const Var& x, const Var& w, const Var& bias, Activation activation) {
    const Var* const inputs[] = {&x, &w, &bias};
    if (!Tape::of("linear", inputs))
        return Var(linear(x.value(), w.value(), bias.value(), activation));
    const Var y = record<Linear>({Activation::none}, inputs);
    switch (activation) {
        case Activation::none: return y;
        case Activation::relu: return relu(y);
        case Activation::gelu: return gelu(y);
        case Activation::tanh: return tanh(y);
        case Activation::sigmoid: return sigmoid(y);
    }
    throw ValueError("linear", "no activation has the number ", int(activation));
}

}  // namespace mercer
