// What blocked factorisations have in common: columns in blocks, those in units of 64, and tasks on single units that wait
// for others to have come far enough. A block is factored as soon as it is ready, while others still meet the one before.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/cancel.h"
#include "engine/cpu/triangle.h"
#include "engine/function_ref.h"
#include "engine/parallel.h"
#include "engine/wait.h"

namespace mercer::cpu {

/// Tasks that wait for one another, shared by the threads of one loop. With a loop for each stage, a thread that is done
/// early falls asleep, and to wake it takes longer than a task.
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

template <class T, class Self>
class Blocks {
protected:
    static constexpr int64_t unit = factor_block;

    /// n columns in blocks of `width` units, the first, for which others wait, of `start`, and fewer at the end, so that all
    /// threads have something to do. All units have come as far as `stage`. At most `tasks` for each block, and once more as
    /// many. `alone`: by this thread, since the caller is a task itself, or for what is too small to share.
    Blocks(int64_t n, int64_t start, int64_t width, int64_t tasks, int64_t stage, bool alone)
        : n_(n), units_(divide_up(n, unit)), alone_(alone) {
        stage_ = scratch_.take<std::atomic<int64_t>>(units_);
        for (int64_t i = 0; i < units_; ++i) std::construct_at(stage_ + i, stage);
        first_ = scratch_.take<int64_t>(units_ + 1);
        for (int64_t at = 0; at < units_; at = first_[blocks_]) {
            first_[blocks_++] = at;
            first_[blocks_] = at + std::clamp<int64_t>((units_ - at) / 2, 1, at ? width : start);
        }
        tasks_ = scratch_.take<Task>(tasks * (blocks_ + 1));
        for (T*& room : rooms_) room = scratch_.take<T>(width * width * unit * unit / 2);
    }

    int64_t begin(int64_t s) const { return first_[s] * unit; }
    int64_t end(int64_t s) const { return std::min(n_, begin(s + 1)); }
    int64_t width(int64_t s) const { return end(s) - begin(s); }
    int64_t size(int64_t i) const { return std::min(unit, n_ - i * unit); }

    /// Adds a step with block s on each of the units.
    void add(void (Self::*step)(int64_t, int64_t), int64_t s, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) tasks_[count_++] = {step, s, i};
    }
    /// 0, or one plus the column where it failed.
    int64_t run_tasks() {
        turns_.run(alone_ ? 1 : thread_count(), count_, [&](int64_t at) {
            const Task& task = tasks_[at];
            (static_cast<Self*>(this)->*task.step)(task.block, task.unit);
        });
        return failed_;
    }

    /// Units are to meet the blocks in turn: one is at stage 2s + 2 once it has met block s, or was factored as part of it.
    void reach(int64_t i, int64_t stage) { turns_.reach(stage_[i], stage); }
    int64_t stage(int64_t i) const { return stage_[i]; }
    /// False if the units will not get there.
    bool await(int64_t begin, int64_t end, int64_t stage) {
        for (; begin < end; ++begin)
            if (!turns_.await(stage_[begin], stage)) return false;
        return true;
    }
    /// Until block s is factored.
    bool await_block(int64_t s) { return turns_.await(stage_[first_[s]], 2 * s + 2); }

    /// By corner(columns, what begins at their diagonal), which returns 0 or one plus the column where it failed; and keeps
    /// the triangle for the others.
    template <class Corner>
    void factor_columns(int64_t s, MatrixView<T> a, bool unit_diagonal, Corner corner) {
        // What is kept takes the place of what was for block s − 2: nobody may be reading that.
        if (!await(first_[s], first_[s + 1], 2 * s) ||
            (s > 1 && !await(first_[s + 1], units_, 2 * s - 2)))
            return;
        const MatrixView<T> here = at(a, begin(s), begin(s));
        if (const int64_t column = corner(width(s), here)) {
            failed_ = begin(s) + column;
            return turns_.stop();
        }
        if (s + 1 < blocks_) {
            auto& triangle = triangles_[s % 2].emplace(
                width(s), MatrixView<const T>{here.data, here.row, here.col}, true, unit_diagonal,
                rooms_[s % 2]);
            for (int64_t i = 0; i < triangle.blocks(); ++i) triangle.pack(i);
        }
        for (int64_t i = first_[s]; i < first_[s + 1]; ++i) reach(i, 2 * s + 2);
    }
    const Triangle<T>& triangle(int64_t s) const { return *triangles_[s % 2]; }

    struct Task {
        void (Self::*step)(int64_t, int64_t);
        int64_t block, unit;
    };
    Scratch scratch_;
    Turns turns_;
    int64_t n_, units_, blocks_ = 0;
    int64_t* first_;  // block s is the units first_[s] … first_[s + 1] − 1

private:
    bool alone_;
    std::atomic<int64_t>* stage_;
    Task* tasks_;
    int64_t count_ = 0, failed_ = 0;
    T* rooms_[2];
    std::optional<Triangle<T>> triangles_[2];
};

}  // namespace mercer::cpu
