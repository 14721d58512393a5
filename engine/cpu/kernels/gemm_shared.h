// c(m×n) = a(m×k)·b(k×n) near, n a few columns more than whole registers (AVX-512): several rows' last columns share a
// register, rather than fill a small part of one each. Memory traffic as in gemm_small.h.
#pragma once

#include "engine/cpu/kernels/gemm_tile.h"

namespace mercer::MERCER_ISA {
namespace {

/// Rows of a tile whose last columns share registers: as many as there are registers for.
constexpr int shared_rows(int share) { return share == 4 ? 12 : 10; }
/// How many rows' last columns share one, each a part of it, where tiles may have `most` rows. 0: none.
template <class T>
int shares(const cpu::GemmSmall<T>& x, int most) {
    constexpr int w = lanes<T>;
    const int last = int(x.n % w), share = 4 * last <= w ? 4 : 2, rows = shared_rows(share);
    if (MERCER_SIMD != MERCER_SIMD_AVX512 || x.m < rows || most < rows || x.n < 2 * w) return 0;
    // A step of one register and the rest takes longer until its ends are repaid.
    if (x.k < (x.n / w % 2 == 0 ? 9 : 24)) return 0;
    return last == 0 || share * last > w || x.accumulate || x.stream || x.brief ? 0 : share;
}

/// Part `part` of v from x. By hand: the compiler would shuffle.
template <int share, class V>
MERCER_INLINE void take_part(V& v, V x, int part) {
    constexpr int words = 16 / share;  // of four bytes
    const auto mask = uint16_t(((1u << words) - 1) << part * words);
    asm("vmovaps %1, %0%{%2%}" : "+v"(v.v) : "v"(x.v), "Yk"(mask));
}
/// x in each part, likewise.
template <class T, class Part>
MERCER_INLINE Vec<T> in_parts(const Part& x) {
    Vec<T> v;
    if constexpr (sizeof x == 16)
        asm("vbroadcastf32x4 %1, %0" : "=v"(v.v) : "m"(x));
    else
        asm("vbroadcastf32x8 %1, %0" : "=v"(v.v) : "m"(x));
    return v;
}

/// One tile of `vectors` whole registers and the last columns behind them.
template <class T, int share, int vectors, template <class, int, int> class Where>
void shared_tile(const Operands<T>& tile) {
    constexpr int rows = shared_rows(share), w = lanes<T>, count = w / share;
    struct Part {
        T x[count];
    };
    Accumulators<T, rows, vectors> sums;
    sums.begin(tile);
    Vec<T> ends[rows / share];
    MERCER_UNROLL for (auto& end : ends) end = Vec<T>(T(0));
    const T* b = tile.b;
    Where<T, rows, vectors> at(tile.a, tile.a_stride, tile.b_row);
    const auto step = [&](const T* from, const T* from_end) MERCER_STEP {
        Vec<T> bv[vectors], joined;
        MERCER_UNROLL for (int j = 0; j < vectors; ++j) bv[j] = Vec<T>::load(from + j * w);
        const Vec<T> be = in_parts<T>(*reinterpret_cast<const Part*>(from_end));
        MERCER_UNROLL for (int i = 0; i < rows; ++i) {
            Vec<T> av(at.at(i));
            hold(av);
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) add_product(sums.sum[i][j], av, bv[j]);
            i % share == 0 ? void(joined = av) : take_part<share>(joined, av, i % share);
            if (i % share == share - 1) add_product(ends[i / share], joined, be);
        }
    };
    T* c = tile.c;
    const T* next = c;
    int asked = tile.next ? 0 : rows;
    for (int64_t k = tile.k; k > 1; --k) {
        if (asked < rows) {
            MERCER_UNROLL for (int j = 0; j <= vectors; ++j) __builtin_prefetch(next + j * w, 1, 3);
            next += tile.c_row, ++asked;
        }
        step(b, b + vectors * w);
        at.advance(b);
    }
    T out[rows / share][w];
    Vec<T>::load(b + vectors * w, tile.last, T(0)).store(out[0]);
    step(b, out[0]);
    sums.end(c, tile.c_row, w, false);
    MERCER_UNROLL for (int e = 0; e < rows / share; ++e) ends[e].store(out[e]);
    for (int i = 0; i < rows; ++i, c += tile.c_row)
        Vec<T>::load(out[0] + i * count, tile.last, T(0)).store(c + vectors * w, tile.last);
}

/// By half of what share a register, and registers.
template <class T, template <class, int, int> class Where>
constexpr auto shared_tiles = grid<2, 2>([]<int half, int vectors> {
    return shared_tile<T, 2 * half, vectors, Where>;
});

}  // namespace
}  // namespace mercer::MERCER_ISA
