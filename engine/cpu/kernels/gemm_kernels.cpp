// GEMM micro-kernels: a tile of C of `rows`×`vectors` registers is updated by fma(a[i,p], b[p,j],
// c[i,j]) for p = 0, 1, … Memory traffic per step p: `rows` broadcasts from a, `vectors` registers
// from b (both from L1 or L2 in the order they are packed); C once in and once out per call.
// Packing reads its source once and writes it once.
//
// Each element of C is one chain of fma in ascending p, so tile shapes do not show in the result;
// they are chosen per instruction set to fill the registers: accumulators + `vectors` of b + one
// broadcast. At most 14×2 in 32 registers, 6×2 in 16.
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

using cpu::GemmBlock;

#if MERCER_SIMD == MERCER_SIMD_AVX512
constexpr int tile_rows = 14, tile_vectors = 2, steps = 2;
#elif MERCER_SIMD == MERCER_SIMD_AVX2
constexpr int tile_rows = 6, tile_vectors = 2, steps = 8;
#elif MERCER_SIMD == MERCER_SIMD_NEON
constexpr int tile_rows = 8, tile_vectors = 3, steps = 2;
#else
constexpr int tile_rows = 4, tile_vectors = 3, steps = 1;
#endif

constexpr int64_t pace = 32;  // steps between requests for memory

template <class T>
constexpr int lanes = Vec<T>::lanes;
template <class T>
constexpr int tile_columns = tile_vectors* lanes<T>;

/// Rows of the next strip. A last strip too short to keep the fma units busy shares with the one
/// before.
MERCER_INLINE int strip_rows(int64_t left) {
    if (left <= tile_rows) return int(left);
    if (left < tile_rows + tile_rows / 2) return int(left + 1) / 2;
    return tile_rows;
}
/// Registers across the next panel.
template <class T>
MERCER_INLINE int panel_vectors(int64_t left) {
    return left >= tile_columns<T> ? tile_vectors : int(left + lanes<T> - 1) / lanes<T>;
}

// Where a tile finds its operands: at(i, u) is a's element of row i, u steps on.
//   Packed       both packed: all distances are constants
//   Interleaved  a[i + p·stride] (packed, or transposed in place), b anywhere
//   Rowwise      a[i·stride + p] (in place), b anywhere
template <class T, int rows, int vectors>
struct Packed {
    static constexpr int64_t b_row = vectors * lanes<T>;
    const T* a;
    MERCER_INLINE Packed(const T* first, int64_t, int64_t) : a(first) {}
    MERCER_INLINE T at(int i, int u) const { return a[i + u * rows]; }
    MERCER_INLINE void advance(int u) { a += u * rows; }
};
template <class T, int rows, int vectors>
struct Interleaved {
    const T* a;
    int64_t stride, b_row;
    MERCER_INLINE Interleaved(const T* first, int64_t step, int64_t b_step)
        : a(first), stride(step), b_row(b_step) {}
    MERCER_INLINE T at(int i, int u) const { return a[i + u * stride]; }
    MERCER_INLINE void advance(int u) { a += u * stride; }
};
template <class T, int rows, int vectors>
struct Rowwise {
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
};

/// One tile's work, and what to fetch while it runs.
template <class T>
struct Tile {
    int64_t k;
    const T* a;
    int64_t a_stride;
    const T* b;
    int64_t b_row;
    T* c;
    int64_t c_row;
    int last;  // lanes of each row's last register in use
    bool accumulate;
    const T* next;   // the tile of c that comes after this one
    const T* ahead;  // `runs` pieces of b, one panel's row long, for the next packing
    int64_t ahead_step, runs;
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
    // A few cache lines are asked for every now and then: a burst would hold up the loads of a and
    // b. A short tile has no time for that.
    constexpr int64_t width = vectors * w, line_elements = 64 / sizeof(T);
    const bool brief = tile.k <= 3 * pace;
    const T* next = tile.next;
    const T* ahead = tile.ahead;
    int64_t lines = rows, runs = tile.runs;
    for (int64_t k = tile.k; k > 0;) {
        for (int some = brief ? rows : 2; some > 0 && lines > 0; --some) {
            MERCER_UNROLL for (int64_t j = 0; j < width; j += line_elements)
                __builtin_prefetch(next + j, 0, 3);
            __builtin_prefetch(next + width - 1, 0, 3);
            next += c_row;
            --lines;
        }
        if (runs > 0) {
            MERCER_UNROLL for (int64_t j = 0; j < width; j += line_elements)
                __builtin_prefetch(ahead + j, 0, 2);
            ahead += tile.ahead_step;
            --runs;
        }
        int64_t turn = k < pace || brief ? k : pace;
        k -= turn;
        // The loop's own arithmetic competes with fma for ports: a few steps per turn.
        for (; turn >= steps; turn -= steps) {
            MERCER_UNROLL for (int u = 0; u < steps; ++u) step(u);
            at.advance(steps);
            b += steps * at.b_row;
        }
        for (; turn > 0; --turn) {
            step(0);
            at.advance(1);
            b += at.b_row;
        }
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

/// `depth` rows of b added into c at once: c is read and written k/depth times, from L1.
template <class T, int depth>
void add_rows(int64_t n, const T* a, int64_t a_col, const T* b, int64_t b_row, T* c,
              bool accumulate) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    V av[depth];
    MERCER_UNROLL for (int p = 0; p < depth; ++p) av[p] = V(a[p * a_col]);
    int64_t j = 0;
    for (; j + w <= n; j += w) {
        V sum = accumulate ? V::load(c + j) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p) sum =
            fma(av[p], V::load(b + p * b_row + j), sum);
        sum.store(c + j);
    }
    if (const int left = int(n - j); left > 0) {
        V sum = accumulate ? V::load(c + j, left, T(0)) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p) sum =
            fma(av[p], V::load(b + p * b_row + j, left, T(0)), sum);
        sum.store(c + j, left);
    }
}

template <class T>
void multiply_row(int64_t n, int64_t k, const T* a, int64_t a_col, const T* b, int64_t b_row, T* c,
                  bool accumulate) {
    constexpr int depth = 8;
    int64_t p = 0;
    for (; p + depth <= k; p += depth)
        add_rows<T, depth>(n, a + p * a_col, a_col, b + p * b_row, b_row, c, accumulate || p > 0);
    for (; p < k; ++p)
        add_rows<T, 1>(n, a + p * a_col, a_col, b + p * b_row, b_row, c, accumulate || p > 0);
}

template <class T>
void pack_rows(int64_t m, int64_t k, const T* a, int64_t row, int64_t col, T* out) {
    for (int64_t i = 0; i < m;) {
        const int rows = strip_rows(m - i);
        pack_panel(rows, rows, k, a + i * row, row, col, out + i * k);
        i += rows;
    }
}

// --- a block
// -------------------------------------------------------------------------------------------------------

/// A panel of b as the tiles read it.
template <class T>
struct Panel {
    const T* b;
    int64_t row;
    int vectors, columns;  // registers across, columns in use
    bool packed;
};

/// Rows i … of the block times one panel, through a contiguous copy where c's columns are strided.
template <class T>
void multiply_tile(const GemmBlock<T>& x, const Panel<T>& panel, int64_t i, int64_t j, int rows,
                   const T* next, const T* ahead = nullptr, int64_t ahead_step = 0,
                   int64_t runs = 0) {
    const bool interleaved = x.a_packed || x.a_row == 1;
    const T* a = x.a_packed ? x.a + i * x.k : x.a + i * x.a_row;
    const int64_t a_stride = x.a_packed ? rows : interleaved ? x.a_col : x.a_row;
    const auto& kinds = x.a_packed && panel.packed ? micros<T>.packed
                        : interleaved              ? micros<T>.interleaved
                                                   : micros<T>.rowwise;
    const Micro<T> run = kinds[rows - 1][panel.vectors - 1];
    const int last = panel.columns - (panel.vectors - 1) * lanes<T>;
    T* c = x.c + i * x.c_row + j * x.c_col;
    if (x.c_col == 1)
        return run({x.k, a, a_stride, panel.b, panel.row, c, x.c_row, last, x.accumulate, next,
                    ahead, ahead_step, runs});
    constexpr int width = tile_columns<T>;
    T tile[tile_rows * width];
    if (x.accumulate)
        for (int r = 0; r < rows; ++r)
            for (int s = 0; s < panel.columns; ++s)
                tile[r * width + s] = c[r * x.c_row + s * x.c_col];
    run({x.k, a, a_stride, panel.b, panel.row, tile, width, last, x.accumulate, tile, ahead,
         ahead_step, runs});
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < panel.columns; ++s) c[r * x.c_row + s * x.c_col] = tile[r * width + s];
}

/// The panel at column j, packed into x.panel unless b serves as it is.
template <class T>
Panel<T> panel_at(const GemmBlock<T>& x, int64_t j) {
    const int vectors = panel_vectors<T>(x.n - j), width = vectors * lanes<T>;
    const int columns = x.n - j < width ? int(x.n - j) : width;
    const T* b = x.b + j * x.b_col;
    if (x.b_direct && columns == width) return {b, x.b_row, vectors, columns, false};
    pack_panel(columns, width, x.k, b, x.b_col, x.b_row, x.panel);
    return {x.panel, width, vectors, columns, true};
}

template <class T>
void multiply(const GemmBlock<T>& x) {
    if (x.rows_outer) {
        const int64_t whole = x.n / lanes<T> * lanes<T>;
        // The last panel, if it is packed, is packed once for all strips.
        const int64_t tail = (x.n - 1) / tile_columns<T> * tile_columns<T>;
        const Panel<T> last = whole < x.n ? panel_at(x, tail) : Panel<T>{};
        for (int64_t i = 0; i < x.m;) {
            const int rows = strip_rows(x.m - i);
            for (int64_t j = 0; j < x.n; j += tile_columns<T>) {
                const Panel<T> panel = j == tail && whole < x.n ? last : panel_at(x, j);
                multiply_tile(x, panel, i, j, rows, x.c + i * x.c_row + j * x.c_col);
            }
            i += rows;
        }
        return;
    }
    // Each strip asks for its share of the next panel: rows of it, or (where those are strided) a
    // column.
    const bool by_row = x.b_col == 1;
    const int64_t strips = (x.m + tile_rows - 1) / tile_rows;
    const int64_t runs =
        by_row ? (x.k + strips - 1) / strips : (x.k + tile_columns<T> - 1) / tile_columns<T>;
    for (int64_t j = 0; j < x.n; j += tile_columns<T>) {
        const Panel<T> panel = panel_at(x, j);
        const int64_t beyond = x.n - j - tile_columns<T>;  // columns
        const T* const ahead = x.b + (j + tile_columns<T>)*x.b_col;
        int64_t strip = 0;
        for (int64_t i = 0; i < x.m; ++strip) {
            const int rows = strip_rows(x.m - i);
            const bool end = i + rows >= x.m;
            const T* const next = end ? x.c + (j + tile_columns<T>)*x.c_col
                                      : x.c + (i + rows) * x.c_row + j * x.c_col;
            int64_t wanted = 0;
            if (x.b_direct || beyond <= 0)
                wanted = 0;
            else if (by_row)
                wanted = x.k - strip * runs < runs ? x.k - strip * runs : runs;
            else if (x.b_row == 1 && strip < beyond && strip < tile_columns<T>)
                wanted = runs;
            multiply_tile(x, panel, i, j, rows, next,
                          by_row ? ahead + strip * runs * x.b_row : ahead + strip * x.b_col,
                          by_row ? x.b_row : tile_columns<T>, wanted);
            i += rows;
        }
    }
}

template <class T>
constexpr cpu::GemmTable<T> table = {
    tile_rows, tile_columns<T>, lanes<T>, multiply<T>, multiply_row<T>, pack_rows<T>,
};

}  // namespace

extern const cpu::GemmTable<float> gemm_f32;
extern const cpu::GemmTable<double> gemm_f64;
const cpu::GemmTable<float> gemm_f32 = table<float>;
const cpu::GemmTable<double> gemm_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
