// Convolutions and pooling on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"

#define MERCER_VALUE Var
#include "engine/ops/convolution.inl"
