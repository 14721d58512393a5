// c(m×n) (+)= a(m×k)·b(k×n) of so few steps that a tile's begin and end take longer than its fma: a few rows of a stay
// in registers while all of b goes by, from L1. Memory traffic: a once, b once for each group of rows, c once in and out.
#pragma once

#include "engine/cpu/kernels/gemm_row.h"

namespace mercer::MERCER_ISA {
namespace {

/// Returns how many rows are done: all, but a last few that are no whole group if c accumulates, or if they are so few
/// that doing others once more takes longer.
template <class T, int k, bool accumulate>
int64_t multiply_outer(const cpu::GemmSmall<T>& x) {
    constexpr int rows = cpu::outer_rows;
    const int64_t n = x.n, b_row = x.b_row, c_row = x.c_row;
    for (int64_t i = 0; i < x.m; i += rows) {
        if (x.m - i < rows) {
            if (accumulate || i == 0 || (k > 4 && x.m - i <= rows / 2)) return i;
            i = x.m - rows;  // some rows once more
        }
        add_rows<T, rows, k>(n, x.a + i * x.a_row, x.a_row, x.a_col, x.b, b_row, x.c + i * c_row,
                             c_row, accumulate);
    }
    return x.m;
}

template <class T>
constexpr auto outers = grid<cpu::outer_steps, 2>([]<int k, int kind> {
    return multiply_outer<T, k, kind == 2>;
});

}  // namespace
}  // namespace mercer::MERCER_ISA
