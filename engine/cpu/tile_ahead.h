// What kernels on tiles ask for while they work.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// Where the operands of the next tile begin, the last one's first, and how many bytes its rows are apart.
struct TileAhead {
    const char* operand[2] = {};
    int64_t pitch = 0;
};

}  // namespace mercer::cpu
