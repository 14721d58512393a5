// Tasks that wait for one another, shared by the threads of one loop. With a loop for each stage, a thread that is done
// early falls asleep, and to wake it takes longer than a task.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

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
                    for (int64_t at; !stopped_ && (at = next_.fetch_add(1)) < count;) {
                        poll_cancelled();
                        task(at);
                    }
            } catch (...) {
                stop();
                throw;
            }
        });
    }
    void stop() {
        stopped_ = true;
        wake();
    }

    /// Sets how far something is; or counts one more.
    void reach(std::atomic<int64_t>& done, int64_t stage) {
        done = stage;
        wake();
    }
    void count(std::atomic<int64_t>& done) {
        ++done;
        wake();
    }
    /// Returns when done ≥ least: true; or when there is nothing to wait for any more: false.
    bool await(const std::atomic<int64_t>& done, int64_t least) {
        const auto ready = [&] { return done >= least || stopped_; };
        if (!spin_until(ready)) {
            // To yield instead would give whoever else wants this core milliseconds of it at a time.
            std::unique_lock lock(mutex_);
            ++sleepers_;
            changed_.wait(lock, ready);
            --sleepers_;
        }
        return done >= least;
    }

private:
    // A sleeper counts itself before it looks once more, and what it looks at is written before the count is read.
    void wake() {
        if (sleepers_ == 0) return;
        { const std::lock_guard lock(mutex_); }
        changed_.notify_all();
    }

    std::atomic<int64_t> next_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace mercer::cpu
