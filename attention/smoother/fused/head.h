// One head of the fused smoother: its operands, and the stages of a tile that both passes share.
#pragma once

#include <vector>

#include "attention/smoother/fused/table.h"
#include "attention/smoother/reference.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/pointwise.h"
#include "engine/scratch.h"

namespace mercer {
const attention::FusedTable<float>& fused_f32();
const attention::FusedTable<double>& fused_f64();
}  // namespace mercer

namespace mercer::attention {

constexpr int64_t tile_keys = 128;     // a constant: sums of a row are cut here
constexpr int64_t block_queries = 56;  // does not show in results

template <class T>
const FusedTable<T>& fused_kernels() {
    if constexpr (sizeof(T) == 4)
        return fused_f32();
    else
        return fused_f64();
}

/// c(m×n) (+)= a·b, b packed by columns.
template <class T>
struct Product {
    int64_t m, n, k;
    const T* a;
    int64_t a_row, a_col;  // one of them 1
    const T* b;
    T* c;
    int64_t c_row;
    bool accumulate;
};
template <class T>
void multiply(const Product<T>& x) {
    if (x.m == 0 || x.n == 0 || (x.k == 0 && x.accumulate)) return;
    cpu::GemmBlock<T> block{};
    block.m = x.m, block.n = x.n, block.k = x.k;
    block.accumulate = x.accumulate;
    block.b_packed = true;
    block.a = x.a, block.a_row = x.a_row, block.a_col = x.a_col;
    block.b = x.b;
    block.c = x.c, block.c_row = x.c_row, block.c_col = 1;
    cpu::gemm_kernels<T>().multiply(block);
}
/// Elements that b(k×n), packed, takes.
template <class T>
int64_t packed_size(int64_t n, int64_t k) {
    const int64_t lanes = cpu::gemm_kernels<T>().lanes;
    return (n + lanes - 1) / lanes * lanes * k;
}

/// The operands of one smoother.
template <class T>
struct Problem {
    int64_t heads, head_axis, queries, keys, width, values;
    const T *q, *k, *v;
    const SmootherOptions* options;
    KernelFormula formula;
    std::vector<T> parameters;  // and constants: the formula's last operands

    Problem(const Tensor& tq, const Tensor& tk, const Tensor& tv, const SmootherOptions& o);
    bool reads_queries() const { return options->kernel.norms == Kernel::Norms::both; }
    bool reads_keys() const { return options->kernel.norms != Kernel::Norms::none; }
    FilterTile tile(int64_t head, int64_t i, int64_t m, int64_t j, int64_t n) const {
        return {head / head_axis, head % head_axis, i, m, j, n};
    }
};

/// z (or with g its derivatives) from scores, all tiles of rows tile_keys elements apart.
template <class T>
struct FormulaTile {
    int64_t rows, columns;
    const T* scores;
    const T *query_norms, *key_norms;  // of the tile's queries and keys; where not read: nullptr
};
template <class T>
void formula_forward(const Problem<T>& p, const FormulaTile<T>& tile, T* z);
/// g: cotangent of z. ds, da, db: that of the scores and norms, element by element.
template <class T>
void formula_backward(const Problem<T>& p, const FormulaTile<T>& tile, const T* g, T* ds, T* da,
                      T* db);

/// ‖x‖² of each row.
template <class T>
void squared_norms(const T* x, int64_t rows, int64_t width, T* out) {
    fused_kernels<T>().inner(rows, width, x, x, width, out);
}

}  // namespace mercer::attention
