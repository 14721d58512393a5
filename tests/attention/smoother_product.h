// One smoother of the product of kernels, filters and normalisers: fused against reference, in values
// and in the gradients of every operand and parameter.
#pragma once

#include <string>
#include <vector>

#include "tests/attention/every_smoother.h"
#include "tests/attention/smoother_support.h"

namespace mercer::test {

/// About t queries, of width d; which of product_kernels() and so on.
struct Combination {
    int64_t t, d;
    size_t kernel, filter, normaliser;
};

/// One of them with its operands: q, k, v, and what kernel and normaliser have for parameters.
class Subject {
public:
    explicit Subject(const Combination& c);
    std::vector<Tensor> operands(uint64_t draw) const;
    SmootherResults results(bool fused, const std::vector<Tensor>& x) const;
    /// κ = Σ|w|/|Σw| of the worst row.
    double condition(const std::vector<Tensor>& x) const;
    /// Of each result its part Σ e·g·∂z, of which D·Σ e·∂z is taken; 0 of what has no such parts.
    SmootherResults parts(const std::vector<Tensor>& x) const;

    std::string name;

private:
    Attended attended(std::span<const Var> x) const;
    int64_t width_, values_, batches_, heads_;
    ProductFilter filter_;
    ProductKernel kernel_;
    ProductNormaliser normaliser_;
};

/// Errors are compared result by result (out, and the gradient of each operand).
///   float64  the largest distance of fused from reference is at most 1e-12·κ of the largest element
///   float32  the root mean square error against the reference in float64 is at most twice that of the
///            reference, or what one rounding of the result makes
/// κ = Σ|w|/|Σw| of the worst row, 1 but for signed weights. A slope may be the small difference of two
/// large parts, Σ e·g and D·Σ e (0 of one visible key; of width 1, where the kernel is homogeneous):
/// a rounding of each part is then the measure. The error of one number, such as a parameter's gradient,
/// is a matter of luck: then the median of several draws counts.
struct Outcome {
    std::string name;
    double float64 = 0;  // the largest distance / κ
    double ratio = 0;    // the largest of float32, beyond a rounding
    int draws = 1;
    bool by_parts = false;  // the measure was a part
    std::vector<std::string> failures = {};
};
Outcome compare(const Combination& c);

}  // namespace mercer::test
