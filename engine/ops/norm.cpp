#include "engine/ops/norm.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/norm_table.h"
#include "engine/cpu/reduce.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/rows.h"

namespace mercer {

MERCER_DISPATCH(cpu::NormTable, norm_table)

namespace {

// The elements of a row.
int64_t row_length(const char* name, int axes, const Tensor& x, const Tensor& gain,
                   const Tensor& bias) {
    require_floating(name, x);
    if (x.rank() < axes)
        throw ShapeError(name, "x " + to_string(x.shape()) + " has fewer axes than gain and bias");
    Shape row;
    for (int a = x.rank() - axes; a < x.rank(); ++a) row.push_back(x.shape()[a]);
    for (const Tensor* t : {&gain, &bias}) {
        if (!t->defined()) continue;
        if (!(t->shape() == row))
            throw ShapeError(name, "gain and bias need the shape of x's last axes: x " +
                                       to_string(x.shape()) + " vs " + to_string(t->shape()));
        if (t->dtype() != x.dtype())
            throw DTypeError(name, "dtypes differ: x " + std::string(name_of(x.dtype())) + " vs " +
                                       std::string(name_of(t->dtype())) + "; use cast on one");
    }
    if (count(row) == 0)
        throw ShapeError(name, "nothing to normalise over in " + to_string(x.shape()));
    return count(row);
}

Tensor row_or(double value, const Tensor& t, int64_t n, DType dtype) {
    return t.defined() ? t.contiguous() : Tensor::full({n}, value, dtype);
}

}  // namespace

template <bool centred>
std::array<Tensor, 3> RowNorm<centred>::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const int64_t n = row_length(name, attrs.axes, in[0], in[1], in[2]), rows = in[0].count() / n;
    const Tensor x = in[0].contiguous(), gain = row_or(1, in[1], n, x.dtype()),
                 bias = row_or(0, in[2], n, x.dtype()), y = Tensor::empty(x.shape(), x.dtype()),
                 mean = Tensor::empty({rows}, x.dtype()), scale = Tensor::empty({rows}, x.dtype());
    const auto kernel = norm_table().forward[centred][x.dtype() == DType::f64];
    const bool stream = streams(x, 2);
    for_rows(rows, n, [&](int64_t r, int64_t count) {
        kernel(at(x, r * n), gain.raw(), bias.raw(), at(y, r * n), at(mean, r), at(scale, r), count,
               n, attrs.epsilon, stream);
    });
    return {y, mean, scale};
}

template <bool centred>
std::array<Tensor, 3> RowNorm<centred>::backward(const Tensor& from, const Tensor& gains,
                                                 const Tensor& mean, const Tensor& scale,
                                                 const Tensor& gradient, bool parameters) {
    const OperationScope scope(name, {&from, &gains, &mean, &scale, &gradient});
    const Tensor x = from.contiguous(), g = gradient.contiguous();
    const int64_t rows = mean.count(), n = rows              ? x.count() / rows
                                           : gains.defined() ? gains.count()
                                                             : 0;
    const Tensor gain = row_or(1, gains, n, x.dtype()), dx = Tensor::empty(x.shape(), x.dtype());
    const auto kernel = norm_table().backward[centred][x.dtype() == DType::f64];
    const bool stream = streams(x, 3);
    // Sums over rows: in chunks whose bounds depend on the sizes only, then over the chunks.
    const int64_t chunk = std::clamp<int64_t>(rows / 32, 1, 64),
                  chunks = (rows + chunk - 1) / chunk;
    Tensor dgain, dbias;
    if (parameters) {
        dgain = Tensor::empty({chunks, n}, x.dtype());
        dbias = Tensor::empty({chunks, n}, x.dtype());
    }
    parallel_for(chunks, grain_for(chunk * n / 4), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
            const int64_t r = c * chunk;
            kernel(at(x, r * n), gain.raw(), at(mean, r), at(scale, r), at(g, r * n), at(dx, r * n),
                   parameters ? at(dgain, c * n) : nullptr, parameters ? at(dbias, c * n) : nullptr,
                   std::min(chunk, rows - r), n, stream);
        }
    });
    if (parameters) {
        dgain = reshape(cpu::reduce(cpu::Reduction::sum, dgain, 1), {n});
        dbias = reshape(cpu::reduce(cpu::Reduction::sum, dbias, 1), {n});
    }
    return {dx, dgain, dbias};
}

template struct RowNorm<true>;
template struct RowNorm<false>;

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double epsilon) {
    const Tensor in[] = {x, gain, bias};
    return compute<RowNorm<true>>(RowNorm<true>::attrs(gain, bias, epsilon), in)[0];
}
Tensor rms_norm(const Tensor& x, const Tensor& gain, double epsilon) {
    const Tensor in[] = {x, gain, {}};
    return compute<RowNorm<false>>(RowNorm<false>::attrs(gain, in[2], epsilon), in)[0];
}

}  // namespace mercer
