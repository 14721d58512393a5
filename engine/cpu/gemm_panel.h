// One panel of a product at a time, for drivers that make or keep their own panels: convolutions, whose panels are
// patches, and recurrences, whose weights meet one step's state after another.
#pragma once

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/gemm_table.h"
#include "engine/export.h"

namespace mercer {
MERCER_API const cpu::GemmTable<float>& gemm_f32();
MERCER_API const cpu::GemmTable<double>& gemm_f64();

namespace cpu {

template <class T>
const GemmTable<T>& gemm_kernels() {
    return of_type<T>(gemm_f32, gemm_f64)();
}

/// n columns in whole registers: a panel's width, at most nr.
template <class T>
int64_t panel_width(const GemmTable<T>& table, int64_t n) {
    return (std::min<int64_t>(n, table.nr) + table.lanes - 1) / table.lanes * table.lanes;
}

/// c(m×n) (+)= a·b on this thread, n <= nr: a is pack_rows' output, b has k rows of panel_width(n) elements.
template <class T>
void multiply_panel(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k, const T* a,
                    const T* b, T* c, int64_t c_row, bool accumulate) {
    GemmBlock<T> block{};
    block.m = m, block.n = n, block.k = k, block.accumulate = accumulate;
    block.a_packed = block.b_packed = true;
    block.a = a, block.b = b, block.b_row = panel_width(table, n);
    block.c = c, block.c_row = c_row;
    table.multiply(block);
}

}  // namespace cpu
}  // namespace mercer
