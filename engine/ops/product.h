// Products of floats, some of whose partial products may leave the range: with an exponent of their own, so that 0·∞ is
// not met unless it stands in x. Gradients of first order, line by line in f64.
#pragma once

#include "engine/ops/reduce.h"
#include "engine/ops/scan.h"

namespace mercer {

/// y = Π x over `axes`, dense, of size 1 along them: settles what is not finite.
void settle_products(const Tensor& x, unsigned axes, const Tensor& y);
/// dx_j = g · Π_{k≠j} x_k; g of size 1 along `axes`, of which there are some.
MERCER_API Tensor prod_gradient(const Tensor& x, unsigned axes, const Tensor& g);
/// As in Cumprod::vjp; r_j ends at a zero.
MERCER_API Tensor cumprod_gradient(const ScanAttrs& attrs, const Tensor& x, const Tensor& g);

}  // namespace mercer
