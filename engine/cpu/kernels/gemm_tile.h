// What the tiles of a product have in common: their sizes, where they find their operands, and C's way into registers
// and back.
#pragma once

#include "engine/cpu/gemm_table.h"
#include "engine/cpu/kernels/gemm_pack.h"

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

/// of[r − 1][c − 1] = f.template operator()<r, c>(): tiles by their rows and registers.
template <class Tile, int rows, int columns>
struct Grid {
    Tile of[rows][columns];
};
template <int rows, int columns, class F>
constexpr auto grid(F f) {
    Grid<decltype(f.template operator()<1, 1>()), rows, columns> all{};
    const auto row = [&]<int r, int... c>(std::integer_sequence<int, c...>) {
        ((all.of[r][c] = f.template operator()<r + 1, c + 1>()), ...);
    };
    [&]<int... r>(std::integer_sequence<int, r...>) {
        (row.template operator()<r>(std::make_integer_sequence<int, columns>()), ...);
    }
    (std::make_integer_sequence<int, rows>());
    return all;
}

template <class T>
constexpr int lanes = Vec<T>::lanes;
template <class T>
constexpr int tile_columns = tile_vectors* lanes<T>;
static_assert(tile_columns<float> <= widest && tile_rows <= widest);

/// Registers across the next panel.
template <class T>
MERCER_INLINE int panel_vectors(int64_t left) {
    return left >= tile_columns<T> ? tile_vectors : int(left + lanes<T> - 1) / lanes<T>;
}

/// sum = fma(a, b, sum), all three in registers: left to itself the compiler shuffles accumulators around when it unrolls,
/// and loads b again from memory rather than keep it.
template <class T>
MERCER_INLINE void add_product(Vec<T>& sum, Vec<T> a, Vec<T> b) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    sum = fma(a, b, sum);
#elif defined(__x86_64__)
    if constexpr (sizeof(T) == 4)
        asm("vfmadd231ps %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
    else
        asm("vfmadd231pd %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(b.v));
#else
    if constexpr (sizeof(T) == 4)
        asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum.v) : "w"(a.v), "w"(b.v));
    else
        asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(sum.v) : "w"(a.v), "w"(b.v));
#endif
}

// Where a tile finds its operands: at(i) is a's element of row i, advance() goes on to the next step.
//   Packed       both packed: all distances are constants
//   Interleaved  a[i + p·stride] (packed, or transposed in place), b anywhere
//   Rowwise      a[i·stride + p] (in place), b anywhere
// Where distances are not constants, advance() hides the addresses: the compiler would have one of its own for each
// operand of each step, and spill them.
template <class T, int rows, int vectors>
struct Packed {
    static constexpr bool b_ends = false;  // perhaps not in whole registers
    static constexpr int64_t b_row = vectors * lanes<T>;
    const T* a;
    MERCER_INLINE Packed(const T* first, int64_t, int64_t) : a(first) {}
    MERCER_INLINE T at(int i) const { return a[i]; }
    MERCER_INLINE void advance(const T*& b) { a += rows, b += b_row; }
};
template <class T, int rows, int vectors>
struct Interleaved {
    static constexpr bool b_ends = true;
    const T* a;
    int64_t stride, b_row;
    MERCER_INLINE Interleaved(const T* first, int64_t step, int64_t b_step)
        : a(first), stride(step), b_row(b_step) {}
    MERCER_INLINE T at(int i) const { return a[i]; }
    MERCER_INLINE void advance(const T*& b) {
        hold(a += stride);
        hold(b += b_row);
    }
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
            hold(group[g]);  // or there is one pointer per row, and they are spilt
        }
    }
    MERCER_INLINE T at(int i) const { return group[i / 3][(i % 3) * stride]; }
    MERCER_INLINE void advance(const T*& b) {
        MERCER_UNROLL for (int g = 0; g < groups; ++g) hold(++group[g]);
        hold(b += b_row);
    }
};

/// One tile's work.
template <class T>
struct Operands {
    int64_t k;
    const T* a;
    int64_t a_stride;
    const T* b;
    int64_t b_row;
    T* c;
    int64_t c_row;
    const T* next;       // the tile of c that comes after this one, to be asked for
    bool accumulate;     // else starts from zero
    int last;            // lanes of each row's last register in use
    bool stream;         // as in GemmBlock; not beside the other, or both are read as one word
    const T* ahead;      // what comes later, asked for
    int64_t ahead_turn;  // by so many elements in each turn of several steps
};

/// A tile of c in registers.
template <class T, int rows, int vectors>
struct Accumulators {
    using V = Vec<T>;
    static constexpr int w = V::lanes;
    V sum[rows][vectors];

    MERCER_INLINE void begin(const Operands<T>& tile) {
        if (!tile.accumulate)
            MERCER_UNROLL for (int i = 0; i < rows; ++i)
                MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = V(T(0));
        else if (tile.last == w)
            each(tile.c, tile.c_row,
                 [&](int i, int j, const T* at) MERCER_STEP { sum[i][j] = V::load(at); });
        else
            each(tile.c, tile.c_row, [&](int i, int j, const T* at) MERCER_STEP {
                sum[i][j] = j < vectors - 1 ? V::load(at) : V::load(at, tile.last, T(0));
            });
    }
    /// `n` steps: sum += a's column times b's row.
    template <int n, class Where>
    MERCER_INLINE void go(Where& at, const T*& b) {
        MERCER_UNROLL for (int u = 0; u < n; ++u) {
            add<true>(at, b, w);
            at.advance(b);
        }
    }
    /// One step; not `whole`: of b's last register, `last` lanes are read.
    template <bool whole, class Where>
    MERCER_INLINE void add(const Where& at, const T* b, int last) {
        const auto load = [&](int j) MERCER_STEP {
            return whole || j < vectors - 1 ? V::load(b + j * w) : V::load(b + j * w, last, T(0));
        };
        if constexpr (rows == 1) {  // each of b's registers is met once: an operand from memory
            const V av(at.at(0));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[0][j] = fma(av, load(j), sum[0][j]);
            return;
        }
        V bv[vectors];
        MERCER_UNROLL for (int j = 0; j < vectors; ++j) {
            bv[j] = load(j);
            if constexpr (vectors > tile_vectors)
                hold(bv[j]);  // few rows: loads are as many as fma
        }
        MERCER_UNROLL for (int i = 0; i < rows; ++i) {
            const V av(at.at(i));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) { add_product(sum[i][j], av, bv[j]); }
        }
    }
    MERCER_INLINE void end(T* c, int64_t c_row, int last, bool stream) const {
        if (last != w)
            each(c, c_row, [&](int i, int j, T* at) MERCER_STEP {
                j < vectors - 1 ? sum[i][j].store(at) : sum[i][j].store(at, last);
            });
        else if (cpu::rows_may_stream<T>(tile_columns<T>) && stream)
            each(c, c_row, [&](int i, int j, T* at) MERCER_STEP { sum[i][j].stream(at); });
        else
            each(c, c_row, [&](int i, int j, T* at) MERCER_STEP { sum[i][j].store(at); });
    }

private:
    /// f(i, j, where it stands in c) for each register. Rows are reached by one pointer that walks, hidden from the compiler,
    /// rather than by one per row kept for the stores.
    template <class Line, class F>
    static MERCER_INLINE void each(Line* line, int64_t c_row, F f) {
        MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
            hold(line);
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) f(i, j, line + j * w);
        }
    }
};

}  // namespace
}  // namespace mercer::MERCER_ISA
