// Batches of tiny matrices by tiles: what gemm.h and factor.h do to each, for at most tiny_columns of them, on one thread.
#pragma once

#include "engine/cpu/copy.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/linalg_table.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_TYPED(cpu::TinyKernels, tiny_kernels)  // engine/cpu/factor.cpp
}

namespace mercer::cpu {

/// Matrix c of a batch is at data + c·apart.
template <class T>
struct Batch {
    T* data;
    int64_t row, col, apart;
};

/// `count` matrices as a tile of as many columns, from any strides.
template <class T>
T* read_tile(Scratch& scratch, int64_t rows, int64_t cols, int64_t count,
             const Batch<const T>& from) {
    T* const tile = scratch.take<T>(rows * cols * count);
    const bool across = from.row == 1 && from.col != 1;  // rows lie along memory
    const int64_t inner = across ? rows : cols, outer = across ? cols : rows;
    const int64_t step = across ? from.row : from.col, to = across ? cols * count : count;
    Plane p{inner, count, to, 1, step, from.apart, step == 1 && from.apart > 1, false};
    p.planes = outer;
    p.to_plane = across ? count : cols * count;
    p.from_plane = across ? from.col : from.row;
    if (!across && step == 1 && p.from_plane == cols) p.rows = rows * cols, p.planes = 1;
    copy_plane(sizeof(T), tile, from.data, p);
    return tile;
}
/// The tile's matrices, row-major one after the other.
template <class T>
void write_tile(int64_t elements, int64_t count, const T* tile, T* to) {
    copy_plane(sizeof(T), to, tile, {count, elements, elements, 1, 1, count, true, false});
}

}  // namespace mercer::cpu
