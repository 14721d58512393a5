#include "engine/cpu/segment.h"

#include <algorithm>
#include <atomic>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/segment_table.h"
#include "engine/cpu/softmax_table.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::SegmentTable, segment_table)
const cpu::SoftmaxTable& softmax_table();  // engine/ops/softmax.cpp

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

template <class T>
T* at(T* p, int64_t i, DType dtype) {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return static_cast<Byte*>(p) + i * int64_t(size_of(dtype));
}

}  // namespace

void segment_reduce(Reduction op, const SegmentList& list, const void* x, int64_t width,
                    double empty, DType dtype, void* out) {
    const auto kernel = segment_table().reduce[int(op)][dtype == DType::f64];
    for_pieces(list, width, [&](const Segments& piece, int64_t column) {
        kernel(piece, at(x, column, dtype), empty, at(out, column, dtype));
    });
}

void segment_product(const SegmentList& list, const void* w, const void* x, int64_t width,
                     DType dtype, void* out) {
    const auto kernel = segment_table().product[dtype == DType::f64];
    for_pieces(list, width, [&](const Segments& piece, int64_t column) {
        kernel(piece, w, at(x, column, dtype), at(out, column, dtype));
    });
}

void segment_dots(const SegmentList& list, const void* a, const void* b, int64_t width, DType dtype,
                  void* out) {
    const auto kernel = segment_table().dots[dtype == DType::f64];
    parallel_for(list.count, grain_for(cost(list, width)), [&](int64_t begin, int64_t end) {
        kernel({list.offsets, list.row, begin, end, width, width}, a, b, out);
    });
}

void segment_softmax(const SegmentList& list, const void* x, const void* g, int64_t width,
                     DType dtype, void* y) {
    const bool wide = dtype == DType::f64;
    const SegmentTable& table = segment_table();
    // Runs [from, to) of one segment, or of many where nothing is picked.
    const auto run = [&](const Segments& s, const void* in, const void* grad, void* out) {
        if (width > 1)
            return grad ? table.softmax_backward[wide](s, in, grad, out)
                        : table.softmax[wide](s, in, out);
        for (int64_t i = s.begin; i < s.end; ++i) {
            const int64_t from = s.offsets[i], n = s.offsets[i + 1] - from;
            if (grad)
                softmax_table().backward[wide](at(in, from, dtype), at(grad, from, dtype),
                                               at(out, from, dtype), 1, n, false);
            else
                softmax_table().forward[wide](at(in, from, dtype), at(out, from, dtype), 1, n);
        }
    };
    parallel_for(list.count, grain_for(4 * cost(list, width)), [&](int64_t begin, int64_t end) {
        if (!list.row) return run({list.offsets, nullptr, begin, end, width, width}, x, g, y);
        const int64_t bytes = width * int64_t(size_of(dtype));
        for (int64_t s = begin; s < end; ++s) {
            const int64_t from = list.offsets[s], n = list.offsets[s + 1] - from, whole[] = {0, n};
            Scratch scratch;
            char *in = scratch.take<char>(n * bytes), *out = scratch.take<char>(n * bytes),
                 *grad = g ? scratch.take<char>(n * bytes) : nullptr;
            for (int64_t k = 0; k < n; ++k) {
                const int64_t place = list.row[from + k] * bytes;
                std::copy_n(static_cast<const char*>(x) + place, bytes, in + k * bytes);
                if (g) std::copy_n(static_cast<const char*>(g) + place, bytes, grad + k * bytes);
            }
            run({whole, nullptr, 0, 1, width, width}, in, grad, out);
            for (int64_t k = 0; k < n; ++k)
                std::copy_n(out + k * bytes, bytes,
                            static_cast<char*>(y) + list.row[from + k] * bytes);
        }
    });
}

void sort_ids(const int64_t* ids, int64_t count, int64_t n, int64_t* offsets, int64_t* order) {
    // A table of counts for each part of ids; how many parts does not matter to the result.
    const int64_t parts = std::clamp<int64_t>(count / (4 * n + (1 << 14)), 1, thread_count());
    const Tensor table = Tensor::zeros({parts, n}, DType::i64);
    int64_t* next = static_cast<int64_t*>(table.raw());
    const auto for_parts = [&](auto body) {
        parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
            for (int64_t p = begin; p < end; ++p)
                for (int64_t k = count * p / parts; k < count * (p + 1) / parts; ++k)
                    body(next + p * n, k);
        });
    };
    for_parts([=](int64_t* counts, int64_t k) { ++counts[ids[k]]; });
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) {
        offsets[i] = total;
        for (int64_t p = 0; p < parts; ++p) {
            const int64_t here = next[p * n + i];
            next[p * n + i] = total;
            total += here;
        }
    }
    offsets[n] = total;
    for_parts([=](int64_t* places, int64_t k) { order[places[ids[k]]++] = k; });
}

bool all_within(const int64_t* ids, int64_t count, int64_t n) {
    std::atomic<bool> good{true};
    parallel_for(count, 1 << 16, [&](int64_t begin, int64_t end) {
        int64_t signs = 0;  // id and n − 1 − id are both without a sign
        for (int64_t k = begin; k < end; ++k) signs |= ids[k] | (n - 1 - ids[k]);
        if (signs < 0) good = false;
    });
    return good;
}

}  // namespace cpu
}  // namespace mercer
