#include "engine/ops/sort.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/sort_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/require.h"
#include "engine/ops/tiles.h"
#include "engine/parallel.h"

namespace mercer {

MERCER_DISPATCH(cpu::SortTable, sort_table)

namespace {

using Kernels = cpu::SortTable::Kernels;

// Rows of the sorted axis, and the results' memory.
struct Rows {
    Tensor x, values, indices;
    int64_t n, rows, taken, element;

    Rows(const Tensor& in, int axis, int64_t k, bool want_values) {
        x = as_rows(in, axis);
        Shape shape = x.shape();
        n = shape.back();
        shape[x.rank() - 1] = taken = k;
        if (want_values) values = Tensor::empty(shape, x.dtype());
        indices = Tensor::empty(shape, DType::i64);
        rows = n && taken ? x.count() / n : 0;
        element = int64_t(size_of(x.dtype()));
    }
    const char* row(int64_t r) const { return at(x, r * n); }
    void write(const Kernels& kernels, const void* items, int64_t r, bool descending) const {
        kernels.write(items, taken, row(r), descending,
                      values.defined() ? at(values, r * taken) : nullptr,
                      static_cast<int64_t*>(indices.raw()) + r * taken);
    }
    std::array<Tensor, 2> results(int axis) const {
        return {values.defined() ? as_rows(values, axis) : values, as_rows(indices, axis)};
    }
};

// One long row: parts sorted side by side, then merged by pairs, each merge in pieces. Items are all different, so the
// number of parts does not show.
void sort_long(const Kernels& kernels, const Rows& all, int64_t r, bool descending) {
    constexpr int64_t piece = 1 << 16;
    const int64_t parts = int64_t(std::bit_ceil(unsigned(std::min(thread_count(), 64)))), n = all.n,
                  size = (n + parts - 1) / parts, item = kernels.item_bytes;
    Tensor memory = Tensor::empty({2 * n * item}, DType::boolean);
    char *items = static_cast<char*>(memory.raw()), *spare = items + n * item;
    parallel_each(parts, 1, [&](int64_t p) {
        const int64_t first = std::min(n, p * size), count = std::min(n, first + size) - first;
        if (count == 0) return;
        const void* sorted = kernels.sort(all.row(r) + first * all.element, count, first,
                                          descending, items + first * item, spare + first * item);
        if (sorted != items + first * item)
            std::copy_n(static_cast<const char*>(sorted), count * item, items + first * item);
    });
    for (int64_t width = size; width < n; width *= 2) {
        parallel_for((n + piece - 1) / piece, 1, [&](int64_t begin, int64_t end) {
            for (int64_t from = begin * piece; from < std::min(n, end * piece);) {
                const int64_t pair = from / (2 * width) * 2 * width,
                              middle = std::min(n, pair + width),
                              last = std::min(n, pair + 2 * width),
                              to = std::min({n, end * piece, last});
                kernels.merge(items + pair * item, middle - pair, items + middle * item,
                              last - middle, from - pair, to - pair, spare + pair * item);
                from = to;
            }
        });
        std::swap(items, spare);
    }
    all.write(kernels, items, r, descending);
}

/// The first k of every line, by tiles of columns.
std::array<Tensor, 2> sort_columns(const Kernels& kernels, const Tensor& in, int axis, int64_t k,
                                   bool descending, bool want_values) {
    const Tensor x = in.contiguous();
    Shape shape = x.shape();
    const int64_t n = std::exchange(shape[axis], k);
    const std::array<Tensor, 2> out{want_values ? Tensor::empty(shape, x.dtype()) : Tensor(),
                                    Tensor::empty(shape, DType::i64)};
    over_tiles(
        Tiling(x, axis, 1, 4), 8,
        [&](char* from, char* to, char* at, int64_t, int64_t columns, const cpu::TileAhead&) {
            kernels.columns(from, n, columns, k, descending, to, reinterpret_cast<int64_t*>(at));
        },
        std::array{x}, out);
    return out;
}

// The first k (below 0: all) of every line along the axis, in order.
std::array<Tensor, 2> sorted(const char* name, const Tensor& x, int axis, int64_t k,
                             bool descending, bool want_values) {
    require_numbers(name, x);
    const Kernels& kernels = sort_table().kernels[int(x.dtype())];
    const int64_t n = x.shape()[axis], element = int64_t(size_of(x.dtype()));
    if (n > UINT32_MAX)
        throw ShapeError(name, "an axis of ", x.shape(), " has more than 2^32 elements");
    if (k < 0) k = n;
    const bool whole = k > n / 8;  // then sorting all is no more work
    // Lines so short that items of rows would be merged, and enough of them to fill the lanes.
    if (n > 0 && n * 8 < cpu::longest_column * element && x.count() >= 8 * n &&
        (whole || n * k * element <= 4096))
        return sort_columns(kernels, x, axis, k, descending, want_values);
    const Rows all(x, axis, k, want_values);
    if (whole && all.rows < thread_count() && n > (1 << 17)) {
        for (int64_t r = 0; r < all.rows; ++r) sort_long(kernels, all, r, descending);
        return all.results(axis);
    }
    const int64_t room = whole ? n : cpu::top_room(k);
    parallel_for(all.rows, grain_for((whole ? 10 : 1) * n), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        char* items = scratch.take<char>(room * kernels.item_bytes);
        char* spare = scratch.take<char>(room * kernels.item_bytes);
        for (int64_t r = begin; r < end; ++r) {
            const void* best = items;
            if (whole)
                best = kernels.sort(all.row(r), n, 0, descending, items, spare);
            else
                kernels.top(all.row(r), n, k, descending, items, spare);
            all.write(kernels, best, r, descending);
        }
    });
    return all.results(axis);
}

}  // namespace

std::array<Tensor, 2> Sort::forward(const Attrs& attrs, TensorRefs x) {
    return sorted(name, x[0], attrs.axis, -1, attrs.descending, true);
}

std::array<Tensor, 2> TopK::forward(const Attrs& attrs, TensorRefs x) {
    require_numbers(name, x[0]);
    if (attrs.k < 0 || attrs.k > x[0].shape()[attrs.axis])
        throw ValueError(name, "k = ", attrs.k, " of axis ", attrs.axis, " of ", x[0].shape());
    if (attrs.k == 1) {  // NaN, which the arg reductions find first, comes last here
        const CalledAs called(name);
        const Tensor at =
            attrs.largest ? argmax(x[0], attrs.axis, true) : argmin(x[0], attrs.axis, true);
        Tensor best = gather(x[0], at, attrs.axis);
        if (!is_floating(x[0].dtype()) || !any(isnan(best)).item<bool>()) return {best, at};
    }
    return sorted(name, x[0], attrs.axis, attrs.k, attrs.largest, true);
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
    const OperationScope scope("argsort", {&x});
    return sorted("argsort", x, normal_axis("argsort", axis, x.rank()), -1, descending, false)[1];
}

// ---- Places in sorted lists. Every search takes the same steps, without a branch, several side by side.

namespace {

constexpr int abreast = 16;  // searches at once: their steps do not wait for one another

/// to[l] = how many of list(l)[0, n) come before x[l]; inclusive: or are equal to it. NaN comes last, and equals itself.
template <bool inclusive, class T, class List>
void search(List list, int64_t n, const T* x, int64_t* to, int count) {
    const T *lists[abreast], *at[abreast];
    T v[abreast];
    for (int l = 0; l < abreast; ++l)
        lists[l] = at[l] = list(l < count ? l : 0), v[l] = x[l < count ? l : 0];
    const auto passes = [&](int l, int64_t k) -> int64_t {
        return inclusive ? at[l][k] <= v[l] : at[l][k] < v[l];
    };
    for (int64_t rest = n; rest > 1; rest -= rest / 2)
#pragma GCC unroll 16
        for (int l = 0; l < abreast; ++l) at[l] += passes(l, rest / 2 - 1) * (rest / 2);
    for (int l = 0; l < count; ++l) {
        to[l] = n ? at[l] - lists[l] + passes(l, 0) : 0;
        if (v[l] == v[l]) continue;
        const auto number = [](T b) { return b == b; };  // nothing passes NaN
        to[l] = inclusive ? n : std::partition_point(lists[l], lists[l] + n, number) - lists[l];
    }
}

}  // namespace

Tensor searchsorted(const Tensor& boundaries, const Tensor& x, bool right) {
    constexpr const char* name = "searchsorted";
    const OperationScope scope(name, {&boundaries, &x});
    require_numbers(name, x);
    require_same_dtype(name, boundaries, x, "boundaries", "x");
    const int last = boundaries.rank() - 1;
    bool fits = last == 0 || (last > 0 && x.rank() == boundaries.rank());
    for (int a = 0; fits && a < last; ++a) fits = boundaries.size(a) == x.size(a);
    if (!fits)
        throw ShapeError(name, "boundaries ", boundaries.shape(),
                         " must have one axis, or the axes of x ", x.shape(), " before the last");
    const Tensor out = Tensor::empty(x.shape(), DType::i64);
    if (out.count() == 0) return out;
    const Tensor lists = boundaries.contiguous(), dense = x.contiguous();
    const int64_t n = boundaries.size(last), m = last ? x.size(last) : x.count();
    int64_t* to = static_cast<int64_t*>(out.raw());
    visit(x.dtype(), [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            parallel_for(x.count(), grain_for(16), [&](int64_t begin, int64_t end) {
                const T *values = dense.data<T>(), *all = lists.data<T>();
                for (int64_t i = begin; i < end; i += abreast) {
                    const int count = int(std::min<int64_t>(abreast, end - i));
                    const auto list = [=](int l) { return all + (last ? (i + l) / m * n : 0); };
                    if (right)
                        search<true>(list, n, values + i, to + i, count);
                    else
                        search<false>(list, n, values + i, to + i, count);
                }
            });
    });
    return out;
}

}  // namespace mercer
