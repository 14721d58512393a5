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
MERCER_DISPATCH(cpu::ChannelTable, channel_table)

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
std::array<Tensor, 3> RowNorm<centred>::forward(const Attrs& attrs, TensorRefs in) {
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

// ---- by channel ---------------------------------------------------------------------------------

namespace {

// x as lines: whole channels of each example, cut into pieces where they are long; or, where a
// channel has one element, the examples.
struct Lines {
    int64_t channels, lines, n, pieces;
    bool whole;
};
Lines lines_of(const Shape& shape) {
    const int64_t batch = shape[0], channels = shape[1], inner = count(shape) / (batch * channels);
    if (inner == 1) return {channels, batch, channels, 1, false};
    return {channels, batch * channels, inner, (inner + cpu::long_chunk - 1) / cpu::long_chunk,
            true};
}

using Kernel = void (*)(const cpu::ChannelArgs&);

// The operands from element `at` on.
cpu::ChannelArgs starting(cpu::ChannelArgs a, int64_t at, DType dtype) {
    const int64_t bytes = at * int64_t(size_of(dtype));
    if (a.x) a.x = static_cast<const char*>(a.x) + bytes;
    if (a.g) a.g = static_cast<const char*>(a.g) + bytes;
    if (a.out) a.out = static_cast<char*>(a.out) + bytes;
    return a;
}

// body(arguments, first piece) for runs of pieces of all lines.
template <class Body>
void for_pieces(const Lines& l, const cpu::ChannelArgs& operands, DType dtype, Body body) {
    const auto call = [&](int64_t piece, int64_t lines, int64_t at, int64_t n) {
        cpu::ChannelArgs a = starting(operands, at, dtype);
        a.lines = lines, a.n = n, a.first = piece / l.pieces, a.channels = l.channels;
        body(a, piece);
    };
    for_rows(l.lines * l.pieces, std::min(l.n, cpu::long_chunk), [&](int64_t p, int64_t count) {
        if (l.pieces == 1) return call(p, count, p * l.n, l.n);
        for (const int64_t end = p + count; p < end; ++p) {
            const int64_t begin = p % l.pieces * cpu::long_chunk;
            call(p, 1, p / l.pieces * l.n + begin, std::min(cpu::long_chunk, l.n - begin));
        }
    });
}

}  // namespace

Shape channel_shape(const char* name, const Shape& x) {
    if (x.rank() < 2 || count(x) == 0)
        throw ShapeError(name, "x must be (batch, channels, …) and not empty, got ", x);
    return joined({1, x[1]}, Shape::filled(x.rank() - 2, 1));
}

void require_channels(const char* name, const Tensor& t, const Tensor& x) {
    if (!t.defined()) return;
    if (t.rank() != 1 || t.size(0) != x.size(1))
        throw ShapeError(name, "needs one number for each channel: ", t.shape(), " vs ", x.size(1),
                         " channels");
    require_same_dtype(name, x, t, "x");
}

Tensor ChannelAffine::forward(const Attrs&, TensorRefs in) {
    require_floating(name, in[0]);
    channel_shape(name, in[0].shape());
    for (const Tensor& t : in.after(1)) require_channels(name, t, in[0]);
    const int64_t channels = in[0].size(1);
    const DType dtype = in[0].dtype();
    return channel_affine(in[0], dense_or(in[1], 0, channels, dtype),
                          dense_or(in[2], 1, channels, dtype), dense_or(in[3], 0, channels, dtype));
}

std::array<Tensor, 3> channel_sums(const Tensor& from, const Tensor& mean, const Tensor& gradient,
                                   const Tensor& scale) {
    const Tensor x = from.contiguous(), g = gradient.contiguous();
    const Lines l = lines_of(x.shape());
    const DType dtype = x.dtype();
    const Tensor m = dense_or(mean, 0, l.channels, dtype), factor = dense(scale),
                 dx = scale.defined() ? Tensor::empty(x.shape(), dtype) : Tensor();
    cpu::ChannelArgs a{};
    a.x = x.raw(), a.g = g.raw(), a.mean = m.raw();
    if (scale.defined()) a.scale = factor.raw(), a.out = dx.raw();
    const Kernel kernel = channel_table().sums[l.whole][dtype == DType::f64];
    const auto total = [&](const Tensor& parts, unsigned axes) {
        return reshape(cpu::reduce(cpu::Reduction::sum, parts, axes), {l.channels});
    };
    if (l.whole) {
        const int64_t batch = l.lines / l.channels;
        const Tensor sum_g = Tensor::empty({batch, l.channels, l.pieces}, dtype),
                     sum_gx = Tensor::empty({batch, l.channels, l.pieces}, dtype);
        for_pieces(l, a, dtype, [&](cpu::ChannelArgs piece, int64_t p) {
            piece.sum_g = at(sum_g, p), piece.sum_gx = at(sum_gx, p);
            kernel(piece);
        });
        return {total(sum_g, 0b101), total(sum_gx, 0b101), dx};
    }
    // Over the examples: in chunks whose bounds depend on the sizes only, then over the chunks.
    const int64_t chunk = std::clamp<int64_t>(l.lines / 32, 1, 64),
                  chunks = (l.lines + chunk - 1) / chunk;
    const Tensor sum_g = Tensor::empty({chunks, l.channels}, dtype),
                 sum_gx = Tensor::empty({chunks, l.channels}, dtype);
    parallel_each(chunks, grain_for(chunk * l.n / 4), [&](int64_t c) {
        cpu::ChannelArgs piece = starting(a, c * chunk * l.n, dtype);
        piece.lines = std::min(chunk, l.lines - c * chunk), piece.n = piece.channels = l.n;
        piece.sum_g = at(sum_g, c * l.n), piece.sum_gx = at(sum_gx, c * l.n);
        kernel(piece);
    });
    return {total(sum_g, 0b01), total(sum_gx, 0b01), dx};
}

Tensor channel_affine(const Tensor& from, const Tensor& mean, const Tensor& slope,
                      const Tensor& shift, const Tensor& gradient, const Tensor& scale) {
    const Tensor x = from.contiguous(), g = dense(gradient),
                 y = Tensor::empty(x.shape(), x.dtype());
    const Lines l = lines_of(x.shape());
    cpu::ChannelArgs a{};
    a.x = x.raw(), a.mean = mean.raw(), a.slope = slope.raw(), a.shift = shift.raw();
    a.out = y.raw(), a.stream = streams(x, g.defined() ? 3 : 2);
    if (g.defined()) a.g = g.raw(), a.scale = scale.raw();
    const Kernel kernel = channel_table().affine[l.whole][x.dtype() == DType::f64];
    for_pieces(l, a, x.dtype(), [&](const cpu::ChannelArgs& piece, int64_t) { kernel(piece); });
    return y;
}

std::array<Tensor, 3> BatchNorm::forward(const Attrs& attrs, TensorRefs in) {
    require_at_least_0(name, "epsilon", attrs.epsilon);
    const Tensor& x = in[0];
    require_floating(name, x);
    channel_shape(name, x.shape());
    for (const Tensor& t : in.after(1)) require_channels(name, t, x);
    const int64_t channels = x.size(1), n = x.count() / channels;
    const auto [middle, squares] = cpu::moments(x, ((1u << x.rank()) - 1u) & ~2u, true);
    const Tensor mean = reshape(middle, {channels}), var = reshape(squares, {channels}) / double(n);
    Tensor scale = 1.0 / sqrt(var + attrs.epsilon);
    if (in[1].defined()) scale = scale * in[1];
    return {compute<ChannelAffine>({}, {&x, &mean, &scale, &in[2]}), mean, var};
}

}  // namespace mercer
