#include "engine/cpu/index.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/segment.h"
#include "engine/parallel.h"
#include "engine/tensor.h"

namespace mercer::cpu {
namespace {

constexpr int64_t ahead = 8;           // rows between asking and using
constexpr int64_t short_row = 16;      // elements; longer ones are worth sorting their ids for
constexpr int64_t worth_it = 1 << 14;  // elements from which sorting is worth it

template <class F>
void visit_bits(DType dtype, F f) {
    switch (size_of(dtype)) {
        case 1: return f(uint8_t{});
        case 4: return f(uint32_t{});
        default: return f(uint64_t{});
    }
}

// Few short rows, one after the other in memory: one thread, in ascending j.
template <class T, class Join>
void join_places(const Indexed& a, const T* from, T* to, Join join) {
    if (a.inner == 1) {
        const int64_t n = a.n, *ids = a.ids;
        for (int64_t j = 0; j < n; ++j) join(to[ids[j]], from[j]);
        return;
    }
    for (int64_t j = 0; j < a.n; ++j)
        for (int64_t c = 0; c < a.inner; ++c)
            join(to[a.ids[j] * a.inner + c], from[j * a.inner + c]);
}

// Every (outer, inner) is a line by itself: a thread takes some, and goes along j.
template <class T, class Join>
void join_lines(const Indexed& a, const T* from, T* to, Join join) {
    const int64_t least = 64 / int64_t(sizeof(T)),
                  wanted = a.outer >= 4 * thread_count() ? 1 : thread_count(),
                  block = std::max(
                      (std::min(a.inner / wanted, a.rows ? a.inner : 4 * least) + least - 1) /
                          least * least,
                      least),
                  blocks = (a.inner + block - 1) / block;
    parallel_for(a.outer * blocks, grain_for(a.n * std::min(block, a.inner)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin; item < end; ++item) {
                         const int64_t o = item / blocks, c0 = item % blocks * block,
                                       cols = std::min(block, a.inner - c0);
                         T* plane = to + o * a.size * a.inner + c0;
                         for (int64_t j = 0; j < a.n; ++j) {
                             const int64_t at = (o * a.n + j) * a.inner + c0;
                             if (a.rows)
                                 for (int64_t c = 0; c < cols; ++c)
                                     join(plane[a.ids[j] * a.inner + c], from[at + c]);
                             else
                                 for (int64_t c = 0; c < cols; ++c)
                                     join(plane[a.ids[at + c] * a.inner + c], from[at + c]);
                         }
                     }
                 });
}

template <class T, class Join>
void join_all(const Indexed& a, const T* from, T* to, Join join) {
    if (a.outer == 1 && a.inner < short_row && (a.rows || a.inner == 1))
        join_places(a, from, to, join);
    else
        join_lines(a, from, to, join);
}

}  // namespace

void pick_rows(const Indexed& a, DType dtype, const void* from, void* to) {
    visit_bits(dtype, [&]<class T>(T) {
        const int64_t row = a.inner * int64_t(sizeof(T));
        parallel_for(a.outer * a.n, grain_for(row / 16 + 1), [&](int64_t begin, int64_t end) {
            for (int64_t item = begin; item < end;) {
                const int64_t o = item / a.n, first = item % a.n,
                              last = std::min(a.n, first + end - item);
                const T* plane = static_cast<const T*>(from) + o * a.size * a.inner;
                T* out = static_cast<T*>(to) + o * a.n * a.inner;
                if (a.inner == 1)
                    for (int64_t j = first; j < last; ++j) out[j] = plane[a.ids[j]];
                else
                    for (int64_t j = first; j < last; ++j) {
                        if (j + ahead < last)
                            for (int64_t b = 0; b < std::min<int64_t>(row, 1024); b += 64)
                                __builtin_prefetch(reinterpret_cast<const char*>(
                                                       plane + a.ids[j + ahead] * a.inner) +
                                                   b);
                        std::memcpy(out + j * a.inner, plane + a.ids[j] * a.inner, size_t(row));
                    }
                item += last - first;
            }
        });
    });
}

void put(const Indexed& a, DType dtype, const void* from, void* to) {
    visit_bits(dtype, [&]<class T>(T) {
        join_all(a, static_cast<const T*>(from), static_cast<T*>(to),
                 [](T& place, T x) { place = x; });
    });
}

void add_up(const Indexed& a, DType dtype, const void* from, void* to) {
    if (a.outer == 1 && a.rows && a.inner >= short_row && a.n * a.inner >= worth_it) {
        const Tensor offsets = Tensor::empty({a.size + 1}, DType::i64),
                     order = Tensor::empty({a.n}, DType::i64);
        int64_t *at = static_cast<int64_t*>(offsets.raw()),
                *place = static_cast<int64_t*>(order.raw());
        sort_ids(a.ids, a.n, a.size, at, place);
        return segment_reduce(Reduction::sum, {at, place, a.size, a.n}, from, a.inner, 0, dtype,
                              to);
    }
    const int64_t count = a.outer * a.size * a.inner;
    const auto add = [&]<class T>(T) {
        T* out = static_cast<T*>(to);
        parallel_for(count, 1 << 15,
                     [=](int64_t begin, int64_t end) { std::fill(out + begin, out + end, T(0)); });
        join_all(a, static_cast<const T*>(from), out, [](T& place, T x) { place += x; });
    };
    if (dtype == DType::f64)
        add(double{});
    else
        add(float{});
}

}  // namespace mercer::cpu
