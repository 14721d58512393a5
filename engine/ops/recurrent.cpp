// One product W x for all steps at once; then, for each share of the sequences on its own thread, step by step: U h, with
// U packed once, and the gates, in one pass over them. Sequences do not meet, so no thread waits for another.
#include "engine/ops/recurrent.h"

#include <algorithm>

#include "engine/cancel.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/recurrent_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/rows.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_TYPED(cpu::RecurrentTable, cells)
MERCER_DISPATCH_TYPED(cpu::RecurrentTable, cells)

namespace {

/// b (k×n) in panels for multiply_panel.
template <class T>
class PackedPanels {
public:
    PackedPanels(Scratch& scratch, int64_t k, int64_t n, cpu::MatrixView<const T> b)
        : table_(cpu::gemm_kernels<T>()), k_(k), n_(n) {
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
            cpu::multiply_panel(table_, m, std::min<int64_t>(table_.nr, n_ - j), k_, room,
                                data_ + j * k_, c + j, c_row, accumulate);
    }

private:
    const cpu::GemmTable<T>& table_;
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

/// to(T·B × gates·H, rows `row` apart) = x·w_ihᵀ; of a step alone the same bits as among others.
template <class T>
void from_inputs(const Tensor& x, const Tensor& w_ih, Tensor& to) {
    const int64_t inputs = x.size(2);
    cpu::gemm<T>(x.size(0) * x.size(1), w_ih.size(0), inputs, {elements<T>(x), inputs, 1},
                 {elements<T>(w_ih), 1, inputs}, {elements<T>(to), to.size(2), 1}, false, {},
                 cpu::Order::chain);
}

Course course_of(const RecurrentAttrs& attrs, const Tensor& x, const Tensor& lengths) {
    return {x.size(0), x.size(1), attrs.reverse, elements<const int64_t>(lengths)};
}
/// What stands in `all` (T, B, width) after the last step.
Tensor last_rows(const Course& course, const Tensor& all) {
    const int64_t t = course.time(course.steps - 1);
    return squeeze(slice(all, 0, t, t + 1), 0).clone();
}
template <class T>
void add_row(const T* from, int64_t n, T* to) {
    for (int64_t j = 0; j < n && from; ++j) to[j] += from[j];
}

Tensor or_zeros(const Tensor& t, const Shape& shape, DType dtype) {
    return t.defined() ? t.clone() : Tensor::zeros(shape, dtype);
}

}  // namespace

int64_t check_recurrent(const char* operation, int gates, const Tensor& x, const Tensor& w_ih,
                        const Tensor& w_hh, std::span<const Tensor> biases,
                        std::span<const Tensor> states, const Tensor& lengths) {
    const auto expect = [&](const char* what, const Tensor& t, const Shape& shape) {
        if (t.defined() && !(t.shape() == shape))
            throw ShapeError(operation, what, " ", t.shape(), " must have shape ", shape, " for x ",
                             x.shape(), " and w_hh ", w_hh.shape());
        if (t.defined()) require_same_dtype(operation, x, t, "x", what);
    };
    require_floating(operation, x);
    if (x.rank() != 3 || x.size(0) < 1)
        throw ShapeError(operation, "x must be (T, B, I) with T at least 1, got ", x.shape());
    if (w_hh.rank() != 2 || w_hh.size(1) < 1)
        throw ShapeError(operation, "w_hh must be (", gates, "·H, H), got ", w_hh.shape());
    const int64_t h = w_hh.size(1), steps = x.size(0), batch = x.size(1);
    expect("w_hh", w_hh, {gates * h, h});
    expect("w_ih", w_ih, {gates * h, x.size(2)});
    for (const Tensor& b : biases) expect("a bias", b, {gates * h});
    for (const Tensor& s : states) expect("an initial state", s, {batch, h});
    if (!lengths.defined()) return h;
    if (lengths.dtype() != DType::i64 || !(lengths.shape() == Shape{batch}))
        throw ShapeError(operation, "lengths must be i64 (", batch, "), got ", lengths);
    for (int64_t n : lengths.to_vector<int64_t>())
        if (n < 0 || n > steps)
            throw ValueError(operation, "length ", n, " is outside [0, ", steps, "]");
    return h;
}

std::array<Tensor, 4> Lstm::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor x = in[0].contiguous(), w_ih = in[1].contiguous(), w_hh = in[2].contiguous(),
                 bias = in[3].contiguous(), h0 = in[4].contiguous(), c0 = in[5].contiguous(),
                 lengths = dense(in[6]);
    const int64_t n = w_hh.size(1), batch = x.size(1);
    const Course course = course_of(attrs, x, lengths);
    Tensor y = Tensor::empty({x.size(0), batch, n}, x.dtype()),
           memory = Tensor::empty({x.size(0), batch, 5 * n}, x.dtype());
    visit_floating(x.dtype(), [&]<class T>(T) {
        from_inputs<T>(x, w_ih, memory);
        Scratch scratch;
        const PackedPanels<T> u(scratch, n, 4 * n, {elements<T>(w_hh), 1, n});
        const StepRows<T> h{course, elements<T>(y), n, elements<T>(h0), n},
            m{course, elements<T>(memory), 5 * n},
            c{course, elements<T>(memory) + 4 * n, 5 * n, elements<T>(c0), n};
        course.run(u, false, [&](int64_t s, int64_t begin, int64_t end, T* room) {
            u.multiply(end - begin, h.at(s - 1, begin), m.at(s, begin), 5 * n, true, room);
            for (int64_t b = begin; b < end; ++b) {
                if (course.active(s, b)) {
                    cells<T>().lstm(n, elements<T>(bias), c.at(s - 1, b), m.at(s, b), h.at(s, b));
                    continue;
                }
                std::fill_n(m.at(s, b), 4 * n, T(0));
                std::copy_n(c.at(s - 1, b), n, c.at(s, b));
                std::copy_n(h.at(s - 1, b), n, h.at(s, b));
            }
        });
    });
    return {y, last_rows(course, y), last_rows(course, slice(memory, -1, 4 * n, 5 * n)), memory};
}

Lstm::Back<Tensor> Lstm::backward(const Attrs& attrs, std::span<const Tensor> saved,
                                  std::span<const Tensor> cotangents) {
    const OperationScope scope(name, saved);
    const Tensor w_hh = saved[0].contiguous(), c0 = saved[1].contiguous(),
                 lengths = dense(saved[2]), memory = saved[3];
    const Tensor dy = dense(cotangents[0]), more = dense(cotangents[3]);
    const int64_t n = w_hh.size(1), batch = memory.size(1);
    const Course course = course_of(attrs, memory, lengths);
    Back<Tensor> back{Tensor::empty({memory.size(0), batch, 4 * n}, memory.dtype()),
                      or_zeros(cotangents[1], {batch, n}, memory.dtype()),
                      or_zeros(cotangents[2], {batch, n}, memory.dtype())};
    visit_floating(memory.dtype(), [&]<class T>(T) {
        Scratch scratch;
        const PackedPanels<T> u(scratch, 4 * n, n, {elements<T>(w_hh), n, 1});
        const StepRows<T> m{course, elements<T>(memory), 5 * n},
            c{course, elements<T>(memory) + 4 * n, 5 * n, elements<T>(c0), n},
            dys{course, elements<T>(dy), n}, mores{course, elements<T>(more), 5 * n},
            dzs{course, elements<T>(back.dz), 4 * n};
        T* const dhs = elements<T>(back.dh);
        course.run(u, true, [&](int64_t s, int64_t begin, int64_t end, T* room) {
            for (int64_t b = begin; b < end; ++b) {
                T *const dh = dhs + b * n, *const dc = elements<T>(back.dc) + b * n,
                         *const dm = mores.at(s, b);
                if (course.active(s, b)) {
                    cells<T>().lstm_back(n, m.at(s, b), c.at(s - 1, b), dys.at(s, b), dm, dh, dc,
                                         dzs.at(s, b));
                    continue;
                }
                std::fill_n(dzs.at(s, b), 4 * n, T(0));
                add_row(dys.at(s, b), n, dh);
                if (dm) add_row(dm + 4 * n, n, dc);
            }
            u.multiply(end - begin, dzs.at(s, begin), dhs + begin * n, n, true, room);
        });
    });
    return back;
}

std::array<Tensor, 3> Gru::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor x = in[0].contiguous(), w_ih = in[1].contiguous(), w_hh = in[2].contiguous(),
                 b_ih = in[3].contiguous(), b_hh = in[4].contiguous(), h0 = in[5].contiguous(),
                 lengths = dense(in[6]);
    const int64_t n = w_hh.size(1), batch = x.size(1);
    const Course course = course_of(attrs, x, lengths);
    Tensor y = Tensor::empty({x.size(0), batch, n}, x.dtype()),
           memory = Tensor::empty({x.size(0), batch, 4 * n}, x.dtype());
    visit_floating(x.dtype(), [&]<class T>(T) {
        from_inputs<T>(x, w_ih, memory);
        Scratch scratch;
        const PackedPanels<T> u(scratch, n, 3 * n, {elements<T>(w_hh), 1, n});
        T* const from_h = scratch.take<T>(batch * 3 * n);
        const StepRows<T> h{course, elements<T>(y), n, elements<T>(h0), n},
            m{course, elements<T>(memory), 4 * n};
        course.run(u, false, [&](int64_t s, int64_t begin, int64_t end, T* room) {
            u.multiply(end - begin, h.at(s - 1, begin), from_h + begin * 3 * n, 3 * n, false, room);
            for (int64_t b = begin; b < end; ++b) {
                if (course.active(s, b)) {
                    cells<T>().gru(n, elements<T>(b_ih), elements<T>(b_hh), from_h + b * 3 * n,
                                   h.at(s - 1, b), m.at(s, b), h.at(s, b));
                    continue;
                }
                std::fill_n(m.at(s, b), 4 * n, T(0));
                std::copy_n(h.at(s - 1, b), n, h.at(s, b));
            }
        });
    });
    return {y, last_rows(course, y), memory};
}

Gru::Back<Tensor> Gru::backward(const Attrs& attrs, std::span<const Tensor> saved,
                                std::span<const Tensor> cotangents) {
    const OperationScope scope(name, saved);
    const Tensor w_hh = saved[0].contiguous(), h0 = saved[1].contiguous(),
                 lengths = dense(saved[2]), y = saved[3], memory = saved[4];
    const Tensor dy = dense(cotangents[0]), more = dense(cotangents[2]);
    const int64_t n = w_hh.size(1), batch = memory.size(1);
    const Course course = course_of(attrs, memory, lengths);
    const Shape parts{memory.size(0), batch, 3 * n};
    Back<Tensor> back{Tensor::empty(parts, memory.dtype()), Tensor::empty(parts, memory.dtype()),
                      or_zeros(cotangents[1], {batch, n}, memory.dtype())};
    visit_floating(memory.dtype(), [&]<class T>(T) {
        Scratch scratch;
        const PackedPanels<T> u(scratch, 3 * n, n, {elements<T>(w_hh), n, 1});
        const StepRows<T> m{course, elements<T>(memory), 4 * n},
            h{course, elements<T>(y), n, elements<T>(h0), n}, dys{course, elements<T>(dy), n},
            mores{course, elements<T>(more), 4 * n}, dxs{course, elements<T>(back.dx), 3 * n},
            dgs{course, elements<T>(back.dh_gates), 3 * n};
        T* const dhs = elements<T>(back.dh);
        course.run(u, true, [&](int64_t s, int64_t begin, int64_t end, T* room) {
            for (int64_t b = begin; b < end; ++b) {
                T* const dh = dhs + b * n;
                if (course.active(s, b)) {
                    cells<T>().gru_back(n, m.at(s, b), h.at(s - 1, b), dys.at(s, b), mores.at(s, b),
                                        dh, dxs.at(s, b), dgs.at(s, b));
                    continue;
                }
                std::fill_n(dxs.at(s, b), 3 * n, T(0));
                std::fill_n(dgs.at(s, b), 3 * n, T(0));
                add_row(dys.at(s, b), n, dh);
            }
            u.multiply(end - begin, dgs.at(s, begin), dhs + begin * n, n, true, room);
        });
    });
    return back;
}

}  // namespace mercer
