#include "engine/ops/index.h"

#include <algorithm>
#include <atomic>

#include "engine/cpu/index.h"
#include "engine/cpu/layout.h"
#include "engine/cpu/segment.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/rows.h"

namespace mercer {
namespace {

void check_form(const char* operation, const Tensor& x, const Tensor& index) {
    require_i64(operation, "the index", index);
    if (index.rank() != x.rank())
        throw ShapeError(operation, "index ", index.shape(), " must have the rank of ", x.shape());
}
void check_range(const char* operation, const Tensor& index, int axis, int64_t size) {
    const Tensor flat = index.contiguous();
    const int64_t *const p = flat.data<int64_t>(), k = cpu::first_outside(p, flat.count(), size);
    if (k < flat.count())
        throw ValueError(operation, "index ", p[k], " is outside [0, ", size, ") along axis ",
                         axis);
}

/// Whether the index is the same at every place beside `axis`, where there is one.
bool names_rows(const Tensor& index, int axis) {
    if (index.count() == 0) return false;
    for (int a = 0; a < index.rank(); ++a)
        if (a != axis && index.size(a) != 1 && index.strides()[a] != 0) return false;
    return true;
}

/// `index` beside a tensor of `shape` (as long as the index along `axis`), whose places there are of `size`; `dense` keeps
/// the numbers alive.
cpu::Indexed indexed(const char* operation, const Tensor& index, const Shape& shape, int axis,
                     int64_t size, Tensor& dense) {
    cpu::Indexed a{1, shape[axis], 1, size, nullptr, names_rows(index, axis)};
    for (int k = 0; k < shape.rank(); ++k)
        if (k != axis) (k < axis ? a.outer : a.inner) *= shape[k];
    const Strides strides =
        cpu::broadcast_strides(operation, index.shape(), index.strides(), shape);
    dense = a.rows ? index.view({a.n}, {strides[axis]}, index.offset()).contiguous()
                   : index.view(shape, strides, index.offset()).contiguous();
    a.ids = dense.data<int64_t>();
    return a;
}

// One element for each of `index`, from a tensor of any strides. False, and something left out, if an index is outside;
// each piece is looked at while it is in cache: quicker than all before, but for a vector that L1 holds.
template <class T>
bool pick(const Tensor& out, const Tensor& x, const Tensor& index, int axis) {
    Strides beside = x.strides();
    beside[axis] = 0;
    const Strides strides[] = {
        out.strides(), beside,
        cpu::broadcast_strides("gather", index.shape(), index.strides(), out.shape())};
    const cpu::Walk walk = cpu::plan_walk(out.shape(), strides);
    const int last = walk.shape.rank() - 1;
    const int64_t d = walk.strides[0][last], s = walk.strides[1][last], w = walk.strides[2][last],
                  step = x.strides()[axis], size = x.shape()[axis];
    const bool dense = d == 1 && s == 0 && w == 1 && step == 1;
    std::atomic<bool> good{true};
    const int64_t line = out.shape()[axis];
    // Short lines that lie side by side: many are looked at together.
    if (dense && line <= 64 && x.is_contiguous() && index.is_contiguous() &&
        index.count() == out.count()) {
        const T* from = static_cast<const T*>(x.raw());
        T* to = static_cast<T*>(out.raw());
        const int64_t *ids = index.data<int64_t>(), many = 2048 / line;
        parallel_for(out.count() / line, grain_for(2 * line), [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o) {
                if ((o - begin) % many == 0 &&
                    !cpu::within(ids + o * line, std::min(many, end - o) * line, size))
                    return void(good = false);
                for (int64_t j = o * line; j < (o + 1) * line; ++j) to[j] = from[o * size + ids[j]];
            }
        });
        return good;
    }
    walk.for_pieces(1 << 11, 1, [&](const int64_t* at, int64_t first, int64_t n) {
        T* to = static_cast<T*>(out.raw()) + at[0] + first * d;
        const T* from = static_cast<const T*>(x.raw()) + at[1] + first * s;
        const int64_t* id = static_cast<const int64_t*>(index.raw()) + at[2] + first * w;
        // All of a line that is met again and again, before it is met at random.
        for (int64_t i = 0; dense && i < size && size <= 4 * n; i += 64 / int64_t(sizeof(T)))
            __builtin_prefetch(from + i);
        bool all = w != 1 || cpu::within(id, n, size);
        for (int64_t i = 0; w != 1 && i < n; ++i) all &= id[i * w] >= 0 && id[i * w] < size;
        if (!all)
            good = false;
        else if (dense)
            for (int64_t i = 0; i < n; ++i) to[i] = from[id[i]];
        else
            for (int64_t i = 0; i < n; ++i) to[i * d] = from[id[i * w] * step + i * s];
    });
    return good;
}

}  // namespace

Tensor Gather::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor &x = in[0], &index = in[1];
    check_form(name, x, index);
    const int64_t size = x.shape()[attrs.axis];
    Shape shape = x.shape();
    shape[attrs.axis] = index.shape()[attrs.axis];
    const Tensor out = Tensor::empty(shape, x.dtype());
    Tensor ids;
    const bool far = size * int64_t(size_of(x.dtype())) > cpu::caches().l1,
               rows = !(far && x.rank() == 1) && names_rows(index, attrs.axis),
               one_by_one = !x.is_contiguous() || (!rows && attrs.axis + 1 == x.rank());
    if (out.count() == 0 || !one_by_one) check_range(name, index, attrs.axis, size);
    if (out.count() == 0) {
        cpu::broadcast_strides(name, index.shape(), index.strides(), shape);  // checks that it fits
        return out;
    }
    if (!one_by_one) {
        const cpu::Indexed places = indexed(name, index, shape, attrs.axis, size, ids);
        if (rows) cpu::pick_rows(places, x.dtype(), x.raw(), out.raw());
        if (rows || cpu::pick_blocks(places, x.dtype(), x.raw(), out.raw())) return out;
    }
    bool good = true;
    visit_stored(x.dtype(), [&]<class T>(T) { good = pick<T>(out, x, index, attrs.axis); });
    if (!good) check_range(name, index, attrs.axis, size);  // throws
    return out;
}

Tensor ScatterAdd::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor &x = in[0], &index = in[1];
    require_floating(name, x);
    check_form(name, x, index);
    Shape shape = x.shape();
    if (index.size(attrs.axis) != shape[attrs.axis])
        throw ShapeError(name, "index ", index.shape(), " must have as many along axis ",
                         attrs.axis, " as ", shape);
    shape[attrs.axis] = attrs.size;
    const Tensor out = Tensor::empty(shape, x.dtype()), source = x.contiguous();
    Tensor ids;
    const cpu::Indexed places = indexed(name, index, x.shape(), attrs.axis, attrs.size, ids);
    if (!out.count() || !cpu::looks_at_ids(places))
        check_range(name, index, attrs.axis, attrs.size);
    if (out.count() && !cpu::add_up(places, x.dtype(), source.raw(), out.raw()))
        check_range(name, index, attrs.axis, attrs.size);  // throws
    return out;
}

Tensor Scatter::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor &x = in[0], &index = in[1], &source = in[2];
    check_form(name, x, index);
    const int64_t size = x.shape()[attrs.axis];
    Shape expected = x.shape();
    expected[attrs.axis] = index.shape()[attrs.axis];
    if (!(source.shape() == expected) || source.dtype() != x.dtype())
        throw ShapeError(name, "x is ", x, ", the index ", index.shape(), "; the source must be ",
                         to_string(x.dtype(), expected), ", got ", source);
    const Tensor dense = source.contiguous();
    Tensor ids;
    const cpu::Indexed places = indexed(name, index, source.shape(), attrs.axis, size, ids);
    if (!dense.count() || !cpu::looks_at_ids(places)) check_range(name, index, attrs.axis, size);
    if (places.rows && places.inner > 1 && x.is_contiguous() && dense.count()) {
        const Tensor out = Tensor::empty(x.shape(), x.dtype());
        cpu::put_rows(places, x.dtype(), x.raw(), dense.raw(), out.raw());
        return out;
    }
    const Tensor out = x.is_contiguous() ? x.clone() : x.contiguous();
    if (dense.count() && !cpu::put(places, x.dtype(), dense.raw(), out.raw()))
        check_range(name, index, attrs.axis, size);  // throws
    return out;
}

Tensor Embedding::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor table = in[0].contiguous(), ids = in[1].contiguous();
    if (table.dtype() != DType::bf16) require_floating(name, table);
    if (table.rank() != 2)
        throw ShapeError(name, "the table must be (size, width), got ", table.shape());
    require_i64(name, "ids", ids);
    const int64_t *const id = ids.data<int64_t>(),
                         k = cpu::first_outside(id, ids.count(), attrs.size);
    if (k < ids.count()) throw ValueError(name, "id ", id[k], " is outside [0, ", attrs.size, ")");
    const int64_t width = table.shape()[1];
    const Tensor out = Tensor::empty(joined(ids.shape(), {width}), table.dtype());
    if (out.count() > 0)
        cpu::pick_rows({1, ids.count(), width, attrs.size, id, true}, table.dtype(), table.raw(),
                       out.raw());
    return out;
}

Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype) {
    const OperationScope scope("one_hot", {&ids});
    require_i64("one_hot", "ids", ids);
    if (classes < 0) throw ValueError("one_hot", "the number of classes is ", classes);
    const Tensor out = Tensor::empty(joined(ids.shape(), {classes}), dtype),
                 flat = ids.contiguous();
    const int64_t *id = flat.data<int64_t>(), n = flat.count();
    if (const int64_t k = cpu::first_outside(id, n, classes); k < n)
        throw ValueError("one_hot", "id ", id[k], " is outside [0, ", classes, ")");
    visit(dtype, [&]<class T>(T) {
        T* rows = static_cast<T*>(out.raw());
        parallel_for(n, grain_for(classes / 8 + 1), [&](int64_t begin, int64_t end) {
            std::fill(rows + begin * classes, rows + end * classes, T(0));
            for (int64_t i = begin; i < end; ++i) rows[i * classes + id[i]] = T(1);
        });
    });
    return out;
}

}  // namespace mercer
