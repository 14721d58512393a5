#include "engine/parallel.h"

#include <sched.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "engine/cancel.h"
#include "engine/log.h"

namespace mercer {
namespace {

constexpr int most_threads = 4096;
std::atomic<int> requested{0};  // 0: not asked yet
std::atomic<tbb::task_arena*> host_arena{nullptr};

int threads_from_environment() {
    if (const char* text = std::getenv("MERCER_THREADS")) {
        char* end = nullptr;
        const long n = std::strtol(text, &end, 10);
        if (end == text || *end || n < 1 || n > most_threads)
            throw ValueError("parallel_for",
                             "MERCER_THREADS must be an integer from 1 to 4096, got '", text, "'");
        return int(n);
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
    return 1;
}

// The distribution's oneTBB is not built for the thread sanitizer: what it puts in order between the
// threads of a loop is said here. (Its own memory: tests/tsan.supp.)
#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* at);
extern "C" void __tsan_release(void* at);
void happened_before(char* at) { __tsan_release(at); }
void happens_after(char* at) { __tsan_acquire(at); }
#else
void happened_before(char*) {}
void happens_after(char*) {}
#endif
// Static, for a captured one would be read before the order is known.
char begun, ended;

// One for each number of threads, since one that was asked for before may still be in use. Never destroyed: a static
// destructor that joins threads would hang hosts that unload us.
tbb::task_arena& own_arena(int threads) {
    static std::mutex mutex;
    static auto& arenas = *new std::map<int, tbb::task_arena>;
    std::unique_lock lock(mutex);
    const auto found = arenas.find(threads);
    if (found != arenas.end()) return found->second;
    // Asked for more than it allows, oneTBB prints a warning and gives no more.
    using Control = tbb::global_control;
    const size_t allowed = Control::active_value(Control::max_allowed_parallelism);
    const int slots = int(std::min<size_t>(size_t(threads), allowed));
    tbb::task_arena& arena = arenas.try_emplace(threads, slots).first->second;
    lock.unlock();  // the host's callback may come back here
    log(LogLevel::info, "an arena of " + std::to_string(slots) + " threads, " +
                            std::to_string(threads) + " asked for");
    return arena;
}

}  // namespace

int thread_count() {
    int n = requested.load(std::memory_order_relaxed);
    if (n == 0) {
        const int found = threads_from_environment();
        if (requested.compare_exchange_strong(n, found)) n = found;  // else it was set meanwhile
    }
    return n;
}

void set_thread_count(int n) {
    if (n < 1 || n > most_threads)
        throw ValueError("set_thread_count", "needs 1 to 4096 threads, got ", n);
    requested.store(n, std::memory_order_relaxed);
}

void set_arena(tbb::task_arena* arena) { host_arena.store(arena); }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
    if (n <= 0) return;
    grain = std::max<int64_t>(grain, 1);
    const int threads = thread_count();
    const OperationContext caller = operation_context;
    // Whoever may be asked to stop works in pieces, so as to hear of it.
    const auto run = [&](int64_t begin, int64_t end) {
        if (!caller.stop) return body(begin, end);
        for (; begin < end; begin += grain) {
            throw_if_stopped(*caller.stop, OperationScope::current());
            body(begin, std::min(begin + grain, end));
        }
    };
    if (n <= grain || threads == 1) return run(0, n);
    tbb::task_arena* host = host_arena.load();
    tbb::task_arena& arena = host ? *host : own_arena(threads);
    const auto loop = [&] {
        happens_after(&begun);
        tbb::parallel_for(tbb::blocked_range<int64_t>(0, n, grain),
                          [&](const tbb::blocked_range<int64_t>& r) {
                              happens_after(&begun);
                              const TaskScope scope(caller);
                              run(r.begin(), r.end());
                              instruments::settle();
                              happened_before(&ended);
                          });
        happened_before(&ended);
    };
    happened_before(&begun);
    arena.execute(loop);
    happens_after(&ended);
}

}  // namespace mercer
