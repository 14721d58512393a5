// A triangular matrix in the order in which solves read it.
#pragma once

#include <algorithm>
#include <bit>

#include "engine/cpu/copy_table.h"
#include "engine/cpu/factor_table.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/gemm_plan.h"
#include "engine/function_ref.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
const cpu::CopyTable& copy_table();      // engine/cpu/copy.cpp
const cpu::FactorTable& factor_table();  // engine/cpu/factor.cpp

namespace cpu {

template <class T>
const FactorKernels<T>& factor_kernels() {
    if constexpr (sizeof(T) == 4)
        return factor_table().f32;
    else
        return factor_table().f64;
}

/// to = from, rows × columns, whatever their strides.
template <class T>
void copy_block(int64_t rows, int64_t columns, MatrixView<const T> from, MatrixView<T> to) {
    if (to.col != 1)
        std::swap(rows, columns), std::swap(from.row, from.col), std::swap(to.row, to.col);
    copy_table().plane[std::countr_zero(sizeof(T))](
        to.data, from.data,
        {rows, columns, to.row, to.col, from.row, from.col, from.row == 1 && from.col != 1, false});
}

template <class T>
MatrixView<T> at(MatrixView<T> x, int64_t i, int64_t j) {
    return {x.data + i * x.row + j * x.col, x.row, x.col};
}

inline constexpr int64_t depth = 256;  // of a packed piece

/// Rows of c that one piece of subtract_panels() meets.
template <class T>
int64_t piece_rows(const GemmTable<T>& table) {
    return divide_up(96, table.mr) * table.mr;
}

/// c −= a·b, b (k × n) in panels, or (`lower`, m = n) what is of it on and below the diagonal, and above it less than
/// piece_rows() + nr columns. The first `early` rows come before the others; ahead() meets them while others are under way.
template <class T>
void subtract_panels(
    int64_t m, int64_t n, int64_t k, MatrixView<const T> a, const T* b, MatrixView<T> c, bool lower,
    int64_t early = 0, FunctionRef<void()> ahead = [] {}) {
    const GemmTable<T>& table = gemm_kernels<T>();
    const int64_t nr = table.nr, mr = table.mr, rows = piece_rows(table);
    const auto subtract = [&](int64_t i, T* strips) {
        const int64_t count = std::min(rows, m - i), right = lower ? i + count : n;
        for (int64_t p = 0; p < k; p += depth) {
            const int64_t steps = std::min(depth, k - p);
            const MatrixView<const T> from = at(a, i, p);
            table.pack_rows(count, steps, from.data, from.row, from.col, strips);
            factor_kernels<T>().negate(count * steps, strips);
            for (int64_t j = 0; j < right; j += nr) {
                const int64_t columns = std::min(nr, n - j), width = panel_width(table, columns);
                // Strips above the diagonal; the last two share their rows.
                int64_t above = lower ? std::max<int64_t>(0, j - i) / mr * mr : 0;
                while (above > 0 && count - above < 2 * mr) above -= mr;
                multiply_panel(table, count - above, columns, steps, strips + above * steps,
                               b + j * k + p * width, at(c, i + above, j).data, c.row, true);
            }
        }
    };
    const auto run = [&](int64_t first, int64_t last, int64_t before) {
        parallel_for(before + last - first, grain_for(rows * n * k / 32),
                     [&](int64_t begin, int64_t end) {
                         Scratch scratch;
                         T* const strips = scratch.take<T>(rows * std::min(k, depth));
                         for (; begin < end; ++begin)
                             if (begin < before)
                                 ahead();
                             else
                                 subtract((last - 1 - (begin - before)) * rows, strips);
                     });
    };
    const int64_t blocks = divide_up(m, rows), first = divide_up(early, rows);
    if (early) run(0, first, 0);
    run(first, blocks, early > 0);
}

/// X ← T⁻¹X panel by panel. −T's blocks beside the diagonal are packed once, X's panels as a product's right operand: a block
/// of X meets all that is solved in one product, and then the substitution.
template <class T>
class Triangle {
public:
    Triangle(int64_t n, MatrixView<const T> t, bool lower, bool unit)
        : n_(n), t_(t), lower_(lower), unit_(unit), packed_(scratch_.take<T>(n * n / 2)) {
        parallel_for(blocks(), grain_for(n * factor_block / 8), [&](int64_t begin, int64_t end) {
            for (; begin < end; ++begin) {
                const Block b = block(begin);
                T* to = packed_ + b.at;
                for (int64_t p = 0; p < b.solved; p += depth)
                    table_.pack_rows(b.rows, std::min(depth, b.solved - p),
                                     t_.data + b.first * t_.row + (b.from + p) * t_.col, t_.row,
                                     t_.col, to + p * b.rows);
                factor_kernels<T>().negate(b.rows * b.solved, to);
            }
        });
    }

    /// `count` panels of n rows × `width` elements (whole registers), n·nr elements apart, so that they share what is read of
    /// T. Rows before `first` are zero (lower triangles only).
    void solve(T* panels, int64_t count, int64_t width, int64_t first = 0) const {
        const int64_t apart = n_ * table_.nr;
        for (int64_t step = first / factor_block; step < blocks(); ++step) {
            const Block b = block(step);
            for (int64_t p = first / depth * depth; p < b.solved; p += depth)
                for (int64_t j = 0; j < count; ++j)
                    multiply_panel(table_, b.rows, width, std::min(depth, b.solved - p),
                                   packed_ + b.at + p * b.rows,
                                   panels + j * apart + (b.from + p) * width,
                                   panels + j * apart + b.first * width, width, true);
            // An upper triangle is a lower one, walked from its end.
            const int64_t end = b.first + (lower_ ? 0 : b.rows - 1), sign = lower_ ? 1 : -1;
            factor_kernels<T>().substitute(b.rows, width, t_.data + end * (t_.row + t_.col),
                                           sign * t_.row, sign * t_.col, unit_,
                                           panels + end * width, sign * width, count, apart);
        }
    }

private:
    struct Block {
        int64_t first, rows, from, solved;  // its rows, and the columns that meet what is solved
        int64_t at;
    };
    int64_t blocks() const { return (n_ + factor_block - 1) / factor_block; }
    /// In the order of solving.
    Block block(int64_t step) const {
        const int64_t first = (lower_ ? step : blocks() - 1 - step) * factor_block,
                      rows = std::min(factor_block, n_ - first), from = lower_ ? 0 : first + rows,
                      solved = lower_ ? first : n_ - from;
        // Before it: `step` blocks as wide as what each of them met, 0, the first one's rows and so on.
        const int64_t full = factor_block * (step * (step - 1) / 2),
                      least = lower_ ? factor_block : (n_ - 1) % factor_block + 1;
        const int64_t at =
            factor_block * (full - (step > 1 ? (factor_block - least) * (step - 1) : 0));
        return {first, rows, from, solved, at};
    }

    const GemmTable<T>& table_ = gemm_kernels<T>();
    Scratch scratch_;
    int64_t n_;
    MatrixView<const T> t_;
    bool lower_, unit_;
    T* packed_;
};

}  // namespace cpu
}  // namespace mercer
