// What blocked factorisations have in common: columns in blocks, those in units of 64, and tasks on single units that wait
// for others to have come far enough. A block is factored as soon as it is ready, while others still meet the one before.
#pragma once

#include <memory>
#include <optional>

#include "engine/cpu/triangle.h"
#include "engine/cpu/turns.h"

namespace mercer::cpu {

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
