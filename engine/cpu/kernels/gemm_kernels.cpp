// Blocks of a product: packing, and the walk over tiles. Packing reads its source once and writes it
// once; a block reads each operand once per strip or panel of the other.
#include "engine/cpu/gemm_table.h"
#include "engine/cpu/kernels/gemm_micro.h"
#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/cpu/kernels/gemm_row.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::GemmBlock;

template <class T>
void pack_rows(int64_t m, int64_t k, const T* a, int64_t row, int64_t col, T* out) {
    for (int64_t i = 0; i < m;) {
        const int rows = strip_rows(m - i);
        pack_panel(rows, rows, k, a + i * row, row, col, out + i * k);
        i += rows;
    }
}

template <class T>
void pack_columns(int64_t n, int64_t k, const T* b, int64_t row, int64_t col, T* out) {
    for (int64_t j = 0; j < n; j += tile_columns<T>) {
        const int width = panel_vectors<T>(n - j) * lanes<T>;
        const int columns = n - j < width ? int(n - j) : width;
        pack_panel(columns, width, k, b + j * col, col, row, out + j * k);
    }
}

/// Rows of a panel still to copy when `number` tiles have run.
template <class T>
int64_t copies_left(const GemmBlock<T>& x, int64_t number) {
    const int64_t done = number * (x.k / steps);
    return x.copy.rows > done ? x.copy.rows - done : 0;
}

/// Rows i … of the block times the panel at column j, through a contiguous copy where c's columns
/// are strided. `next`: the tile of c that comes after. `number`: counts the block's tiles.
template <class T>
void multiply_tile(const GemmBlock<T>& x, int64_t i, int64_t j, int rows, const T* next,
                   int64_t number) {
    const int vectors = panel_vectors<T>(x.n - j), width = vectors * lanes<T>;
    const int columns = x.n - j < width ? int(x.n - j) : width;
    const bool interleaved = x.a_packed || x.a_row == 1;
    const auto& kinds = x.a_packed && x.b_packed ? micros<T>.packed
                        : interleaved            ? micros<T>.interleaved
                                                 : micros<T>.rowwise;
    T* const c = x.c + i * x.c_row + j * x.c_col;
    Tile<T> tile;
    tile.k = x.k;
    tile.a = x.a_packed ? x.a + i * x.k : x.a + i * x.a_row;
    tile.a_stride = x.a_packed ? rows : interleaved ? x.a_col : x.a_row;
    tile.b = x.b_packed ? x.b + j * (x.b_depth ? x.b_depth : x.k) + x.b_first * width : x.b + j;
    tile.b_row = x.b_packed ? width : x.b_row;
    tile.c = c;
    tile.c_row = x.c_row;
    tile.last = columns - (vectors - 1) * lanes<T>;
    tile.accumulate = x.accumulate;
    tile.next = next;
    tile.next_row = x.c_row;
    for (int f = 0; f < 2; ++f) {
        const cpu::GemmAhead<T>& ahead = x.ahead[f];
        const int64_t t = number + ahead.done;
        const bool some = t >= 0 && t < ahead.tiles;
        tile.ahead[f] =
            some ? ahead.from + t / ahead.phases * ahead.major + t % ahead.phases * ahead.minor : c;
        tile.ahead_step[f] = some ? ahead.step : 0;
    }
    if (tile.copies = copies_left(x, number); tile.copies > 0) {
        constexpr int64_t soon = 16;  // rows from being asked for to being copied
        const int64_t done = x.copy.rows - tile.copies;
        tile.from = x.copy.from + done * x.copy.row;
        tile.to = x.copy.to + done * tile_columns<T>;
        tile.ahead[0] = tile.from + soon * x.copy.row;
        tile.ahead_step[0] = x.copy.row;
    }
    const Micro<T> run = kinds[rows - 1][vectors - 1];
    if (x.c_col == 1) return run(tile);
    T copy[tile_rows * tile_columns<T>];
    tile.c = copy;
    tile.next = copy;
    tile.c_row = tile.next_row = tile_columns<T>;
    if (x.accumulate)
        for (int r = 0; r < rows; ++r)
            for (int s = 0; s < columns; ++s)
                copy[r * tile.c_row + s] = c[r * x.c_row + s * x.c_col];
    run(tile);
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) c[r * x.c_row + s * x.c_col] = copy[r * tile.c_row + s];
}

template <class T>
void multiply(const GemmBlock<T>& x) {
    constexpr int64_t width = tile_columns<T>;
    int64_t number = 0;
    if (x.rows_outer)
        for (int64_t i = 0; i < x.m;) {
            const int rows = strip_rows(x.m - i);
            for (int64_t j = 0; j < x.n; j += width) {
                const bool end = j + width >= x.n;
                const T* const next =
                    end ? x.c + (i + rows) * x.c_row : x.c + i * x.c_row + (j + width) * x.c_col;
                multiply_tile(x, i, j, rows, next, number++);
            }
            i += rows;
        }
    else
        for (int64_t j = 0; j < x.n; j += width)
            for (int64_t i = 0; i < x.m;) {
                const int rows = strip_rows(x.m - i);
                const bool end = i + rows >= x.m;
                const T* const next =
                    end ? x.c + (j + width) * x.c_col : x.c + (i + rows) * x.c_row + j * x.c_col;
                multiply_tile(x, i, j, rows, next, number++);
                i += rows;
            }
    if (const int64_t left = copies_left(x, number); left > 0) {
        const int64_t done = x.copy.rows - left;
        pack_panel(int(width), int(width), left, x.copy.from + done * x.copy.row, 1, x.copy.row,
                   x.copy.to + done * width);
    }
}

template <class T>
constexpr cpu::GemmTable<T> table = {
    tile_rows,   tile_columns<T>, lanes<T>,     steps,
    multiply<T>, multiply_row<T>, pack_rows<T>, pack_columns<T>,
};

}  // namespace

extern const cpu::GemmTable<float> gemm_f32;
extern const cpu::GemmTable<double> gemm_f64;
const cpu::GemmTable<float> gemm_f32 = table<float>;
const cpu::GemmTable<double> gemm_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
