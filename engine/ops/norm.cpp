#include "engine/ops/norm.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/norm_table.h"
#include "engine/cpu/reduce.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/rows.h"

namespace mercer {

MERCER_DISPATCH(cpu::NormTable, norm_table)

namespace {

Shape last_axes(const Shape& shape, int n) { return shape.part(shape.rank() - n, shape.rank()); }

// The elements of a row.
int64_t row_length(const char* name, int axes, const Tensor& x, const Tensor& gain,
                   const Tensor& bias) {
    if (x.rank() < axes)
        throw ShapeError(name, "x ", x.shape(), " has fewer axes than gain and bias");
    const Shape row = last_axes(x.shape(), axes);
    for (const Tensor* t : {&gain, &bias}) {
        if (!t->defined()) continue;
        if (!(t->shape() == row))
            throw ShapeError(name, "gain and bias need the shape of x's last axes: x ", x.shape(),
                             " vs ", t->shape());
        require_same_dtype(name, x, *t, "x");
    }
    if (count(row) == 0) throw ShapeError(name, "nothing to normalise over in ", x.shape());
    return count(row);
}

// The operands that forward and backward share, gain as large as the parameters are.
struct Rows {
    Tensor x, gain;
    int64_t parameters;
    cpu::NormArgs args{};

    Rows(const Tensor& from, const Tensor& gains, int64_t n, bool groups)
        : x(from.contiguous()), parameters(groups ? x.size(1) * x.size(2) : n) {
        gain = dense_or(gains, 1, parameters, x.dtype());
        args.x = x.raw(), args.gain = gain.raw(), args.n = n;
        if (groups) args.inner = x.size(3), args.channels = parameters;
    }
    /// The operands of `count` rows from r on.
    cpu::NormArgs from(int64_t r, int64_t count, const Tensor& mean, const Tensor& scale,
                       const Tensor& out) const {
        cpu::NormArgs a = args;
        a.x = at(x, r * a.n), a.out = at(out, r * a.n);
        a.mean = at(mean, r), a.scale = at(scale, r);
        a.first = r, a.rows = count;
        return a;
    }
};

int kind_of(bool centred, bool groups) {
    using enum cpu::NormKind;
    return int(groups ? group : centred ? layer : root_mean_square);
}

}  // namespace

template <bool centred>
std::array<Tensor, 3> RowNorm<centred>::forward(const Attrs& attrs, std::span<const Tensor> in) {
    require_floating(name, in[0]);
    require_at_least_0(name, "epsilon", attrs.epsilon);
    const int64_t n = attrs.groups ? in[0].size(2) * in[0].size(3)
                                   : row_length(name, attrs.axes, in[0], in[1], in[2]);
    Rows all(in[0], in[1], n, attrs.groups);
    const int64_t rows = all.x.count() / n;
    const DType dtype = all.x.dtype();
    const Tensor bias = dense_or(in[2], 0, all.parameters, dtype),
                 y = Tensor::empty(all.x.shape(), dtype), mean = Tensor::empty({rows}, dtype),
                 scale = Tensor::empty({rows}, dtype);
    const auto kernel = norm_table().forward[kind_of(centred, attrs.groups)][dtype == DType::f64];
    all.args.bias = bias.raw(), all.args.epsilon = attrs.epsilon;
    all.args.stream = streams(all.x, 2);
    for_rows(rows, n,
             [&](int64_t r, int64_t count) { kernel(all.from(r, count, mean, scale, y)); });
    return {y, mean, scale};
}

template <bool centred>
std::array<Tensor, 3> RowNorm<centred>::backward(const Tensor& from, const Tensor& gains,
                                                 const Tensor& mean, const Tensor& scale,
                                                 const Tensor& gradient, bool parameters,
                                                 const Attrs& attrs) {
    const OperationScope scope(name, {&from, &gains, &mean, &scale, &gradient});
    const int64_t rows = mean.count(), n = count(last_axes(from.shape(), attrs.axes));
    Rows all(from, gains, n, attrs.groups);
    const DType dtype = from.dtype();
    const Tensor g = gradient.contiguous(), dx = Tensor::empty(all.x.shape(), dtype);
    const auto kernel = norm_table().backward[kind_of(centred, attrs.groups)][dtype == DType::f64];
    all.args.stream = streams(all.x, 3);
    // Sums over rows: in chunks whose bounds depend on the sizes only, then over the chunks.
    // Where each column has sums, those of few rows are soon more than the rows.
    const int64_t chunk = std::clamp<int64_t>(rows / 32, parameters && !attrs.groups ? 8 : 1, 64),
                  chunks = (rows + chunk - 1) / chunk;
    Tensor dgain, dbias;
    if (parameters) {
        dgain = Tensor::empty({chunks, all.parameters}, dtype);
        dbias = Tensor::empty({chunks, all.parameters}, dtype);
    }
    parallel_each(chunks, grain_for(chunk * n / 4), [&](int64_t c) {
        const int64_t r = c * chunk;
        cpu::NormArgs a = all.from(r, std::min(chunk, rows - r), mean, scale, dx);
        a.g = at(g, r * n);
        if (parameters)
            a.dgain = at(dgain, c * all.parameters), a.dbias = at(dbias, c * all.parameters);
        kernel(a);
    });
    if (!parameters) return {dx, {}, {}};
    const auto whole = [&](const Tensor& parts) {
        return reshape(chunks == 1 ? parts : cpu::reduce(cpu::Reduction::sum, parts, 1),
                       {all.parameters});
    };
    return {dx, whole(dgain), whole(dbias)};
}

template struct RowNorm<true>;
template struct RowNorm<false>;

}  // namespace mercer
