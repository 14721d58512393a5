#include "engine/ops/sort.h"

#include <algorithm>
#include <bit>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/sort_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/rows.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::SortTable, sort_table)

namespace {

using Kernels = cpu::SortTable::Kernels;

const Kernels& kernels_for(const char* name, const Tensor& x) {
    require_numbers(name, x);
    return sort_table().kernels[int(x.dtype())];
}

// Rows of the sorted axis, and the results' memory.
struct Rows {
    Tensor x, values, indices;
    int64_t n, rows, taken, element;

    Rows(const Tensor& in, int axis, int64_t k, bool want_values) {
        x = as_rows(in, axis);
        Shape shape = x.shape();
        n = shape.back();
        taken = k < 0 ? n : k;
        shape[x.rank() - 1] = taken;
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

std::array<Tensor, 2> sorted(const char* name, const Tensor& x, int axis, bool descending,
                             bool want_values) {
    const OperationScope scope(name, {&x});
    const Kernels& kernels = kernels_for(name, x);
    const Rows all(x, axis, -1, want_values);
    if (all.n > UINT32_MAX)
        throw ShapeError(name,
                         "an axis of " + to_string(x.shape()) + " has more than 2^32 elements");
    if (all.rows < thread_count() && all.n > (1 << 17)) {
        for (int64_t r = 0; r < all.rows; ++r) sort_long(kernels, all, r, descending);
    } else {
        parallel_for(all.rows, grain_for(10 * all.n), [&](int64_t begin, int64_t end) {
            Scratch scratch;
            char* items = scratch.take<char>(all.n * kernels.item_bytes);
            char* spare = scratch.take<char>(all.n * kernels.item_bytes);
            for (int64_t r = begin; r < end; ++r)
                all.write(kernels, kernels.sort(all.row(r), all.n, 0, descending, items, spare), r,
                          descending);
        });
    }
    return all.results(axis);
}

}  // namespace

std::array<Tensor, 2> Sort::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return sorted(name, x[0], attrs.axis, attrs.descending, true);
}

std::array<Tensor, 2> TopK::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    const Kernels& kernels = kernels_for(name, x[0]);
    if (attrs.k < 0 || attrs.k > x[0].shape()[attrs.axis])
        throw ValueError(name, "k = " + std::to_string(attrs.k) + " of axis " +
                                   std::to_string(attrs.axis) + " of " + to_string(x[0].shape()));
    if (attrs.k == 1) {  // NaN, which the arg reductions find first, comes last here
        const Tensor at =
            attrs.largest ? argmax(x[0], attrs.axis, true) : argmin(x[0], attrs.axis, true);
        Tensor best = gather(x[0], at, attrs.axis);
        if (!is_floating(x[0].dtype()) || !any(isnan(best)).item<bool>()) return {best, at};
    }
    const Rows all(x[0], attrs.axis, attrs.k, true);
    const bool whole = attrs.k > all.n / 8;  // then sorting all is no more work
    const int64_t room = whole ? all.n : cpu::top_room(attrs.k);
    parallel_for(all.rows, grain_for((whole ? 10 : 1) * all.n), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        char* items = scratch.take<char>(room * kernels.item_bytes);
        char* spare = scratch.take<char>(room * kernels.item_bytes);
        for (int64_t r = begin; r < end; ++r) {
            const void* best = items;
            if (whole)
                best = kernels.sort(all.row(r), all.n, 0, attrs.largest, items, spare);
            else
                kernels.top(all.row(r), all.n, attrs.k, attrs.largest, items, spare);
            all.write(kernels, best, r, attrs.largest);
        }
    });
    return all.results(attrs.axis);
}

std::pair<Tensor, Tensor> sort(const Tensor& x, int axis, bool descending) {
    return paired(compute_along<Sort>(axis, x, descending));
}
Tensor argsort(const Tensor& x, int axis, bool descending) {
    return sorted("argsort", x, normal_axis("argsort", axis, x.rank()), descending, false)[1];
}
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int axis, bool largest) {
    return paired(compute<TopK>({k, normal_axis("topk", axis, x.rank()), largest}, {&x, 1}));
}

}  // namespace mercer
