// Tasks that wait for one another, shared by the threads of one loop. With a loop for each stage, a thread that is done
// early falls asleep, and to wake it takes longer than a task.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/cancel.h"
#include "engine/function_ref.h"
#include "engine/parallel.h"
#include "engine/wait.h"

namespace mercer::cpu {

class Turns {
public:
    /// task(0), … task(count − 1), claimed in this order, so that what a task awaits is done or under way; none may start a
    /// loop. No more are begun once one has called stop() or thrown.
    void run(int64_t threads, int64_t count, FunctionRef<void(int64_t)> task) {
        parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
            try {
                for (; begin < end; ++begin)
                    for (int64_t at; !stopped() && (at = next_.fetch_add(1)) < count;) {
                        poll_cancelled();
                        task(at);
                    }
            } catch (...) {
                stop();
                throw;
            }
        });
    }
    void stop() { stopped_.store(true, std::memory_order_release); }
    /// Returns when done ≥ least: true; or when there is nothing to wait for any more: false.
    bool await(const std::atomic<int64_t>& done, int64_t least) const {
        bool reached = false;
        wait_until([&] {
            reached = done.load(std::memory_order_acquire) >= least;
            return reached || stopped();
        });
        return reached;
    }

private:
    bool stopped() const { return stopped_.load(std::memory_order_acquire); }
    std::atomic<int64_t> next_{0};
    std::atomic<bool> stopped_{false};
};

}  // namespace mercer::cpu
