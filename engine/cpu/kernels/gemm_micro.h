// GEMM micro-kernels: a tile of C of `rows`×`vectors` registers is updated by fma(a[i,p], b[p,j],
// c[i,j]) for p = 0, 1, … Memory traffic per step p: `rows` broadcasts from a, `vectors` registers
// from b (both in the order they are packed, from L1 or L2: loads are far from the limit); C once
// in and once out per call.
//
// Each element of C is one chain of fma in ascending p, so tile shapes do not show in the result;
// they are chosen per instruction set to fill the registers: accumulators + `vectors` of b + one
// broadcast.
#pragma once

#include "engine/cpu/gemm_table.h"
#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/simd/vec.h"

// sum = fma(a, b, sum), all three in registers: left to itself the compiler shuffles accumulators
// around when it unrolls, and loads b again from memory rather than keep it.
#if defined(__x86_64__) && MERCER_SIMD != MERCER_SIMD_SCALAR
#define MERCER_FUSED(instruction, sum, a, b) \
    asm(instruction " %2, %1, %0" : "+v"((sum).v) : "v"((a).v), "v"((b).v))
#define MERCER_FUSED_F32 "vfmadd231ps"
#define MERCER_FUSED_F64 "vfmadd231pd"
#elif defined(__aarch64__) && MERCER_SIMD != MERCER_SIMD_SCALAR
#define MERCER_FUSED(instruction, sum, a, b) \
    asm(instruction : "+w"((sum).v) : "w"((a).v), "w"((b).v))
#define MERCER_FUSED_F32 "fmla %0.4s, %1.4s, %2.4s"
#define MERCER_FUSED_F64 "fmla %0.2d, %1.2d, %2.2d"
#else
#define MERCER_FUSED(instruction, sum, a, b) (sum) = fma(a, b, sum)
#endif

namespace mercer::MERCER_ISA {
namespace {

#if MERCER_SIMD == MERCER_SIMD_AVX512
constexpr int tile_rows = 14, tile_vectors = 2, steps = 4;
#elif MERCER_SIMD == MERCER_SIMD_AVX2
constexpr int tile_rows = 6, tile_vectors = 2, steps = 8;
#elif MERCER_SIMD == MERCER_SIMD_NEON
constexpr int tile_rows = 8, tile_vectors = 3, steps = 2;
#else
constexpr int tile_rows = 4, tile_vectors = 3, steps = 1;
#endif

template <class T>
constexpr int lanes = Vec<T>::lanes;
template <class T>
constexpr int tile_columns = tile_vectors* lanes<T>;
static_assert(tile_columns<float> <= widest && tile_rows <= widest);

MERCER_INLINE int strip_rows(int64_t left) { return cpu::strip_rows(tile_rows, left); }
/// Registers across the next panel.
template <class T>
MERCER_INLINE int panel_vectors(int64_t left) {
    return left >= tile_columns<T> ? tile_vectors : int(left + lanes<T> - 1) / lanes<T>;
}

// Where a tile finds its operands: at(i, u) is a's element of row i, u steps on.
//   Packed       both packed: all distances are constants
//   Interleaved  a[i + p·stride] (packed, or transposed in place), b anywhere
//   Rowwise      a[i·stride + p] (in place), b anywhere
// hide() keeps the compiler from an address of its own for each operand of each step.
template <class T, int rows, int vectors>
struct Packed {
    static constexpr bool b_ends = false;  // b may end where its last row does
    static constexpr int64_t b_row = vectors * lanes<T>;
    const T* a;
    MERCER_INLINE Packed(const T* first, int64_t, int64_t) : a(first) {}
    MERCER_INLINE T at(int i, int u) const { return a[i + u * rows]; }
    MERCER_INLINE void advance(int u) { a += u * rows; }
};
template <class T, int rows, int vectors>
struct Interleaved {
    static constexpr bool b_ends = true;
    const T* a;
    int64_t stride, b_row;
    MERCER_INLINE Interleaved(const T* first, int64_t step, int64_t b_step)
        : a(first), stride(step), b_row(b_step) {}
    MERCER_INLINE T at(int i, int u) const { return a[i + u * stride]; }
    MERCER_INLINE void advance(int u) { a += u * stride; }
    MERCER_INLINE void hide() { asm("" : "+r"(a)); }
};
template <class T, int rows, int vectors>
struct Rowwise {
    static constexpr bool b_ends = true;
    static constexpr int groups = (rows + 2) / 3;
    const T* group[groups];  // every third row: the two between are one index register away
    int64_t stride, b_row;
    MERCER_INLINE Rowwise(const T* first, int64_t step, int64_t b_step)
        : stride(step), b_row(b_step) {
        MERCER_UNROLL for (int g = 0; g < groups; ++g) {
            group[g] = first + 3 * g * step;
            asm(""
                : "+r"(group[g]));  // keeps the compiler from one pointer per row, which would be
                                    // spilt
        }
    }
    MERCER_INLINE T at(int i, int u) const { return group[i / 3][(i % 3) * stride + u]; }
    MERCER_INLINE void advance(int u) {
        MERCER_UNROLL for (int g = 0; g < groups; ++g) group[g] += u;
    }
    MERCER_INLINE void hide() {
        MERCER_UNROLL for (int g = 0; g < groups; ++g) asm("" : "+r"(group[g]));
    }
};

/// One tile's work, and what to fetch while it runs.
template <class T>
struct Tile {
    int64_t k;
    const T* a;
    int64_t a_stride;
    const T* b;
    int64_t b_row;
    const T* b_end;  // as in GemmBlock
    T* c;
    int64_t c_row;
    int last;  // lanes of each row's last register in use
    bool accumulate;
    const T* next;  // the tile of c that comes after this one
    int64_t next_row;
    const T* ahead[2];  // what comes later, a line of each for every few steps
    int64_t ahead_step[2];
    const T* from;  // `copies` rows, ahead_step[0] apart, that go to `to`, one for every few steps
    T* to;
    int64_t copies;
};
template <class T>
using Micro = void (*)(const Tile<T>& tile);

/// c tile (+)= a·b over k steps.
template <class T, int rows, int vectors, template <class, int, int> class Where>
void micro(const Tile<T>& tile) {
    T* const c = tile.c;
    const int64_t c_row = tile.c_row;
    const int last = tile.last;
    using V = Vec<T>;
    constexpr int w = V::lanes;
    constexpr int64_t width = vectors * w, line_elements = 64 / sizeof(T);
    V sum[rows][vectors];
    // One pointer that walks, hidden from the compiler, rather than one per row kept for the
    // stores.
    T* line = c;
    if (!tile.accumulate) {
        MERCER_UNROLL for (int i = 0; i < rows; ++i) MERCER_UNROLL for (int j = 0; j < vectors; ++j)
            sum[i][j] = V(T(0));
    } else if (last == w) {
        MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
            asm("" : "+r"(line));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = V::load(line + j * w);
        }
    } else {
        MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
            asm("" : "+r"(line));
            MERCER_UNROLL for (int j = 0; j < vectors - 1; ++j) sum[i][j] = V::load(line + j * w);
            sum[i][vectors - 1] = V::load(line + (vectors - 1) * w, last, T(0));
        }
    }
    const T* b = tile.b;
    Where<T, rows, vectors> at(tile.a, tile.a_stride, tile.b_row);
    const auto step = [&](int u) __attribute__((always_inline)) {
        V bv[vectors];
        MERCER_UNROLL for (int j = 0; j < vectors; ++j) bv[j] = V::load(b + u * at.b_row + j * w);
        MERCER_UNROLL for (int i = 0; i < rows; ++i) {
            const V av(at.at(i, u));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) {
                if constexpr (sizeof(T) == 4)
                    MERCER_FUSED(MERCER_FUSED_F32, sum[i][j], av, bv[j]);
                else
                    MERCER_FUSED(MERCER_FUSED_F64, sum[i][j], av, bv[j]);
            }
        }
    };
    // Memory is asked for line by line between steps: a burst would hold up the loads of a and b.
    const T* next = tile.next;
    // The next tile's c is asked for at the end: before, a and b would drive it out of L1 again.
    constexpr int64_t soon = (rows + 2) * steps;
    int64_t rows_left = rows;
    const T* ahead0 = tile.ahead[0];
    const T* ahead1 = tile.ahead[1];
    const int64_t step0 = tile.ahead_step[0], step1 = tile.ahead_step[1];
    const T* from = tile.from;
    T* to = tile.to;
    const bool ends = Where<T, rows, vectors>::b_ends && tile.b_end;
    int64_t copies = tile.copies, k = tile.k - ends;
    // The loop's own arithmetic competes with fma for ports: a few steps per turn.
    for (; k >= steps; k -= steps) {
        if (k < soon && rows_left-- > 0) {
            MERCER_UNROLL for (int64_t j = 0; j < width; j += line_elements)
                __builtin_prefetch(next + j, 0, 3);
            __builtin_prefetch(next + width - 1, 0, 3);
            next += tile.next_row;
        }
        __builtin_prefetch(ahead0, 0, 2);
        if (copies > 0) {
            --copies;
            MERCER_UNROLL for (int64_t j = line_elements; j < tile_columns<T>; j += line_elements)
                __builtin_prefetch(ahead0 + j, 0, 2);
            MERCER_UNROLL for (int j = 0; j < tile_vectors; ++j) {
                V::load(from + j * w).store(to + j * w);
            }
            from += step0;
            to += tile_columns<T>;
        }
        ahead0 += step0;
        __builtin_prefetch(ahead1, 0, 2);
        ahead1 += step1;
        MERCER_UNROLL for (int u = 0; u < steps; ++u) step(u);
        at.advance(steps);
        b += steps * at.b_row;
    }
    for (; k > 0; --k) {
        step(0);
        at.advance(1);
        b += at.b_row;
    }
    if (ends) {
        b = tile.b_end;
        step(0);
    }
    line = c;
    if (last == w) {
        MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
            asm("" : "+r"(line));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j].store(line + j * w);
        }
    } else {
        MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
            asm("" : "+r"(line));
            MERCER_UNROLL for (int j = 0; j < vectors - 1; ++j) sum[i][j].store(line + j * w);
            sum[i][vectors - 1].store(line + (vectors - 1) * w, last);
        }
    }
}

template <class T>
struct Micros {
    Micro<T> packed[tile_rows][tile_vectors] = {};
    Micro<T> interleaved[tile_rows][tile_vectors] = {};
    Micro<T> rowwise[tile_rows][tile_vectors] = {};
    constexpr Micros() { fill<tile_rows, tile_vectors>(); }

private:
    template <int rows, int vectors>
    constexpr void fill() {
        packed[rows - 1][vectors - 1] = micro<T, rows, vectors, Packed>;
        interleaved[rows - 1][vectors - 1] = micro<T, rows, vectors, Interleaved>;
        rowwise[rows - 1][vectors - 1] = micro<T, rows, vectors, Rowwise>;
        if constexpr (rows > 1)
            fill<rows - 1, vectors>();
        else if constexpr (vectors > 1)
            fill<tile_rows, vectors - 1>();
    }
};
template <class T>
constexpr Micros<T> micros;

}  // namespace
}  // namespace mercer::MERCER_ISA
