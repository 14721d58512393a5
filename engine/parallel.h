// Parallel loops over oneTBB, in an arena of our own or the host's. No thread exists before the
// first loop that is large enough to be split. A child forked after it, or while others allocate, may only exec.
#pragma once

#include <cstdint>

#include "engine/export.h"
#include "engine/function_ref.h"

namespace tbb::detail::d1 {
class task_arena;
}

namespace mercer {

/// Threads that a parallel loop may use: MERCER_THREADS, else the CPUs this process may run on.
MERCER_API int thread_count();
/// Overrides MERCER_THREADS for loops that start from now on; n from 1 to 4096, else ValueError.
MERCER_API void set_thread_count(int n);
/// Runs loops in the host's arena from now on; nullptr returns to our own. The arena must outlive
/// its use.
MERCER_API void set_arena(tbb::detail::d1::task_arena* arena);

/// Calls body(begin, end) over pieces of [0, n) of about `grain` items; inline when n <= grain or
/// on one thread. Throws Cancelled between pieces (engine/cancel.h). The pieces may depend on the thread count, so a body's result for item i must not
/// depend on its piece.
MERCER_API void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);
/// The same item by item: body(i).
template <class Body>
void parallel_each(int64_t n, int64_t grain, Body body) {
    parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        for (; begin < end; ++begin) body(begin);
    });
}

/// Items of `cost` elementary operations (≈ ns) that make a piece worth handing to another thread.
constexpr int64_t grain_for(int64_t cost_per_item) {
    constexpr int64_t worth = 20000;
    return worth / (cost_per_item < 1 ? 1 : cost_per_item) + 1;
}

}  // namespace mercer
