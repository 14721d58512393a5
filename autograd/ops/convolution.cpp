// Convolutions and pooling on Vars.
#include "engine/ops/convolution.inl"
#include "engine/ops/pooling.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {

Var convolve(const Var& x, const Var& w, const Var& bias, const ConvolutionAttrs& attrs) {
    return record<Conv2d>(attrs, {&x, &w, &bias});
}
Var convolve_transpose(const Var& y, const Var& w, const Var& bias, const ConvolutionAttrs& attrs) {
    return record<ConvTranspose2d>(attrs, {&y, &w, &bias});
}
Var convolve_weights(const Var& x, const Var& y, const ConvolutionAttrs& attrs) {
    return record<Conv2dWeights>(attrs, {&x, &y});
}
Var largest_of_windows(const Var& x, const ConvolutionAttrs& windows) {
    return record<MaxPool2d>(windows, {&x});
}

#define MERCER_VALUE Var
#include "engine/ops/convolution.inc"
#include "engine/ops/pooling.inc"

}  // namespace mercer
