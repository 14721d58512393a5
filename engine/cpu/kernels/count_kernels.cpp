// any, all and the number of elements that are not zero (NaN is not). Plain loops, which the compiler vectorises; short rows
// turned, those of bytes eight at a time.
// Memory traffic: each element once. A call sees less than 2³¹ elements for each result.
#include <cstring>
#include <type_traits>

#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {
namespace {

template <class To>
MERCER_INLINE void put(void* out, int64_t at, To (*finish)(int64_t, int64_t), int64_t hits,
                       int64_t n) {
    static_cast<To*>(out)[at] = finish(hits, n);
}
uint8_t any_of(int64_t hits, int64_t) { return hits != 0; }
uint8_t all_of(int64_t hits, int64_t n) { return hits == n; }
int64_t count_of(int64_t hits, int64_t) { return hits; }

/// How many of eight bytes are not 0.
MERCER_INLINE int64_t hits_of(uint64_t bytes) {
    constexpr uint64_t low = 0x7f7f7f7f7f7f7f7f;
    return __builtin_popcountll((((bytes & low) + low) | bytes) & ~low);
}
template <auto finish>
void run_bytes(const cpu::ReduceArgs& args) {
    const uint8_t* const all = static_cast<const uint8_t*>(args.x);
    // Of rows one after the other, what lies behind one is masked.
    const uint8_t* const end = args.step == args.n ? all + args.count * args.n : all;
    const int64_t rest = args.n % 8, whole = args.n - rest;
    const uint64_t mask = (uint64_t{1} << 8 * rest) - 1;
    const auto bytes_at = [](const uint8_t* x, int64_t n) {
        uint64_t bytes = 0;
        std::memcpy(&bytes, x, size_t(n));
        return bytes;
    };
    for (int64_t k = 0; k < args.count; ++k) {
        const uint8_t* const x = all + k * args.step;
        int64_t hits = 0;
        for (int64_t i = 0; i < whole; i += 8) hits += hits_of(bytes_at(x + i, 8));
        if (rest)
            hits += hits_of(end - x >= whole + 8 ? bytes_at(x + whole, 8) & mask
                                                 : bytes_at(x + whole, rest));
        put(args.out, k * args.out_step, finish, hits, args.n);
    }
}

template <class T, auto finish>
void run(const cpu::ReduceArgs& args) {
    if constexpr (sizeof(T) == 1) {
        if (args.n < 64 && args.step >= 0) return run_bytes<finish>(args);
    } else if (short_rows<T>(args.n, args.count) && args.n * int64_t(sizeof(T)) <= 60) {
        return turned_rows(static_cast<const T*>(args.x), args.n, args.step, args.count,
                           [&](const auto& v, int n, int64_t k, int rows) MERCER_STEP {
                               using Index = typename IntOf<T>::type;
                               Vec<Index> hits(Index(0));
                               for (int i = 0; i < n; ++i)
                                   hits = hits + select((v[i] != Vec<T>(T(0))).template as<Index>(),
                                                        Vec<Index>(Index(1)), Vec<Index>(Index(0)));
                               Index each[Vec<T>::lanes];
                               hits.store(each);
                               for (int r = 0; r < rows; ++r)
                                   put(args.out, (k + r) * args.out_step, finish, each[r], args.n);
                           });
    }
    for (int64_t k = 0; k < args.count; ++k) {
        const T* x = static_cast<const T*>(args.x) + k * args.step;
        std::conditional_t<sizeof(T) == 8, int64_t, int32_t> hits = 0;  // as wide as x's elements
        for (int64_t i = 0; i < args.n; ++i) hits += x[i] != T(0);
        put(args.out, k * args.out_step, finish, hits, args.n);
    }
}

template <class T, auto finish>
void columns(const cpu::ReduceArgs& args) {
    constexpr int width = 1024;
    int32_t hits[width];
    const int64_t rows = cpu::joined_rows(args), stride = rows * args.stride;  // of long rows
    for (int64_t c0 = 0; c0 < args.count; c0 += width) {
        const int64_t cols = args.count - c0 < width ? args.count - c0 : width, wide = rows * cols;
        for (int64_t c = 0; c < wide; ++c) hits[c] = 0;
        const T* row = static_cast<const T*>(args.x) + c0;
        int64_t i = 0;
        for (; i + 4 * rows <= args.n; i += 4 * rows, row += 4 * stride) {
            const T *a = row, *b = a + stride, *d = b + stride, *e = d + stride;
            // Rows lie pages apart, where the processor does not ask ahead by itself.
            for (int k = 4; k < 8 && i + k * rows < args.n; ++k)
                for (int64_t c = 0; c < wide; c += 64 / int(sizeof(T)))
                    __builtin_prefetch(row + k * stride + c);
            for (int64_t c = 0; c < wide; ++c)
                hits[c] += (a[c] != T(0)) + (b[c] != T(0)) + (d[c] != T(0)) + (e[c] != T(0));
        }
        for (; i < args.n; i += rows, row += stride) {
            const int64_t size = args.n - i < rows ? (args.n - i) * cols : wide;
            for (int64_t c = 0; c < size; ++c) hits[c] += row[c] != T(0);
        }
        for (int64_t c = wide - 1; c >= cols; --c) hits[c - cols] += hits[c];
        for (int64_t c = 0; c < cols; ++c)
            put(args.out, (c0 + c) * args.out_step, finish, hits[c], args.n);
    }
}

template <class T, auto finish>
constexpr cpu::ReduceKernel both = {run<T, finish>, columns<T, finish>};
#define MERCER_ALL(finish)                                                                       \
    {                                                                                            \
        both<float, finish>, both<double, finish>, both<int32_t, finish>, both<int64_t, finish>, \
            both<uint8_t, finish>                                                                \
    }

}  // namespace

extern const cpu::CountTable count_table = {
    {MERCER_ALL(any_of), MERCER_ALL(all_of), MERCER_ALL(count_of)}};

}  // namespace mercer::MERCER_ISA
