// What the tiles of a product have in common: their sizes, where they find their operands, and C's way into registers
// and back.
#pragma once

#include "engine/cpu/gemm_table.h"
#include "engine/cpu/kernels/gemm_pack.h"

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

/// f.template operator()<i>() for i = n, n − 1, … 1: tables of tiles by their rows and registers.
template <int n, class F>
constexpr void for_each_size(F f) {
    f.template operator()<n>();
    if constexpr (n > 1) for_each_size<n - 1>(f);
}

template <class T>
constexpr int lanes = Vec<T>::lanes;
template <class T>
constexpr int tile_columns = tile_vectors* lanes<T>;
static_assert(tile_columns<float> <= widest && tile_rows <= widest);

/// Rows of a strip at most, of an a as GemmBlock and GemmSmall have it.
template <class T>
MERCER_INLINE int most_rows(bool packed, int64_t a_row) {
    return packed ? tile_rows : cpu::rows_in_place(tile_rows, a_row * int64_t(sizeof(T)));
}
/// Registers across the next panel.
template <class T>
MERCER_INLINE int panel_vectors(int64_t left) {
    return left >= tile_columns<T> ? tile_vectors : int(left + lanes<T> - 1) / lanes<T>;
}

// Where a tile finds its operands: at(i) is a's element of row i, advance() goes on to the next step.
//   Packed       both packed: all distances are constants
//   Interleaved  a[i + p·stride] (packed, or transposed in place), b anywhere
//   Rowwise      a[i·stride + p] (in place), b anywhere
// Where distances are not constants, advance() hides the addresses: the compiler would have one of its own for each
// operand of each step, and spill them.
template <class T, int rows, int vectors>
struct Packed {
    static constexpr bool b_ends = false;  // b may end where its last row does
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
    const T* b_end;  // as in GemmBlock
    T* c;
    int64_t c_row;
    const T* next;       // the tile of c that comes after this one, to be asked for
    bool accumulate;     // else starts from zero
    int last;            // lanes of each row's last register in use
    bool stream;         // as in GemmBlock; not beside the other, or both are read as one word
    const T* ahead;      // what comes later, asked for
    int64_t ahead_turn;  // by so many elements in each turn of several steps
};

/// A tile of c in registers. Its rows are reached by one pointer that walks, hidden from the compiler, rather than by one
/// per row kept for the stores.
template <class T, int rows, int vectors>
struct Accumulators {
    using V = Vec<T>;
    static constexpr int w = V::lanes;
    V sum[rows][vectors];

    MERCER_INLINE void begin(const Operands<T>& tile) {
        const T* line = tile.c;
        const int64_t c_row = tile.c_row;
        if (!tile.accumulate) {
            MERCER_UNROLL for (int i = 0; i < rows; ++i)
                MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = V(T(0));
        } else if (tile.last == w) {
            MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
                hold(line);
                MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = V::load(line + j * w);
            }
        } else {
            MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
                hold(line);
                MERCER_UNROLL for (int j = 0; j < vectors - 1; ++j) sum[i][j] =
                    V::load(line + j * w);
                sum[i][vectors - 1] = V::load(line + (vectors - 1) * w, tile.last, T(0));
            }
        }
    }
    /// `n` steps: sum += a's column times b's row.
    template <int n, class Where>
    MERCER_INLINE void go(Where& at, const T*& b) {
        MERCER_UNROLL for (int u = 0; u < n; ++u) {
            add(at, b);
            at.advance(b);
        }
    }
    template <class Where>
    MERCER_INLINE void add(const Where& at, const T* b) {
        if constexpr (rows == 1) {  // each of b's registers is met once: an operand from memory
            const V av(at.at(0));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[0][j] =
                fma(av, V::load(b + j * w), sum[0][j]);
            return;
        }
        V bv[vectors];
        MERCER_UNROLL for (int j = 0; j < vectors; ++j) {
            bv[j] = V::load(b + j * w);
            if constexpr (vectors > tile_vectors)
                hold(bv[j]);  // few rows: loads are as many as fma
        }
        MERCER_UNROLL for (int i = 0; i < rows; ++i) {
            const V av(at.at(i));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) {
                if constexpr (sizeof(T) == 4)
                    MERCER_FUSED(MERCER_FUSED_F32, sum[i][j], av, bv[j]);
                else
                    MERCER_FUSED(MERCER_FUSED_F64, sum[i][j], av, bv[j]);
            }
        }
    }
    MERCER_INLINE void end(T* line, int64_t c_row, int last, bool stream) const {
        if (last != w) {
            MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
                hold(line);
                MERCER_UNROLL for (int j = 0; j < vectors - 1; ++j) sum[i][j].store(line + j * w);
                sum[i][vectors - 1].store(line + (vectors - 1) * w, last);
            }
        } else if (cpu::rows_may_stream<T>(tile_columns<T>) && stream) {
            MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
                hold(line);
                MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j].stream(line + j * w);
            }
        } else {
            MERCER_UNROLL for (int i = 0; i < rows; ++i, line += c_row) {
                hold(line);
                MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j].store(line + j * w);
            }
        }
    }
};

}  // namespace
}  // namespace mercer::MERCER_ISA
