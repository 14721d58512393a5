#include "engine/cpu/segment.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/cpu/caches.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/segment_table.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::SegmentTable, segment_table)

namespace cpu {
namespace {

/// About how many ns a segment takes.
int64_t cost(const SegmentList& list, int64_t width) {
    return (list.entries / std::max<int64_t>(list.count, 1) + 1) * (width / 16 + 2);
}

/// body(segments, first column) over pieces of segments and, where these are few, of columns.
template <class Body>
void for_pieces(const SegmentList& list, int64_t width, Body body) {
    const int64_t block = list.count >= 64 ? width : 256,
                  blocks = (width + block - 1) / std::max<int64_t>(block, 1);
    parallel_for(list.count * blocks, grain_for(cost(list, std::min(block, width))),
                 [&](int64_t begin, int64_t end) {
                     while (begin < end) {
                         const int64_t column = begin / list.count, first = begin % list.count,
                                       last = std::min(list.count, first + end - begin);
                         body(Segments{list.offsets, list.row, first, last,
                                       std::min(block, width - column * block), width},
                              column * block);
                         begin += last - first;
                     }
                 });
}

/// body(part) over parts of a piece, short enough for their rows to be in cache still after it was seen that all are in
/// [0, rows); else `good` becomes false.
template <class Body>
void checked(const Segments& piece, int64_t rows, std::atomic<bool>& good, Body body) {
    constexpr int64_t most = 4096;
    const int64_t* const at = piece.offsets;
    Segments part = piece;
    for (; part.begin < piece.end; part.begin = part.end) {
        const int64_t first = at[part.begin];
        const auto* const end =
            std::upper_bound(at + part.begin + 1, at + piece.end + 1, first + most);
        part.end = std::max<int64_t>(part.begin + 1, end - at - 1);
        if (!within(piece.row + first, at[part.end] - first, rows)) return void(good = false);
        body(part);
    }
}

template <class T>
T* at(T* p, int64_t i, DType dtype) {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return static_cast<Byte*>(p) + i * int64_t(size_of(dtype));
}

}  // namespace

void segment_reduce(Reduction op, const SegmentList& list, const void* x, int64_t width,
                    double empty, DType dtype, void* out, bool mean) {
    const auto kernel = segment_table().reduce[int(op)][dtype == DType::f64];
    for_pieces(list, width, [&](const Segments& piece, int64_t column) {
        Segments here = piece;
        here.mean = mean;
        kernel(here, at(x, column, dtype), empty, at(out, column, dtype));
    });
}

bool segment_product(const SegmentList& list, const void* w, const void* x, int64_t rows,
                     int64_t width, DType dtype, void* out) {
    const auto kernel = segment_table().product[dtype == DType::f64];
    std::atomic<bool> good{true};
    for_pieces(list, width, [&](const Segments& piece, int64_t column) {
        checked(piece, rows, good, [&](const Segments& part) {
            kernel(part, w, at(x, column, dtype), at(out, column, dtype));
        });
    });
    return good;
}

bool segment_dots(const SegmentList& list, const void* a, const void* b, int64_t rows,
                  int64_t width, DType dtype, void* out) {
    const auto kernel = segment_table().dots[dtype == DType::f64];
    std::atomic<bool> good{true};
    parallel_for(list.count, grain_for(cost(list, width)), [&](int64_t begin, int64_t end) {
        const Segments piece{list.offsets, list.row, begin, end, width, width};
        checked(piece, rows, good, [&](const Segments& part) { kernel(part, a, b, out); });
    });
    return good;
}

void segment_softmax(const SegmentList& list, const void* x, const void* g, int64_t width,
                     DType dtype, void* y) {
    const bool wide = dtype == DType::f64;
    const SegmentTable& table = segment_table();
    const int64_t bytes = width * int64_t(size_of(dtype));
    // Of fewer registers a row's parts would go past the caches in turns.
    const bool stream = bytes % 256 == 0 && reinterpret_cast<uintptr_t>(y) % 64 == 0 &&
                        streams((g ? 3 : 2) * list.entries * bytes);
    parallel_for(list.count, grain_for(4 * cost(list, width)), [&](int64_t begin, int64_t end) {
        const Segments here{list.offsets, nullptr, begin, end, width, width, false, stream};
        if (g) return table.softmax_backward[wide](here, x, g, y);
        if (!list.row) return table.softmax[wide](here, x, y);
        for (int64_t s = begin; s < end; ++s) {
            const int64_t from = list.offsets[s], n = list.offsets[s + 1] - from, whole[] = {0, n};
            Scratch scratch;
            char *in = scratch.take<char>(n * bytes), *out = scratch.take<char>(n * bytes);
            for (int64_t k = 0; k < n; ++k)
                std::copy_n(static_cast<const char*>(x) + list.row[from + k] * bytes, bytes,
                            in + k * bytes);
            table.softmax[wide]({whole, nullptr, 0, 1, width, width}, in, out);
            for (int64_t k = 0; k < n; ++k)
                std::copy_n(out + k * bytes, bytes,
                            static_cast<char*>(y) + list.row[from + k] * bytes);
        }
    });
}

namespace {

/// Calls body(part, k) for k in [0, count), the parts on several threads, each in ascending k.
template <class Body>
void for_parts(int64_t parts, int64_t count, Body body) {
    parallel_each(parts, 1, [&](int64_t p) {
        for (int64_t k = count * p / parts; k < count * (p + 1) / parts; ++k) body(p, k);
    });
}

/// next[p][b], counts of part p in place b, become the places where they begin.
void add_before(int64_t* next, int64_t parts, int64_t places, int64_t* begins) {
    int64_t total = 0;
    for (int64_t b = 0; b < places; ++b) {
        begins[b] = total;
        for (int64_t p = 0; p < parts; ++p) total += std::exchange(next[p * places + b], total);
    }
    begins[places] = total;
}

}  // namespace

void sort_ids(const int64_t* ids, int64_t count, int64_t n, int64_t* offsets, int64_t* order) {
    // First into at most 256 buckets of neighbouring ids, so that writing goes along few places at a time; then each
    // bucket by itself, in cache. Few ids need only the second step.
    struct Entry {
        uint32_t id, k;
    };
    constexpr int64_t small = 1 << 11;
    const bool fits = count < (int64_t{1} << 32) && n < (int64_t{1} << 32);
    int shift = 0;
    while (fits && n > small && (n - 1) >> shift >= 256) ++shift;
    const int64_t buckets = shift ? ((n - 1) >> shift) + 1 : std::max<int64_t>(n, 0),
                  parts = count < (1 << 14) || buckets > 1 << 14 ? 1 : thread_count();
    const Tensor table = Tensor::zeros({parts + 1, buckets + 1}, DType::i64);
    int64_t *begins = static_cast<int64_t*>(table.raw()), *next = begins + buckets + 1;
    for_parts(parts, count, [=](int64_t p, int64_t k) { ++next[p * buckets + (ids[k] >> shift)]; });
    add_before(next, parts, buckets, begins);
    if (!shift) {
        std::copy(begins, begins + n + 1, offsets);
        for_parts(parts, count,
                  [=](int64_t p, int64_t k) { order[next[p * buckets + ids[k]]++] = k; });
        return;
    }
    const Tensor room = Tensor::empty({count}, DType::i64);
    Entry* entries = static_cast<Entry*>(room.raw());
    for_parts(parts, count, [=](int64_t p, int64_t k) {
        entries[next[p * buckets + (ids[k] >> shift)]++] = {uint32_t(ids[k]), uint32_t(k)};
    });
    parallel_each(buckets, grain_for(count / buckets * 4 + (int64_t{1} << shift)), [&](int64_t b) {
        const int64_t low = b << shift, width = std::min(n - low, int64_t{1} << shift),
                      first = begins[b];
        Scratch scratch;
        int64_t* place = scratch.take<int64_t>(width);
        std::fill_n(place, width, 0);
        for (int64_t i = first; i < begins[b + 1]; ++i) ++place[entries[i].id - low];
        int64_t total = first;
        for (int64_t i = 0; i < width; ++i) {
            offsets[low + i] = total;
            total += std::exchange(place[i], total);
        }
        for (int64_t i = first; i < begins[b + 1]; ++i)
            order[place[entries[i].id - low]++] = entries[i].k;
    });
    offsets[n] = count;
}

bool ascending(const int64_t* list, int64_t count) {
    std::atomic<bool> good{true};
    parallel_for(count - 1, 1 << 15, [&](int64_t begin, int64_t end) {
        bool falls = false;
        for (int64_t k = begin; k < end; ++k) falls |= list[k + 1] < list[k];
        if (falls) good = false;
    });
    return good;
}

bool within(const int64_t* ids, int64_t count, int64_t n) {
    return segment_table().within(ids, count, n);
}

int64_t first_outside(const int64_t* ids, int64_t count, int64_t n) {
    std::atomic<bool> good{true};
    parallel_for(count, 1 << 16, [&](int64_t begin, int64_t end) {
        if (!within(ids + begin, end - begin, n)) good = false;
    });
    if (good) return count;
    return std::find_if(ids, ids + count, [n](int64_t id) { return id < 0 || id >= n; }) - ids;
}

}  // namespace cpu
}  // namespace mercer
