// The operators of functions.inc.
#include "engine/functions.h"

namespace mercer {

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor operator-(const Tensor& x) { return neg(x); }
Tensor operator+(const Tensor& a, double b) { return add(a, Tensor::scalar(b, a.dtype())); }
Tensor operator-(const Tensor& a, double b) { return sub(a, Tensor::scalar(b, a.dtype())); }
Tensor operator*(const Tensor& a, double b) { return mul(a, Tensor::scalar(b, a.dtype())); }
Tensor operator/(const Tensor& a, double b) { return div(a, Tensor::scalar(b, a.dtype())); }
Tensor operator+(double a, const Tensor& b) { return add(Tensor::scalar(a, b.dtype()), b); }
Tensor operator-(double a, const Tensor& b) { return sub(Tensor::scalar(a, b.dtype()), b); }
Tensor operator*(double a, const Tensor& b) { return mul(Tensor::scalar(a, b.dtype()), b); }
Tensor operator/(double a, const Tensor& b) { return div(Tensor::scalar(a, b.dtype()), b); }

}  // namespace mercer
