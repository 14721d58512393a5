// Products of floats, some of whose partial products may leave the range: again with an exponent of their own, so that
// 0·∞ is not met unless it stands in x.
#pragma once

#include "engine/ops/reduce.h"
#include "engine/ops/scan.h"

namespace mercer {

/// y = Π x over `axes`, dense, of size 1 along them: settles what is not finite.
void settle_products(const Tensor& x, unsigned axes, const Tensor& y);
/// g·∂(Π x)/∂x, first order: y/x where y is a normal number; y and g of size 1 along `axes`.
MERCER_API Tensor prod_gradient(const Tensor& x, unsigned axes, const Tensor& y, const Tensor& g);
/// The gradient dx of a cumprod, its lines with what is not finite again: r_j of Cumprod::vjp ends at a zero, in f64.
MERCER_API Tensor settled_cumprod_gradient(const ScanAttrs& attrs, const Tensor& x, const Tensor& g,
                                           const Tensor& dx);

}  // namespace mercer
