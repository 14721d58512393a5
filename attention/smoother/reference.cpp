#include "attention/smoother/reference.h"

#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

// ⟨q, k⟩ for all pairs.
Var products(const Var& q, const Var& k) { return matmul(q, transpose(k)); }

// ‖k‖² as a row: [B…, 1, Tk].
Var squared_norms(const Var& k) { return transpose(sum(square(k), {-1}, true)); }

// ‖q − k‖² by differences: exact where q and k are close, where the expansion would cancel.
Var squared_distances(const Var& q, const Var& k) {
    Shape column = q.shape(), row = k.shape();
    column[q.rank() - 1] = 1;
    column.push_back(q.shape().back());  // [B…, Tq, 1, d]
    row[k.rank() - 2] = 1;
    row[k.rank() - 1] = k.size(-2);
    row.push_back(k.shape().back());  // [B…, 1, Tk, d]
    return sum(square(reshape(q, column) - reshape(k, row)), {-1});
}

void check_shapes(const Var& q, const Var& k) {
    if (q.rank() < 2 || k.rank() < 2 || q.shape().back() != k.shape().back())
        throw ShapeError("attend", "queries " + to_string(q.shape()) + " and keys " +
                                       to_string(k.shape()) +
                                       " need two axes or more and the same width");
}

Var log_kernel(const Var& q, const Var& k, const Kernel& kernel) {
    const double root = std::sqrt(double(q.shape().back()));
    switch (kernel.kind) {
        case Kernel::Kind::dot_product: return products(q * (1 / root), k);
        case Kernel::Kind::rbf: return products(q * (2 / root), k) + squared_norms(k) * (-1 / root);
        case Kernel::Kind::nadaraya_watson: break;
    }
    if (!kernel.bandwidth.defined() || kernel.bandwidth.count() != 1 ||
        !(kernel.bandwidth.item<double>() > 0))
        throw ValueError("nadaraya_watson", "the bandwidth must be one positive number");
    const Var h = reshape(cast(kernel.bandwidth, q.dtype()), {});
    return squared_distances(q, k) / (square(h) * -2.0);
}

}  // namespace

Kernel nadaraya_watson(double bandwidth) {
    return nadaraya_watson(Var(Tensor::scalar(bandwidth, DType::f64)));
}

Var log_weights(const Var& q, const Var& k, const SmootherOptions& options) {
    check_shapes(q, k);
    const Var logits = log_kernel(q, k, options.kernel);
    if (!options.filter.rule()) return logits;
    const Var hidden = Tensor::scalar(-std::numeric_limits<double>::infinity(), q.dtype());
    return where(visible(options.filter, logits.shape()), logits, hidden);
}

Var smoother_weights(const Var& q, const Var& k, const SmootherOptions& options) {
    return softmax(log_weights(q, k, options), -1);
}

Var attend(const Var& q, const Var& k, const Var& v, const SmootherOptions& options) {
    if (v.rank() < 2 || k.rank() < 2 || v.size(-2) != k.size(-2))
        throw ShapeError("attend", "keys " + to_string(k.shape()) + " and values " +
                                       to_string(v.shape()) + " differ in length");
    return matmul(smoother_weights(q, k, options), v);
}

}  // namespace mercer
