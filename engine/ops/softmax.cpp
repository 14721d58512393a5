#include "engine/ops/softmax.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/softmax_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/losses.h"
#include "engine/ops/tiles.h"
#include "engine/parallel.h"

namespace mercer {

MERCER_DISPATCH(cpu::SoftmaxTable, softmax_table)
MERCER_DISPATCH(cpu::LogitsTable, logits_table)

template <bool logarithm>
Tensor SoftmaxOf<logarithm>::forward(const Attrs& attrs, TensorRefs x) {
    require_floating(name, x[0]);
    const auto& table = softmax_table();
    const bool wide = x[0].dtype() == DType::f64;
    return along(attrs.axis, 24, table.forward[logarithm][wide],
                 table.forward_tile[logarithm][wide], x[0]);
}

template <bool logarithm>
Tensor SoftmaxOf<logarithm>::backward(const Attrs& attrs, const Tensor& y, const Tensor& g) {
    const OperationScope scope(name, {&y, &g});
    const auto& table = softmax_table();
    const bool wide = y.dtype() == DType::f64;
    // A gradient's rows may go past the caches; not the result's, which the derivative reads.
    const bool lines = y.size(attrs.axis) * int64_t(size_of(y.dtype())) % 64 == 0,
               stream = streams(y, 3) && (logarithm || lines);
    return along(
        attrs.axis, 0, [&](auto... args) { table.backward[logarithm][wide](args..., stream); },
        table.backward_tile[logarithm][wide], y, g);
}

template struct SoftmaxOf<false>;
template struct SoftmaxOf<true>;

namespace {

// w·(exp(x − top)/sum − …), the gradient of a sum of rows' logarithms.
Tensor gradient(const Tensor& x, int64_t n, const Tensor& top, const Tensor& sum, const Tensor& w,
                const int64_t* labels, double share, double pick) {
    const Tensor dx = Tensor::empty(x.shape(), x.dtype());
    const auto kernel = logits_table().gradient[x.dtype() == DType::f64];
    const bool stream = streams(x, 2);
    for_rows(top.count(), n, [&](int64_t r, int64_t rows) {
        kernel(at(x, r * n), at(top, r), at(sum, r), at(w, r), labels ? labels + r : nullptr,
               at(dx, r * n), rows, n, share, pick, stream);
    });
    return dx;
}

void require_labels(const char* operation, const Shape& x, const Tensor& ids) {
    require_i64(operation, "class ids", ids);
    if (x.rank() == 0 || !(ids.shape() == x.part(0, x.rank() - 1)))
        throw ShapeError(operation, "class ids must have the shape of x without its last axis: x ",
                         x, " vs ids ", ids.shape());
}

}  // namespace

std::array<Tensor, 3> LogSumExp::forward(const Attrs& attrs, TensorRefs in) {
    require_floating(name, in[0]);
    const AxesLast t(in[0].shape(), attrs.axes);
    const DType dtype = in[0].dtype();
    const Tensor top = Tensor::empty({t.rows}, dtype), sum = Tensor::empty({t.rows}, dtype),
                 log_sum = Tensor::empty({t.rows}, dtype);
    const int axis = std::countr_zero(attrs.axes);
    if (std::has_single_bit(attrs.axes) && by_tiles(in[0], axis, 16)) {
        over_tiles(Tiling(in[0], axis, 1, 1), 1, logits_table().sums_tile[dtype == DType::f64],
                   std::array{in[0].contiguous()}, std::array{top, sum, log_sum});
    } else {
        const Tensor x = t.last(in[0]).contiguous();
        const auto kernel = logits_table().sums[dtype == DType::f64];
        for_rows(t.rows, t.n, [&](int64_t r, int64_t rows) {
            kernel(at(x, r * t.n), at(top, r), at(sum, r), at(log_sum, r), nullptr, rows, t.n);
        });
    }
    const Shape kept = kept_shape(in[0].shape(), attrs.axes);
    return {finished(reshape(top + log_sum, kept), attrs), top, sum};
}

Tensor LogSumExp::backward(const Attrs& attrs, const Tensor& from, const Tensor& top,
                           const Tensor& sum, const Tensor& g) {
    const OperationScope scope(name, {&from, &top, &sum, &g});
    const AxesLast t(from.shape(), attrs.axes);
    return t.restored(
        gradient(t.last(from).contiguous(), t.n, top, sum, g.contiguous(), nullptr, 0, 0));
}

Tensor row_labels(const char* operation, const Shape& x, const Tensor& ids, int64_t ignore) {
    require_labels(operation, x, ids);
    Tensor labels = ids.clone();
    const int64_t count = labels.count();
    int64_t* p = labels.mutable_data<int64_t>();
    for (int64_t r = 0; r < count; ++r)
        if (p[r] == ignore)
            p[r] = -1;
        else if (p[r] < 0 || p[r] >= x.back())
            throw ValueError(operation, "class id ", p[r], " is outside [0, ", x.back(), ")");
    return labels;
}
int64_t labelled(const Tensor& labels) {
    const int64_t* p = labels.data<int64_t>();
    return std::count_if(p, p + labels.count(), [](int64_t id) { return id >= 0; });
}

std::array<Tensor, 3> CrossEntropy::forward(const Attrs& attrs, TensorRefs in) {
    require_floating(name, in[0]);
    if (!(attrs.smoothing >= 0 && attrs.smoothing < 1))
        throw ValueError(name, "label_smoothing must be in [0, 1), got ", attrs.smoothing);
    const Tensor labels = row_labels(name, in[0].shape(), in[1], attrs.ignore),
                 x = in[0].contiguous(), top = Tensor::empty(labels.shape(), x.dtype()),
                 sum = Tensor::empty(labels.shape(), x.dtype()),
                 loss = Tensor::empty(labels.shape(), x.dtype());
    const bool smooth = attrs.smoothing > 0;
    const Tensor total = smooth ? Tensor::empty(labels.shape(), x.dtype()) : Tensor();
    const auto kernel = logits_table().sums[x.dtype() == DType::f64];
    const int64_t n = x.shape().back();
    visit(x.dtype(), [&]<class T>(T) {
        const auto value = [](const Tensor& t) { return static_cast<T*>(t.raw()); };
        const int64_t* label = labels.data<int64_t>();
        const T keep = T(1 - attrs.smoothing), share = T(attrs.smoothing);
        for_rows(labels.count(), n, [&](int64_t first, int64_t rows) {
            kernel(at(x, first * n), at(top, first), at(sum, first), at(loss, first),
                   smooth ? at(total, first) : nullptr, rows, n);
            // loss holds log Σ exp(x − top): add top − x_label, or the mean over the smoothed target.
            for (int64_t r = first; r < first + rows; ++r) {
                T& out = value(loss)[r];
                if (label[r] < 0) {
                    out = T(0);
                    continue;
                }
                const T away = value(top)[r] - value(x)[r * n + label[r]];
                out += smooth ? keep * away - share * (value(total)[r] / T(n)) : away;
            }
        });
    });
    return {reduced_loss(loss, attrs.reduction, labelled(labels)), top, sum};
}

Tensor CrossEntropy::backward(const Attrs& attrs, const Tensor& x, const Tensor& ids,
                              const Tensor& top, const Tensor& sum, const Tensor& g) {
    const OperationScope scope(name, {&x, &ids, &top, &sum, &g});
    const Tensor labels = row_labels(name, x.shape(), ids, attrs.ignore);
    const Tensor w =
        loss_weights(g, attrs.reduction, labelled(labels), labels.shape()).contiguous();
    const int64_t n = x.shape().back();
    return gradient(x.contiguous(), n, top, sum, w, labels.data<int64_t>(),
                    attrs.smoothing / double(n), 1 - attrs.smoothing);
}

Tensor NllLoss::forward(const Attrs& attrs, TensorRefs in) {
    require_floating(name, in[0]);
    require_labels(name, in[0].shape(), in[1]);
    const Tensor x = in[0].contiguous(), ids = in[1].contiguous(),
                 loss = Tensor::empty(ids.shape(), x.dtype());
    const int64_t *id = ids.data<int64_t>(), n = x.shape().back(), ignore = attrs.ignore;
    std::atomic<int64_t> counted{0};
    std::atomic<bool> wrong{false};
    visit(x.dtype(), [&]<class T>(T none) {
        // Ids are looked at where they are used: there is little else to do for a row.
        const T* p = n ? static_cast<const T*>(x.raw()) : &none;
        T* to = static_cast<T*>(loss.raw());
        parallel_for(ids.count(), grain_for(3),
                     [&, p, to, id, n, ignore](int64_t begin, int64_t end) {
                         int64_t skipped = 0;
                         bool outside = false;
                         const T* row = p + begin * n;
                         for (int64_t r = begin; r < end; ++r, row += n) {
                             const int64_t i = id[r];
                             if (i == ignore) {
                                 to[r] = T(0), ++skipped;
                                 continue;
                             }
                             const bool out = uint64_t(i) >= uint64_t(n);
                             to[r] = -row[out ? 0 : i];
                             outside |= out;
                         }
                         counted += end - begin - skipped;
                         if (outside) wrong = true;
                     });
    });
    if (wrong) row_labels(name, x.shape(), ids, ignore);  // says which
    return reduced_loss(loss, attrs.reduction, counted);
}

}  // namespace mercer
