// Recurrent sequences step by step: the weights of h packed once, and each thread on its own share of the sequences.
#pragma once

#include "engine/cancel.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer::cpu {

/// b (k×n) in panels for multiply_panel.
template <class T>
class PackedPanels {
public:
    PackedPanels(Scratch& scratch, int64_t k, int64_t n, MatrixView<const T> b)
        : table_(gemm_kernels<T>()), k_(k), n_(n) {
        data_ = scratch.take<T>((n + table_.lanes) * k);
        parallel_for((n + table_.nr - 1) / table_.nr, grain_for(k * table_.nr),
                     [&](int64_t begin, int64_t end) {
                         const int64_t j = begin * table_.nr, to = std::min(n, end * table_.nr);
                         table_.pack_columns(to - j, k, b.data + j * b.col, b.row, b.col,
                                             data_ + j * k);
                     });
    }
    /// Scratch that multiply needs, for m rows.
    int64_t room(int64_t m) const { return m * k_ + table_.lanes; }
    /// c(m×n) (+)= a(m×k)·b, a row-major.
    void multiply(int64_t m, const T* a, T* c, int64_t c_row, bool accumulate, T* room) const {
        table_.pack_rows(m, k_, a, k_, 1, room);
        for (int64_t j = 0; j < n_; j += table_.nr)
            multiply_panel(table_, m, std::min<int64_t>(table_.nr, n_ - j), k_, room,
                           data_ + j * k_, c + j, c_row, accumulate);
    }

private:
    const GemmTable<T>& table_;
    int64_t k_, n_;
    T* data_;
};

/// The order of steps, and which sequences take part in one.
struct Course {
    int64_t steps, batch;
    bool reverse;
    const int64_t* lengths;  // of each sequence; nullptr: all whole

    int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
    bool active(int64_t step, int64_t b) const { return !lengths || time(step) < lengths[b]; }

    /// body(step, begin, end, room) for all steps of each share of the sequences, the last step first if `descending`;
    /// `room` serves u.multiply. Shares are large enough for the product's tiles, one for a thread.
    template <class T, class Body>
    void run(const PackedPanels<T>& u, bool descending, Body body) const {
        const int64_t each = std::max<int64_t>(4, (batch + thread_count() - 1) / thread_count());
        parallel_for((batch + each - 1) / each, 1, [&](int64_t from, int64_t to) {
            Scratch scratch;
            T* const room = scratch.take<T>(u.room(each));
            for (int64_t i = from; i < to; ++i)
                for (int64_t s = 0; s < steps; ++s) {
                    poll_cancelled();
                    body(descending ? steps - 1 - s : s, i * each, std::min(batch, (i + 1) * each),
                         room);
                }
        });
    }
};

/// Rows by step and sequence: of `all` (T, B, width), and of `start` (B, start_width) before the first step.
template <class T>
struct StepRows {
    const Course& course;
    T* all;  // nullptr: at() is nullptr
    int64_t width;
    T* start = nullptr;
    int64_t start_width = 0;

    T* at(int64_t step, int64_t b) const {
        if (step < 0) return start + b * start_width;
        return all ? all + (course.time(step) * course.batch + b) * width : nullptr;
    }
};

}  // namespace mercer::cpu
