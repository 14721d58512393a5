// Linear algebra on Vars.
#include "engine/ops/linalg.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {

Var cholesky(const Var& a) { return record<Cholesky>({}, {&a}); }
Var inverse(const Var& a) { return record<Inverse>({}, {&a}); }
Var triangular_solve(const Var& t, const Var& b, bool lower, bool transposed) {
    return record<TriangularSolve>({lower, transposed}, {&t, &b});
}
Var solve_factored(const Var& a, const Var& b, const Tensor& factors, const Tensor& pivots,
                   bool transposed) {
    const Var lu(factors), exchanges(pivots);
    return record<Solve>({transposed}, {&a, &b, &lu, &exchanges})[0];
}
Var solve(const Var& a, const Var& b) { return solve_factored(a, b, {}, {}, false); }
std::pair<Var, Var> eigh(const Var& a) { return paired(record<Eigh>({}, {&a})); }

}  // namespace mercer
