// GEMM micro-kernels: a tile of C of `rows`×`vectors` registers is updated by fma(a[i,p], b[p,j], c[i,j]) for p = 0, 1, …
// Memory traffic per step p: `rows` broadcasts from a, `vectors` registers from b (both from L1 or L2 in the order they
// are packed); C once in and once out per call. Packing reads its source once and writes it once.
//
// Each element of C is one chain of fma in ascending p, so tile shapes do not show in the result; they are chosen
// per instruction set to fill the registers: accumulators + `vectors` of b + one broadcast.
#include "engine/cpu/gemm_kernels.h"

#include "engine/simd/vec.h"

#define MERCER_UNROLL _Pragma("GCC unroll 32")

namespace mercer::MERCER_ISA {
namespace {

using cpu::GemmBlock;

#if MERCER_SIMD == MERCER_SIMD_AVX512
constexpr int tile_rows = 14, tile_vectors = 2, steps = 2;
#elif MERCER_SIMD == MERCER_SIMD_AVX2
constexpr int tile_rows = 6, tile_vectors = 2, steps = 4;
#elif MERCER_SIMD == MERCER_SIMD_NEON
constexpr int tile_rows = 8, tile_vectors = 3, steps = 2;
#else
constexpr int tile_rows = 4, tile_vectors = 3, steps = 1;
#endif

template <class T>
constexpr int lanes = Vec<T>::lanes;
template <class T>
constexpr int tile_columns = tile_vectors * lanes<T>;

/// Rows of the next strip. A last strip too short to keep the fma units busy shares with the one before.
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
    MERCER_INLINE Interleaved(const T* first, int64_t step, int64_t b_step) : a(first), stride(step), b_row(b_step) {}
    MERCER_INLINE T at(int i, int u) const { return a[i + u * stride]; }
    MERCER_INLINE void advance(int u) { a += u * stride; }
};
template <class T, int rows, int vectors>
struct Rowwise {
    static constexpr int groups = (rows + 2) / 3;
    const T* group[groups];  // every third row: the two between are one index register away
    int64_t stride, b_row;
    MERCER_INLINE Rowwise(const T* first, int64_t step, int64_t b_step) : stride(step), b_row(b_step) {
        MERCER_UNROLL for (int g = 0; g < groups; ++g) {
            group[g] = first + 3 * g * step;
            asm("" : "+r"(group[g]));  // keeps the compiler from one pointer per row, which would be spilt
        }
    }
    MERCER_INLINE T at(int i, int u) const { return group[i / 3][(i % 3) * stride + u]; }
    MERCER_INLINE void advance(int u) {
        MERCER_UNROLL for (int g = 0; g < groups; ++g) group[g] += u;
    }
};

template <class T>
using Micro = void (*)(int64_t k, const T* a, int64_t a_stride, const T* b, int64_t b_row, T* c, int64_t c_row,
                       int last, bool accumulate, const T* next);

/// c tile (+)= a·b over k steps; `last` lanes of each row's last register are in use. `next` is the tile that will be
/// wanted after this one.
template <class T, int rows, int vectors, template <class, int, int> class Where>
void micro(int64_t k, const T* a, int64_t a_stride, const T* b, int64_t b_row, T* c, int64_t c_row, int last,
           bool accumulate, const T* next) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    V sum[rows][vectors];
    // One pointer that walks, hidden from the compiler, rather than one per row kept for the stores.
    T* line = c;
    if (!accumulate) {
        MERCER_UNROLL for (int i = 0; i < rows; ++i)
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = V(T(0));
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
    MERCER_UNROLL for (int i = 0; i < rows; ++i, next += c_row) {
        asm("" : "+r"(next));
        MERCER_UNROLL for (int j = 0; j < vectors * w * int(sizeof(T)); j += 64)
            __builtin_prefetch(reinterpret_cast<const char*>(next) + j, 1);
        __builtin_prefetch(next + vectors * w - 1, 1);
    }
    Where<T, rows, vectors> at(a, a_stride, b_row);
    const auto step = [&](int u) __attribute__((always_inline)) {
        V bv[vectors];
        MERCER_UNROLL for (int j = 0; j < vectors; ++j) bv[j] = V::load(b + u * at.b_row + j * w);
        MERCER_UNROLL for (int i = 0; i < rows; ++i) {
            const V av(at.at(i, u));
            MERCER_UNROLL for (int j = 0; j < vectors; ++j) sum[i][j] = fma(av, bv[j], sum[i][j]);
        }
    };
    // The loop's own arithmetic competes with fma for ports: a few steps per turn.
    for (; k >= steps; k -= steps) {
        MERCER_UNROLL for (int u = 0; u < steps; ++u) step(u);
        at.advance(steps);
        b += steps * at.b_row;
    }
    for (; k > 0; --k) {
        step(0);
        at.advance(1);
        b += at.b_row;
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
void add_rows(int64_t n, const T* a, int64_t a_col, const T* b, int64_t b_row, T* c, bool accumulate) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    V av[depth];
    MERCER_UNROLL for (int p = 0; p < depth; ++p) av[p] = V(a[p * a_col]);
    int64_t j = 0;
    for (; j + w <= n; j += w) {
        V sum = accumulate ? V::load(c + j) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p) sum = fma(av[p], V::load(b + p * b_row + j), sum);
        sum.store(c + j);
    }
    if (const int left = int(n - j); left > 0) {
        V sum = accumulate ? V::load(c + j, left, T(0)) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p)
            sum = fma(av[p], V::load(b + p * b_row + j, left, T(0)), sum);
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
    for (; p < k; ++p) add_rows<T, 1>(n, a + p * a_col, a_col, b + p * b_row, b_row, c, accumulate || p > 0);
}

// --- packing -------------------------------------------------------------------------------------------------------

constexpr int wide_bytes = sizeof(Vec<float>) < 16 ? 16 : int(sizeof(Vec<float>));
template <class T, int bytes>
struct WideOf {
    typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Wide = typename WideOf<T, wide_bytes>::type;

template <int...>
struct Ints {};
template <int n, int... i>
struct Count : Count<n - 1, n - 1, i...> {};
template <int... i>
struct Count<0, i...> {
    using type = Ints<i...>;
};

/// Alternates `cell` elements of a and of b within each `span` elements, from the lower or upper half of the span.
template <class T, int cell, int span, int upper, int... i>
MERCER_INLINE Wide<T> zip(Wide<T> a, Wide<T> b, Ints<i...>) {
    constexpr int n = wide_bytes / sizeof(T);
    return __builtin_shufflevector(a, b,
                                   (i / span * span + upper * span / 2 + i % span / cell / 2 * cell + i % cell +
                                    (i % span / cell % 2 ? n : 0))...);
}
/// Transposes squares of `count` × `count` cells that lie across `count` registers.
template <class T, int count, int cell>
MERCER_INLINE void transpose_cells(Wide<T>* v, int apart) {
    using Each = typename Count<wide_bytes / int(sizeof(T))>::type;
    constexpr int span = count * cell;
    if constexpr (count == 2) {
        const Wide<T> a = v[0], b = v[apart];
        v[0] = zip<T, cell, span, 0>(a, b, Each{});
        v[apart] = zip<T, cell, span, 1>(a, b, Each{});
    } else if constexpr (count == 4) {
        const Wide<T> a = zip<T, cell, span, 0>(v[0], v[apart], Each{});
        const Wide<T> b = zip<T, cell, span, 1>(v[0], v[apart], Each{});
        const Wide<T> c = zip<T, cell, span, 0>(v[2 * apart], v[3 * apart], Each{});
        const Wide<T> d = zip<T, cell, span, 1>(v[2 * apart], v[3 * apart], Each{});
        v[0] = zip<T, 2 * cell, span, 0>(a, c, Each{});
        v[apart] = zip<T, 2 * cell, span, 1>(a, c, Each{});
        v[2 * apart] = zip<T, 2 * cell, span, 0>(b, d, Each{});
        v[3 * apart] = zip<T, 2 * cell, span, 1>(b, d, Each{});
    }
}

/// n rows of one register of n elements each: out[p·width + x] = in[x][p], whole registers written in ascending p.
template <class T>
MERCER_INLINE void transpose(const T* const in[], T* out, int64_t width) {
    constexpr int s = 16 / sizeof(T), parts = wide_bytes / 16, n = s * parts;
    Wide<T> r[n];
    MERCER_UNROLL for (int x = 0; x < n; ++x) __builtin_memcpy(&r[x], in[x], wide_bytes);
    MERCER_UNROLL for (int g = 0; g < parts; ++g) transpose_cells<T, s, 1>(r + g * s, 1);
    MERCER_UNROLL for (int q = 0; q < s; ++q) transpose_cells<T, parts, s>(r + q, s);
    MERCER_UNROLL for (int p = 0; p < n; ++p) __builtin_memcpy(out + p * width, &r[p], wide_bytes);
}

/// out[p·width + x] = in[x·across + p·along] for x < count, zero for count <= x < width. May write up to one
/// register past the panel's end (where the next panel, packed later, or the buffer's slack is).
template <class T>
void pack_panel(int count, int width, int64_t k, const T* in, int64_t across, int64_t along, T* out) {
    using V = Vec<T>;
    if (across == 1) {
        for (int64_t p = 0; p < k; ++p, in += along, out += width) {
            int x = 0;
            for (; x + V::lanes <= count; x += V::lanes) V::load(in + x).store(out + x);
            for (; x < width; x += V::lanes)
                V::load(in + x, count > x ? count - x : 0, T(0)).store(out + x, width - x);
        }
        return;
    }
    int64_t p = 0;
    if (along == 1) {
        // Squares of one register each way, so that a cache line is read once; from the last group of rows to the
        // first and in ascending p: what a partial group writes too far is overwritten.
        constexpr int n = wide_bytes / sizeof(T);
        for (; p + n <= k; p += n)
            for (int x = (width - 1) / n * n; x >= 0; x -= n) {
                const T* rows[n];
                MERCER_UNROLL for (int r = 0; r < n; ++r)
                    rows[r] = in + (x + r < count ? x + r : count - 1) * across + p;
                transpose(rows, out + p * width + x, width);
            }
        if (width > count)
            for (int64_t q = 0; q < p; ++q)
                for (int x = count; x < width; ++x) out[q * width + x] = T(0);
    }
    for (; p < k; ++p)
        for (int x = 0; x < width; ++x) out[p * width + x] = x < count ? in[x * across + p * along] : T(0);
}

template <class T>
void pack_rows(int64_t m, int64_t k, const T* a, int64_t row, int64_t col, T* out) {
    for (int64_t i = 0; i < m;) {
        const int rows = strip_rows(m - i);
        pack_panel(rows, rows, k, a + i * row, row, col, out + i * k);
        i += rows;
    }
}

// --- a block -------------------------------------------------------------------------------------------------------

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
void multiply_tile(const GemmBlock<T>& x, const Panel<T>& panel, int64_t i, int64_t j, int rows, const T* next) {
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
        return run(x.k, a, a_stride, panel.b, panel.row, c, x.c_row, last, x.accumulate, next);
    constexpr int width = tile_columns<T>;
    T tile[tile_rows * width];
    if (x.accumulate)
        for (int r = 0; r < rows; ++r)
            for (int s = 0; s < panel.columns; ++s) tile[r * width + s] = c[r * x.c_row + s * x.c_col];
    run(x.k, a, a_stride, panel.b, panel.row, tile, width, last, x.accumulate, next);
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

/// Asks for runs [begin, end) of the panel of b at column j, to be packed soon, into L2.
template <class T>
MERCER_INLINE void prefetch_panel(const GemmBlock<T>& x, int64_t j, int64_t begin, int64_t end) {
    const bool by_row = x.b_col == 1;
    const int64_t columns = x.n - j < tile_columns<T> ? x.n - j : tile_columns<T>;
    const int64_t runs = by_row ? x.k : columns, bytes = (by_row ? columns : x.k) * int64_t(sizeof(T));
    const T* b = x.b + j * x.b_col;
    for (int64_t r = begin; r < end && r < runs; ++r) {
        const char* run = reinterpret_cast<const char*>(b + r * (by_row ? x.b_row : x.b_col));
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(run + at, 0, 2);
    }
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
    const int64_t strips = (x.m + tile_rows - 1) / tile_rows;
    const int64_t runs = ((x.b_col == 1 ? x.k : tile_columns<T>) + strips - 1) / strips;
    for (int64_t j = 0; j < x.n; j += tile_columns<T>) {
        const Panel<T> panel = panel_at(x, j);
        int64_t strip = 0;
        for (int64_t i = 0; i < x.m; ++strip) {
            const int rows = strip_rows(x.m - i);
            if (!x.b_direct && strips > 1 && j + tile_columns<T> < x.n)
                prefetch_panel(x, j + tile_columns<T>, strip * runs, (strip + 1) * runs);
            const bool end = i + rows >= x.m;
            multiply_tile(x, panel, i, j, rows,
                          end ? x.c + (j + tile_columns<T>) * x.c_col : x.c + (i + rows) * x.c_row + j * x.c_col);
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
