// The operators of functions.inc, on Vars.
#include "autograd/functions.h"

namespace mercer {
namespace {
Var number(double x, const Var& like) { return Var(Tensor::scalar(x, like.dtype())); }
}  // namespace

Var operator+(const Var& a, const Var& b) { return add(a, b); }
Var operator-(const Var& a, const Var& b) { return sub(a, b); }
Var operator*(const Var& a, const Var& b) { return mul(a, b); }
Var operator/(const Var& a, const Var& b) { return div(a, b); }
Var operator-(const Var& x) { return neg(x); }
Var operator+(const Var& a, double b) { return add(a, number(b, a)); }
Var operator-(const Var& a, double b) { return sub(a, number(b, a)); }
Var operator*(const Var& a, double b) { return mul(a, number(b, a)); }
Var operator/(const Var& a, double b) { return div(a, number(b, a)); }
Var operator+(double a, const Var& b) { return add(number(a, b), b); }
Var operator-(double a, const Var& b) { return sub(number(a, b), b); }
Var operator*(double a, const Var& b) { return mul(number(a, b), b); }
Var operator/(double a, const Var& b) { return div(number(a, b), b); }

}  // namespace mercer
