#include "autograd/optim/clip.h"

#include "autograd/optim/check.h"
#include "autograd/optim/rewrite.h"

namespace mercer {

double global_norm(std::span<const Tensor> gradients) {
    const OperationScope scope("global_norm", gradients);
    std::vector<Tensor> dense;
    std::vector<cpu::DotItem> items;
    for (const Tensor& g : gradients) {
        if (!g.defined()) continue;
        check_floating("global_norm", g);
        const Tensor& d = dense.emplace_back(g.contiguous());
        items.push_back({d.raw(), d.raw(), d.count(), d.dtype() == DType::f64});
    }
    const double sum = cpu::dot(items);
    // Squares of f64 may leave the range: then again, with the elements scaled by a power of 2. Of
    // 10¹⁵⁰ or 10⁻¹⁵⁰ each, they square to normal numbers.
    if (std::isnan(sum) || (sum >= 1e-250 && sum <= 1e300)) return std::sqrt(sum);
    const double scale = sum > 1 ? 0x1p-540 : 0x1p540;
    return std::sqrt(cpu::dot(items, scale)) / scale;
}

double clip_by_norm(std::span<Tensor> gradients, double max_norm, NonFinite non_finite) {
    check_positive("clip_by_norm", "max_norm", max_norm);
    const double norm = global_norm(gradients);
    if (!std::isfinite(norm)) {
        if (non_finite == NonFinite::error)
            throw NumericalError("clip_by_norm", "the norm of the gradients is ", norm,
                                 "; skip the step, or look where it arose "
                                 "(MERCER_CHECK_FINITE)");
        return norm;
    }
    if (norm > max_norm)
        rewrite("clip_by_norm", gradients, cpu::UpdateRule::scale, max_norm / norm);
    return norm;
}

void clip_by_value(std::span<Tensor> gradients, double bound) {
    check_positive("clip_by_value", "bound", bound);
    rewrite("clip_by_value", gradients, cpu::UpdateRule::clamp, bound);
}

}  // namespace mercer
