// Kernels of copies on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// A rectangle of two axes in both tensors: strides of a row and of a column, in elements. `turned`: the source is dense
/// along rows rather than columns. `stream`: to + whole lines go past the caches. `planes` of them.
struct Plane {
    int64_t rows, cols, to_row, to_col, from_row, from_col;
    bool turned, stream;
    int64_t planes = 1, to_plane = 0, from_plane = 0;
};

/// What kernels on tiles copied so ask for while they work: where the operands of the next tile begin, the last one's first,
/// and how many bytes its rows are apart.
struct TileAhead {
    const char* operand[2] = {};
    int64_t pitch = 0;
};

struct CopyTable {
    int register_bytes;
    void (*plane[4])(void* to, const void* from, const Plane&);  // of 2^i bytes
    /// n elements converted, `to_step` and `from_step` apart. [to][from], DType.
    void (*convert[6][6])(void* to, int64_t to_step, const void* from, int64_t from_step,
                          int64_t n);
};

}  // namespace mercer::cpu
