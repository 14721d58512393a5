#pragma once

#include <cstdint>

namespace mercer {

/// Columns [first, end) of a tile.
struct TileColumns {
    int64_t first, end;
};

}  // namespace mercer
