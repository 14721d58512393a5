// Linear algebra on LAPACK (OpenBLAS, serial). Unlike the other kernels its last bits may depend on
// the machine.
#pragma once

#include "engine/tensor.h"

namespace mercer {

/// The x that minimises ‖A x − b‖², computed in float64 by a QR factorisation with column pivoting.
/// A: [m, n] with m ≥ n, b: [m] or [m, r]; result [n] or [n, r] of b's dtype. ShapeError;
/// NumericalError when the columns of A are linearly dependent to working precision or a value is
/// not finite.
MERCER_API Tensor least_squares(const Tensor& a, const Tensor& b);

}  // namespace mercer
