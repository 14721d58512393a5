// A triangular matrix in the order in which solves read it.
#pragma once

#include <cstring>

#include "engine/cpu/copy.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/gemm_plan.h"
#include "engine/cpu/linalg_table.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_TYPED(cpu::FactorKernels, factor_kernels)  // engine/cpu/factor.cpp

namespace cpu {

/// to = from, rows × columns, whatever their strides.
template <class T>
void copy_block(int64_t rows, int64_t columns, MatrixView<const T> from, MatrixView<T> to) {
    if (to.col != 1)
        std::swap(rows, columns), std::swap(from.row, from.col), std::swap(to.row, to.col);
    copy_plane(
        sizeof(T), to.data, from.data,
        {rows, columns, to.row, to.col, from.row, from.col, from.row == 1 && from.col != 1, false});
}

template <class T>
MatrixView<T> at(MatrixView<T> x, int64_t i, int64_t j) {
    return {x.data + i * x.row + j * x.col, x.row, x.col};
}

/// Row i changes places with row pivots[i], i ascending (descending: `back`).
template <class T>
void exchange_rows(int64_t columns, T* a, int64_t row, const int64_t* pivots, int64_t count,
                   bool back = false) {
    for (int64_t step = 0; step < count; ++step) {
        const int64_t i = back ? count - 1 - step : step;
        if (pivots[i] == i) continue;
        T *one = a + i * row, *other = a + pivots[i] * row, *const end = one + columns;
        for (; end - one >= line<T>; one += line<T>, other += line<T>) {
            T kept[2 * line<T>];  // in registers: swap_ranges goes element by element
            std::memcpy(kept, one, 64), std::memcpy(kept + line<T>, other, 64);
            std::memcpy(one, kept + line<T>, 64), std::memcpy(other, kept, 64);
        }
        std::swap_ranges(one, end, other);
    }
}

inline constexpr int64_t depth = 256;  // of a packed piece

/// −a, m × k of at most `depth`, as strips.
template <class T>
void pack_negated(int64_t m, int64_t k, MatrixView<const T> a, T* strips) {
    gemm_kernels<T>().pack_rows(m, k, a.data, a.row, a.col, strips);
    factor_kernels<T>().negate(m * k, strips);
}

/// c −= a·b, b (k × n) in panels, or (`lower`, m = n) what is of it on and below the diagonal and a little above.
template <class T>
void subtract_panels(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, const T* b,
                     MatrixView<T> c, bool lower) {
    const GemmTable<T>& table = gemm_kernels<T>();
    const int64_t nr = table.nr, mr = table.mr, rows = round_up(96, mr),
                  blocks = divide_up(m, rows);
    parallel_for(blocks, grain_for(rows * n * k / 32), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        T* const strips = scratch.take<T>(rows * std::min(k, depth));
        for (; begin < end; ++begin) {
            const int64_t i = (blocks - 1 - begin) * rows, count = std::min(rows, m - i),
                          right = lower ? i + count : n;
            for (int64_t p = 0; p < k; p += depth) {
                const int64_t steps = std::min(depth, k - p);
                pack_negated(count, steps, at(a, i, p), strips);
                for (int64_t j = 0; j < right; j += nr) {
                    const int64_t columns = std::min(nr, n - j);
                    // Strips above the diagonal; the last two share their rows.
                    int64_t above = lower ? std::max<int64_t>(0, j - i) / mr * mr : 0;
                    while (above > 0 && count - above < 2 * mr) above -= mr;
                    multiply_panel(table, count - above, columns, steps, strips + above * steps,
                                   b + j * k + p * panel_width(table, columns),
                                   at(c, i + above, j).data, c.row, true);
                }
            }
        }
    });
}

/// X ← T⁻¹X panel by panel. −T's blocks beside the diagonal are packed once, X's panels as a product's right operand: a block
/// of X meets all that is solved in one product, and then the substitution.
template <class T>
class Triangle {
public:
    /// packed: room for n·n / 2.
    Triangle(int64_t n, MatrixView<const T> t, bool lower, bool unit, T* packed)
        : n_(n), t_(t), lower_(lower), unit_(unit), packed_(packed) {}

    int64_t rows() const { return n_; }
    int64_t blocks() const { return divide_up(n_, factor_block); }
    /// Before solve(), each of the blocks.
    void pack(int64_t step) const {
        const Block b = block(step);
        for (int64_t p = 0; p < b.solved; p += depth)
            pack_negated(b.rows, std::min(depth, b.solved - p), at(t_, b.first, b.from + p),
                         packed_ + b.at + p * b.rows);
    }

    /// `count` panels of n rows × `width` elements (whole registers), n·nr elements apart, so that they share what is read of
    /// T. Rows before `first` are zero (lower triangles only).
    void solve(T* panels, int64_t count, int64_t width, int64_t first = 0) const {
        const int64_t apart = n_ * table_.nr;
        for (int64_t step = first / factor_block; step < blocks(); ++step) {
            const Block b = block(step);
            for (int64_t p = first; p < b.solved; p = p / depth * depth + depth)
                for (int64_t j = 0; j < count; ++j) meet(b, p, panels + j * apart, width);
            substitute(b, panels + b.first * width, width, count, apart);
        }
    }

    /// One column; nothing is packed: what is solved meets T's columns, turned a piece at a time where they are not dense.
    void solve_column(MatrixView<T> x) const {
        const int64_t wide = factor_block + line<T>;
        Scratch scratch;
        T *const minus = scratch.take<T>(n_), *const turned = scratch.take<T>(depth * wide);
        for (int64_t step = 0; step < blocks(); ++step) {
            const Block b = block(step);
            T sum[factor_block];
            for (int64_t i = 0; i < b.rows; ++i) sum[i] = x.data[(b.first + i) * x.row];
            for (int64_t p = 0; p < b.solved; p += depth) {
                const int64_t count = std::min(depth, b.solved - p);
                MatrixView<const T> here = at(t_, b.first, b.from + p);
                if (here.row != 1) {
                    copy_block<T>(count, b.rows, {here.data, here.col, here.row},
                                  {turned, wide, 1});
                    here = {turned, 1, wide};
                }
                table_.multiply_rows(1, b.rows, count, minus + b.from + p, 0, 1, here.data,
                                     here.col, sum, 0, true);
            }
            substitute(b, sum, 1, 1, 0);
            for (int64_t i = 0; i < b.rows; ++i)
                minus[b.first + i] = -(x.data[(b.first + i) * x.row] = sum[i]);
        }
    }

private:
    struct Block {
        int64_t first, rows, from, solved;  // its rows, and the columns that meet what is solved
        int64_t at;                         // where it is packed
    };
    /// The piece that row p of what is solved is in, from there on: what is before is zero.
    void meet(const Block& b, int64_t p, T* x, int64_t width) const {
        const int64_t skipped = p % depth, steps = std::min(depth, b.solved - p + skipped);
        const T* const strips = packed_ + b.at + (p - skipped) * b.rows;
        for (int64_t i = 0, rows = b.rows; i < b.rows; i += rows) {
            if (skipped) rows = strip_rows(table_.mr, b.rows - i);
            multiply_panel(table_, rows, width, steps - skipped,
                           strips + i * steps + skipped * rows, x + (b.from + p) * width,
                           x + (b.first + i) * width, width, true);
        }
    }
    /// Within a block, whose first row is at `rows` in the first of the panels.
    void substitute(const Block& b, T* rows, int64_t width, int64_t count, int64_t apart) const {
        // An upper triangle is a lower one, walked from its end.
        const int64_t last = lower_ ? 0 : b.rows - 1, sign = lower_ ? 1 : -1;
        factor_kernels<T>().substitute(
            b.rows, width, t_.data + (b.first + last) * (t_.row + t_.col), sign * t_.row,
            sign * t_.col, unit_, rows + last * width, sign * width, count, apart);
    }
    /// In the order of solving.
    Block block(int64_t step) const {
        const int64_t first = (lower_ ? step : blocks() - 1 - step) * factor_block,
                      rows = std::min(factor_block, n_ - first), from = lower_ ? 0 : first + rows,
                      solved = lower_ ? first : n_ - from;
        return {first, rows, from, solved,
                lower_ ? first * (first - factor_block) / 2
                       : first * n_ - first * (first + factor_block) / 2};
    }

    const GemmTable<T>& table_ = gemm_kernels<T>();
    int64_t n_;
    MatrixView<const T> t_;
    bool lower_, unit_;
    T* packed_;
};

/// T⁻¹b in place for some of b's columns; their panels remain in x. Column j is zero above row `zeros` (lower triangles only).
template <class T>
void solve_packed(const Triangle<T>& triangle, int64_t columns, MatrixView<T> b, T* x,
                  int64_t zeros = 0) {
    const GemmTable<T>& table = gemm_kernels<T>();
    const int64_t n = triangle.rows(), nr = table.nr, whole = columns / nr,
                  left = columns - whole * nr;
    table.pack_columns(columns, n, b.data, b.row, b.col, x);
    triangle.solve(x, whole, nr, zeros);
    if (left) triangle.solve(x + whole * nr * n, 1, panel_width(table, left), zeros);
    for (int64_t j = 0; j < columns; j += nr) {
        const int64_t part = std::min(nr, columns - j);
        copy_block<T>(n, part, {x + j * n, panel_width(table, part), 1}, at(b, 0, j));
    }
}

}  // namespace cpu
}  // namespace mercer
