// The elementary functions on Vec<float> and Vec<double>. Each is written once above the primitives
// of vec.h, so it is the same chain of rounded operations, hence the same bits, on every
// instruction set. No function touches memory or libm; the full range of arguments is covered. The
// header of each file states its method and its error bound.
#pragma once

#include "engine/simd/math/erf.h"
#include "engine/simd/math/exp.h"
#include "engine/simd/math/log.h"
#include "engine/simd/math/pow.h"
#include "engine/simd/math/tanh.h"
#include "engine/simd/math/trig.h"
