// Derivatives of a function as a whole. Each works on a tape of its own; f sees its inputs on it,
// and must not read Vars of other tapes.
#pragma once

#include <vector>

#include "autograd/var.h"
#include "engine/function_ref.h"

namespace mercer {

using VarFunction = FunctionRef<Var(std::span<const Var>)>;
using VarUnary = FunctionRef<Var(const Var&)>;

struct Jvp {
    Tensor value, tangent;
};

/// f(x) and J·v = d f(x + εv)/dε at 0; v has the shapes and dtypes of x. By two vector-Jacobian
/// products: ḡ ↦ Jᵀḡ is linear, and J is its transpose. Cost: about four times f.
MERCER_API Jvp jvp(VarFunction f, std::span<const Tensor> x, std::span<const Tensor> v);
MERCER_API Jvp jvp(VarUnary f, const Tensor& x, const Tensor& v);

/// H·v = ∇⟨∇f, v⟩ for an f of one element (Pearlmutter 1994). Cost: about five times f.
MERCER_API std::vector<Tensor> hvp(VarFunction f, std::span<const Tensor> x,
                                   std::span<const Tensor> v);
MERCER_API Tensor hvp(VarUnary f, const Tensor& x, const Tensor& v);

/// ∂f_i/∂x_j, of shape f(x).shape() + x.shape(); for several inputs one for each. Cost: one forward
/// and f(x).count() backward passes. ShapeError where the ranks add up to more than a tensor has.
MERCER_API std::vector<Tensor> jacobian(VarFunction f, std::span<const Tensor> x);
MERCER_API Tensor jacobian(VarUnary f, const Tensor& x);

/// ∂²f/∂x_i∂x_j for an f of one element, of shape x.shape() + x.shape(); for several inputs the
/// blocks, row by row. Cost: one recorded gradient and x.count() backward passes.
MERCER_API std::vector<Tensor> hessian(VarFunction f, std::span<const Tensor> x);
MERCER_API Tensor hessian(VarUnary f, const Tensor& x);

}  // namespace mercer
