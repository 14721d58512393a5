// The sizes of this machine's caches, for blocking. Results never depend on them.
#pragma once

#include <cstdint>

#include "engine/export.h"

namespace mercer::cpu {

/// In bytes, l1 and l2 of one core, l3 of all, but of a large one a part; `last`: all of it. Read from the system
/// once, or modest guesses.
struct Caches {
    int64_t l1 = 32 << 10, l2 = 512 << 10, l3 = 16 << 20, last = l3;
};
MERCER_API const Caches& caches();

/// Whether a call that reads and writes so many bytes in all stores its results past the caches: they would be
/// evicted unread, and a line that is stored whole need not be fetched first. True for more than l3. Measured
/// there (two threads, 32 MiB), in shares of the time without: at 32 MiB 1 to 2, at 80 MiB 0.6 to 1.1.
bool streams(int64_t bytes);
/// The same of stores among arithmetic, which wait less for a cache with room than for memory: true for more
/// than `last`.
bool streams_between(int64_t bytes);
/// For tests: both true for more than `bytes`.
void set_streams_above(int64_t bytes);
int64_t streams_above();

}  // namespace mercer::cpu
