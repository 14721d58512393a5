// The sizes of this machine's caches, for blocking. Results never depend on them.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// Of one core, in bytes; read from the system once, or modest guesses.
struct Caches {
    int64_t l1 = 32 << 10, l2 = 512 << 10;
};
const Caches& caches();

}  // namespace mercer::cpu
