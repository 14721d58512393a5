// Tiles of planes: parted for a stride and put together again, packed as patches for a matrix product, correlated, and
// searched for the largest. Traffic: a tile in cache is read once for each tap, or some rows of outputs; these are written once.
#include "engine/cpu/convolution_table.h"
#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/cpu/kernels/plane_channels.h"
#include "engine/cpu/kernels/plane_correlate.h"
#include "engine/cpu/kernels/plane_largest.h"
#include "engine/cpu/kernels/plane_window.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::Run;
static_assert(cpu::weight_lanes == canonical_lanes);

// Rows are short, and little is done with them: the processor does not look ahead enough.
template <class T>
MERCER_INLINE void ask_beyond(const T* row, int64_t n) {
    constexpr int64_t line = 64 / sizeof(T), soon = 32 * line;
    for (int64_t c = 0; c < n; c += line) __builtin_prefetch(row + c + soon);
}
// In whole registers; what is written too far, what comes next overwrites.
template <class T>
void pad(const T* from, int64_t rows, int64_t n, int64_t from_row, T outside, int64_t before, T* to,
         int64_t row) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    const V edge(outside);
    for (int64_t r = 0; r < rows; ++r, from += from_row, to += row) {
        ask_beyond(from, from_row);
        for (int64_t c = 0; c < before; c += w) edge.store(to + c);
        T* const inner = to + before;
        int64_t c = 0;
        for (; c + w <= n; c += w) V::load(from + c).store(inner + c);
        if (c < n && n >= w)
            V::load(from + n - w).store(inner + n - w);
        else if (c < n)
            V::load(from, int(n), outside).store(inner);
        for (c = n; c < row - before; c += w) edge.store(inner + c);
    }
}
// A row's elements by their remainder modulo the step. A step known to the compiler becomes shuffles.
template <class T>
void split(const T* __restrict from, int64_t step, int64_t n, int64_t part, T* to) {
    ask_beyond(from, n);
    if (step == 2) {
        T* __restrict even = to, * __restrict odd = to + part;
        for (int64_t i = 0; i < n / 2; ++i) even[i] = from[2 * i], odd[i] = from[2 * i + 1];
        if (n % 2) even[n / 2] = from[n - 1];
        return;
    }
    const int64_t rows = n / step;
    if (step == 4)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t q = 0; q < 4; ++q) to[q * part + r] = from[4 * r + q];
    else
        turn(from, rows, step, step, to, part);
    for (int64_t q = 0; q < n - rows * step; ++q) to[q * part + rows] = from[rows * step + q];
}
// And in turn again.
template <class T>
void interleave(const T* from, int64_t step, int64_t n, int64_t part, T* __restrict to) {
    const int64_t rows = n / step;
    if (step == 2)
        for (int64_t r = 0; r < rows; ++r) to[2 * r] = from[r], to[2 * r + 1] = from[part + r];
    else if (step == 4)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t q = 0; q < 4; ++q) to[4 * r + q] = from[q * part + r];
    else
        turn(from, step, rows, part, to, step);
    for (int64_t q = 0; q < n - rows * step; ++q) to[rows * step + q] = from[q * part + rows];
}

// Whole registers; what a run writes too far, the next one (or the next row) overwrites.
template <class T>
void pack_columns(const T* tile, const int64_t* rows, int64_t k, const Run* runs, int64_t run_count,
                  int width, T* panel) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    for (int64_t i = 0; i < k; ++i, panel += width) {
        T* to = panel;
        for (int64_t r = 0; r < run_count; ++r) {
            const T* from = tile + rows[i] + runs[r].offset;
            const int64_t n = runs[r].length;
            for (int64_t j = 0; j < n; j += w) V::load(from + j).store(to + j);
            to += n;
        }
    }
}

// Squares of one register each way, in ascending samples and from the last group of columns to the first, so that what
// is written too far is overwritten.
template <class T>
void pack_rows(const T* tile, const int64_t* columns, int count, const Run* runs, int64_t run_count,
               int width, T* panel) {
    constexpr int n = wide_bytes / sizeof(T);
    for (int64_t r = 0; r < run_count; ++r) {
        const T* from = tile + runs[r].offset;
        for (int64_t j = 0; j < runs[r].length; j += n)
            for (int x = (width - 1) / n * n; x >= 0; x -= n) {
                if (x >= count) continue;
                const T* in[n];
                MERCER_UNROLL for (int i = 0; i < n; ++i) in[i] =
                    from + columns[x + i < count ? x + i : count - 1];
                transpose(in, j, panel + j * width + x, width);
            }
        panel += runs[r].length * width;
    }
}

template <class T>
constexpr cpu::ConvolutionTable<T> table = {pad<T>,
                                            split<T>,
                                            interleave<T>,
                                            pack_columns<T>,
                                            pack_rows<T>,
                                            correlate<T>,
                                            correlate_channels<T>,
                                            correlate_channel_weights<T>,
                                            correlate_weights<T>,
                                            join_lanes<T>,
                                            largest<T>,
                                            largest_rows<T, true>,
                                            largest_channels<T, false>,
                                            largest_channels<T, true>,
                                            pair_gradient<T>};

}  // namespace

extern const cpu::ConvolutionTable<float> convolution_kernels_f32 = table<float>;
extern const cpu::ConvolutionTable<double> convolution_kernels_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
