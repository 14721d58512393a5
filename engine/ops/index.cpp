#include "engine/ops/index.h"

#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"

namespace mercer {
namespace {

void check(const char* operation, const Tensor& x, const Tensor& index, int axis, int64_t size) {
    if (index.dtype() != DType::i64)
        throw DTypeError(operation, "the index must be i64, got " +
                                        std::string(name_of(index.dtype())) + "; use cast");
    if (index.rank() != x.rank())
        throw ShapeError(operation, "index " + to_string(index.shape()) +
                                        " must have the rank of " + to_string(x.shape()));
    const Tensor flat = index.contiguous();
    const int64_t* p = flat.data<int64_t>();
    for (int64_t i = 0; i < flat.count(); ++i)
        if (p[i] < 0 || p[i] >= size)
            throw ValueError(operation, "index " + std::to_string(p[i]) + " is outside [0, " +
                                            std::to_string(size) + ") along axis " +
                                            std::to_string(axis));
}

Strides without_axis(Strides strides, int axis) {
    strides[axis] = 0;
    return strides;
}

// Row-major over `shape`: visit(dense offset, offset beside `axis`, index value, run length, run
// strides).
template <class F>
void walk_index(const Shape& shape, const Strides& dense, const Strides& indexed,
                const Tensor& index, const Strides& index_strides, F run) {
    if (count(shape) == 0) return;
    const Strides strides[] = {dense, indexed, index_strides};
    const cpu::Walk walk = cpu::plan_walk(shape, strides);
    const int last = walk.shape.rank() - 1;
    const int64_t* values = static_cast<const int64_t*>(index.raw());
    const int64_t d = walk.strides[0][last], s = walk.strides[1][last], w = walk.strides[2][last];
    for (int64_t row = 0; row < walk.rows(); ++row) {
        int64_t at[3];
        walk.locate(row, at);
        if (w == 0) {
            run(at[0], at[1], values[at[2]], walk.cols(), d, s);
        } else {
            for (int64_t i = 0; i < walk.cols(); ++i)
                run(at[0] + i * d, at[1] + i * s, values[at[2] + i * w], 1, d, s);
        }
    }
}

}  // namespace

Tensor Gather::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor &x = in[0], &index = in[1];
    check(name, x, index, attrs.axis, x.shape()[attrs.axis]);
    Shape shape = x.shape();
    shape[attrs.axis] = index.shape()[attrs.axis];
    Tensor out = Tensor::empty(shape, x.dtype());
    const Strides index_strides =
        cpu::broadcast_strides(name, index.shape(), index.strides(), shape);
    const int64_t step = x.strides()[attrs.axis];
    visit(x.dtype(), [&]<class T>(T) {
        const T* from = static_cast<const T*>(x.raw());
        T* to = static_cast<T*>(out.raw());
        walk_index(shape, out.strides(), without_axis(x.strides(), attrs.axis), index,
                   index_strides,
                   [&](int64_t d, int64_t s, int64_t j, int64_t n, int64_t d_step, int64_t s_step) {
                       for (int64_t i = 0; i < n; ++i)
                           to[d + i * d_step] = from[s + j * step + i * s_step];
                   });
    });
    return out;
}

Tensor ScatterAdd::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor &x = in[0], &index = in[1];
    if (!is_floating(x.dtype()))
        throw DTypeError(name, "works on f32 and f64, got " + std::string(name_of(x.dtype())));
    check(name, x, index, attrs.axis, attrs.size);
    Shape shape = x.shape();
    shape[attrs.axis] = attrs.size;
    Tensor out = Tensor::zeros(shape, x.dtype());
    const Strides index_strides =
        cpu::broadcast_strides(name, index.shape(), index.strides(), x.shape());
    const int64_t step = out.strides()[attrs.axis];
    visit(x.dtype(), [&]<class T>(T) {
        const T* from = static_cast<const T*>(x.raw());
        T* to = static_cast<T*>(out.raw());
        // One thread: the terms of an element are added in ascending j.
        walk_index(x.shape(), x.strides(), without_axis(out.strides(), attrs.axis), index,
                   index_strides,
                   [&](int64_t d, int64_t s, int64_t j, int64_t n, int64_t d_step, int64_t s_step) {
                       for (int64_t i = 0; i < n; ++i)
                           to[s + j * step + i * s_step] += from[d + i * d_step];
                   });
    });
    return out;
}

Tensor Scatter::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor &x = in[0], &index = in[1], &source = in[2];
    check(name, x, index, attrs.axis, x.shape()[attrs.axis]);
    Shape expected = x.shape();
    expected[attrs.axis] = index.shape()[attrs.axis];
    if (!(source.shape() == expected) || source.dtype() != x.dtype())
        throw ShapeError(name,
                         "x is " + std::string(name_of(x.dtype())) + to_string(x.shape()) +
                             ", the index " + to_string(index.shape()) + "; the source must be " +
                             std::string(name_of(x.dtype())) + to_string(expected) + ", got " +
                             std::string(name_of(source.dtype())) + to_string(source.shape()));
    const Tensor out = x.is_contiguous() ? x.clone() : x.contiguous();
    const Strides index_strides =
        cpu::broadcast_strides(name, index.shape(), index.strides(), source.shape());
    const int64_t step = out.strides()[attrs.axis];
    visit(x.dtype(), [&]<class T>(T) {
        const T* from = static_cast<const T*>(source.raw());
        T* to = static_cast<T*>(out.raw());
        // One thread: of several sources for a place the last stays.
        walk_index(source.shape(), source.strides(), without_axis(out.strides(), attrs.axis), index,
                   index_strides,
                   [&](int64_t d, int64_t s, int64_t j, int64_t n, int64_t d_step, int64_t s_step) {
                       for (int64_t i = 0; i < n; ++i)
                           to[s + j * step + i * s_step] = from[d + i * d_step];
                   });
    });
    return out;
}

Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype) {
    if (ids.dtype() != DType::i64)
        throw DTypeError(
            "one_hot", "ids must be i64, got " + std::string(name_of(ids.dtype())) + "; use cast");
    Shape shape = ids.shape();
    shape.push_back(classes);
    const Tensor out = Tensor::zeros(shape, dtype), flat = ids.contiguous();
    const int64_t* id = flat.data<int64_t>();
    visit(dtype, [&]<class T>(T) {
        T* row = static_cast<T*>(out.raw());
        for (int64_t i = 0; i < flat.count(); ++i, row += classes) {
            if (id[i] < 0 || id[i] >= classes)
                throw ValueError("one_hot", "id " + std::to_string(id[i]) + " is outside [0, " +
                                                std::to_string(classes) + ")");
            row[id[i]] = T(1);
        }
    });
    return out;
}

Tensor scatter(const Tensor& x, const Tensor& index, const Tensor& source, int axis) {
    const Tensor in[] = {x, index, source};
    return compute<Scatter>({normal_axis("scatter", axis, x.rank())}, in);
}
Tensor gather(const Tensor& x, const Tensor& index, int axis) {
    const Tensor in[] = {x, index};
    return compute<Gather>({normal_axis("gather", axis, x.rank())}, in);
}
Tensor scatter_add(const Tensor& x, const Tensor& index, int axis, int64_t size) {
    const Tensor in[] = {x, index};
    return compute<ScatterAdd>({normal_axis("scatter_add", axis, x.rank()), size}, in);
}

}  // namespace mercer
