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
#include "engine/memory.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::RecurrentTable<float>, recurrent_f32)
MERCER_DISPATCH(cpu::RecurrentTable<double>, recurrent_f64)

namespace {

const cpu::RecurrentTable<float>& cells(float) { return recurrent_f32(); }
const cpu::RecurrentTable<double>& cells(double) { return recurrent_f64(); }

template <class T>
T* elements(const Tensor& t) {
    return t.defined() ? static_cast<T*>(t.raw()) : nullptr;
}
template <class F>
void in_dtype(DType dtype, F f) {
    dtype == DType::f64 ? f(double{}) : f(float{});
}
Tensor dense(const Tensor& t) { return t.defined() ? t.contiguous() : t; }

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
    int64_t steps, batch, units;
    bool reverse;
    const int64_t* lengths;

    Course(const RecurrentAttrs& a, const Tensor& x, int64_t h, const Tensor& l)
        : steps(x.size(0)),
          batch(x.size(1)),
          units(h),
          reverse(a.reverse),
          lengths(elements<const int64_t>(l)) {}
    int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
    bool active(int64_t t, int64_t b) const { return !lengths || t < lengths[b]; }
    /// Row b at a step of an array (T, B, width); `start` (B, width) before the first.
    template <class T>
    T* row(T* all, T* start, int64_t step, int64_t b, int64_t width) const {
        return step < 0 ? start + b * width : all + (time(step) * batch + b) * width;
    }
    /// body(begin, end) over shares of the batch: large enough for the product's tiles, one for a thread.
    template <class Body>
    void share(Body body) const {
        const int64_t each = std::max<int64_t>(4, (batch + thread_count() - 1) / thread_count());
        parallel_for((batch + each - 1) / each, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) body(i * each, std::min(batch, (i + 1) * each));
        });
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

template <class T>
void copy_row(const T* from, int64_t n, T* to) {
    std::copy(from, from + n, to);
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
            throw ShapeError(operation, std::string(what) + " " + to_string(t.shape()) +
                                            " must have shape " + to_string(shape) + " for x " +
                                            to_string(x.shape()) + " and w_hh " +
                                            to_string(w_hh.shape()));
        if (t.defined() && t.dtype() != x.dtype())
            throw DTypeError(operation, "x is " + std::string(name_of(x.dtype())) + " and " + what +
                                            " is " + std::string(name_of(t.dtype())) +
                                            "; use cast on one");
    };
    if (!is_floating(x.dtype()))
        throw DTypeError(operation, "works on f32 and f64, got " + std::string(name_of(x.dtype())) +
                                        "; use cast");
    if (x.rank() != 3 || x.size(0) < 1)
        throw ShapeError(operation,
                         "x must be (T, B, I) with T at least 1, got " + to_string(x.shape()));
    if (w_hh.rank() != 2 || w_hh.size(1) < 1)
        throw ShapeError(operation, "w_hh must be (" + std::to_string(gates) + "·H, H), got " +
                                        to_string(w_hh.shape()));
    const int64_t h = w_hh.size(1), steps = x.size(0), batch = x.size(1);
    expect("w_hh", w_hh, {gates * h, h});
    expect("w_ih", w_ih, {gates * h, x.size(2)});
    for (const Tensor& b : biases) expect("a bias", b, {gates * h});
    for (const Tensor& s : states) expect("an initial state", s, {batch, h});
    if (!lengths.defined()) return h;
    if (lengths.dtype() != DType::i64 || !(lengths.shape() == Shape{batch}))
        throw ShapeError(operation, "lengths must be i64 (" + std::to_string(batch) + "), got " +
                                        std::string(name_of(lengths.dtype())) +
                                        to_string(lengths.shape()));
    for (int64_t n : lengths.to_vector<int64_t>())
        if (n < 0 || n > steps)
            throw ValueError(operation, "length " + std::to_string(n) + " is outside [0, " +
                                            std::to_string(steps) + "]");
    return h;
}

std::array<Tensor, 4> Lstm::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor x = in[0].contiguous(), w_ih = in[1].contiguous(), w_hh = in[2].contiguous(),
                 bias = in[3].contiguous(), h0 = in[4].contiguous(), c0 = in[5].contiguous(),
                 lengths = dense(in[6]);
    const int64_t n = w_hh.size(1), batch = x.size(1);
    const Course course(attrs, x, n, lengths);
    Tensor y = Tensor::empty({x.size(0), batch, n}, x.dtype()),
           memory = Tensor::empty({x.size(0), batch, 5 * n}, x.dtype()),
           h_last = Tensor::empty({batch, n}, x.dtype()),
           c_last = Tensor::empty({batch, n}, x.dtype());
    in_dtype(x.dtype(), [&]<class T>(T) {
        from_inputs<T>(x, w_ih, memory);
        Scratch shared;
        const PackedPanels<T> u(shared, n, 4 * n, {elements<T>(w_hh), 1, n});
        T* const hs = elements<T>(y);
        T* const cs = elements<T>(memory);
        course.share([&](int64_t begin, int64_t end) {
            Scratch scratch;
            T* const room = scratch.take<T>(u.room(end - begin));
            for (int64_t s = 0; s < course.steps; ++s) {
                poll_cancelled();
                u.multiply(end - begin, course.row(hs, elements<T>(h0), s - 1, begin, n),
                           course.row(cs, cs, s, begin, 5 * n), 5 * n, true, room);
                for (int64_t b = begin; b < end; ++b) {
                    const T* const c_before = s == 0 ? elements<T>(c0) + b * n
                                                     : course.row(cs, cs, s - 1, b, 5 * n) + 4 * n;
                    T* const m = course.row(cs, cs, s, b, 5 * n);
                    T* const h = course.row(hs, hs, s, b, n);
                    if (course.active(course.time(s), b)) {
                        cells(T{}).lstm(n, elements<T>(bias), c_before, m, h);
                        continue;
                    }
                    std::fill_n(m, 4 * n, T(0));
                    copy_row(c_before, n, m + 4 * n);
                    copy_row(course.row(hs, elements<T>(h0), s - 1, b, n), n, h);
                }
            }
            for (int64_t b = begin; b < end; ++b) {
                copy_row(course.row(hs, hs, course.steps - 1, b, n), n,
                         elements<T>(h_last) + b * n);
                copy_row(course.row(cs, cs, course.steps - 1, b, 5 * n) + 4 * n, n,
                         elements<T>(c_last) + b * n);
            }
        });
    });
    return {y, h_last, c_last, memory};
}

Lstm::Back<Tensor> Lstm::backward(const Attrs& attrs, std::span<const Tensor> saved,
                                  std::span<const Tensor> cotangents) {
    const OperationScope scope(name, saved);
    const Tensor w_hh = saved[0].contiguous(), c0 = saved[1].contiguous(),
                 lengths = dense(saved[2]), memory = saved[3];
    const Tensor dy = dense(cotangents[0]), more = dense(cotangents[3]);
    const int64_t n = w_hh.size(1), batch = memory.size(1);
    const Course course(attrs, memory, n, lengths);
    Back<Tensor> back{Tensor::empty({memory.size(0), batch, 4 * n}, memory.dtype()),
                      or_zeros(cotangents[1], {batch, n}, memory.dtype()),
                      or_zeros(cotangents[2], {batch, n}, memory.dtype())};
    in_dtype(memory.dtype(), [&]<class T>(T) {
        Scratch shared;
        const PackedPanels<T> u(shared, 4 * n, n, {elements<T>(w_hh), n, 1});
        T* const ms = elements<T>(memory);
        T* const dys = elements<T>(dy);
        T* const mores = elements<T>(more);
        T* const dzs = elements<T>(back.dz);
        course.share([&](int64_t begin, int64_t end) {
            Scratch scratch;
            T* const room = scratch.take<T>(u.room(end - begin));
            for (int64_t s = course.steps; s-- > 0;) {
                poll_cancelled();
                for (int64_t b = begin; b < end; ++b) {
                    const T* const c_before = s == 0 ? elements<T>(c0) + b * n
                                                     : course.row(ms, ms, s - 1, b, 5 * n) + 4 * n;
                    const T* const dy_row = dys ? course.row(dys, dys, s, b, n) : nullptr;
                    const T* const more_row =
                        mores ? course.row(mores, mores, s, b, 5 * n) : nullptr;
                    T* const dh = elements<T>(back.dh) + b * n;
                    T* const dc = elements<T>(back.dc) + b * n;
                    T* const dz = course.row(dzs, dzs, s, b, 4 * n);
                    if (course.active(course.time(s), b)) {
                        cells(T{}).lstm_back(n, course.row(ms, ms, s, b, 5 * n), c_before, dy_row,
                                             more_row, dh, dc, dz);
                        continue;
                    }
                    std::fill_n(dz, 4 * n, T(0));
                    for (int64_t j = 0; j < n && dy_row; ++j) dh[j] += dy_row[j];
                    for (int64_t j = 0; j < n && more_row; ++j) dc[j] += more_row[4 * n + j];
                }
                u.multiply(end - begin, course.row(dzs, dzs, s, begin, 4 * n),
                           elements<T>(back.dh) + begin * n, n, true, room);
            }
        });
    });
    return back;
}

std::array<Tensor, 3> Gru::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor x = in[0].contiguous(), w_ih = in[1].contiguous(), w_hh = in[2].contiguous(),
                 b_ih = in[3].contiguous(), b_hh = in[4].contiguous(), h0 = in[5].contiguous(),
                 lengths = dense(in[6]);
    const int64_t n = w_hh.size(1), batch = x.size(1);
    const Course course(attrs, x, n, lengths);
    Tensor y = Tensor::empty({x.size(0), batch, n}, x.dtype()),
           memory = Tensor::empty({x.size(0), batch, 4 * n}, x.dtype()),
           h_last = Tensor::empty({batch, n}, x.dtype());
    in_dtype(x.dtype(), [&]<class T>(T) {
        from_inputs<T>(x, w_ih, memory);
        Scratch shared;
        const PackedPanels<T> u(shared, n, 3 * n, {elements<T>(w_hh), 1, n});
        T* const hs = elements<T>(y);
        T* const ms = elements<T>(memory);
        course.share([&](int64_t begin, int64_t end) {
            Scratch scratch;
            T* const room = scratch.take<T>(u.room(end - begin));
            T* const from_h = scratch.take<T>((end - begin) * 3 * n);
            for (int64_t s = 0; s < course.steps; ++s) {
                poll_cancelled();
                u.multiply(end - begin, course.row(hs, elements<T>(h0), s - 1, begin, n), from_h,
                           3 * n, false, room);
                for (int64_t b = begin; b < end; ++b) {
                    const T* const h_before = course.row(hs, elements<T>(h0), s - 1, b, n);
                    T* const m = course.row(ms, ms, s, b, 4 * n);
                    T* const h = course.row(hs, hs, s, b, n);
                    if (course.active(course.time(s), b)) {
                        cells(T{}).gru(n, elements<T>(b_ih), elements<T>(b_hh),
                                       from_h + (b - begin) * 3 * n, h_before, m, h);
                        continue;
                    }
                    std::fill_n(m, 4 * n, T(0));
                    copy_row(h_before, n, h);
                }
            }
            for (int64_t b = begin; b < end; ++b)
                copy_row(course.row(hs, hs, course.steps - 1, b, n), n,
                         elements<T>(h_last) + b * n);
        });
    });
    return {y, h_last, memory};
}

Gru::Back<Tensor> Gru::backward(const Attrs& attrs, std::span<const Tensor> saved,
                                std::span<const Tensor> cotangents) {
    const OperationScope scope(name, saved);
    const Tensor w_hh = saved[0].contiguous(), h0 = saved[1].contiguous(),
                 lengths = dense(saved[2]), y = saved[3], memory = saved[4];
    const Tensor dy = dense(cotangents[0]), more = dense(cotangents[2]);
    const int64_t n = w_hh.size(1), batch = memory.size(1);
    const Course course(attrs, memory, n, lengths);
    const Shape parts{memory.size(0), batch, 3 * n};
    Back<Tensor> back{Tensor::empty(parts, memory.dtype()), Tensor::empty(parts, memory.dtype()),
                      or_zeros(cotangents[1], {batch, n}, memory.dtype())};
    in_dtype(memory.dtype(), [&]<class T>(T) {
        Scratch shared;
        const PackedPanels<T> u(shared, 3 * n, n, {elements<T>(w_hh), n, 1});
        T* const ms = elements<T>(memory);
        T* const hs = elements<T>(y);
        T* const dys = elements<T>(dy);
        T* const mores = elements<T>(more);
        T* const dxs = elements<T>(back.dx);
        T* const dgs = elements<T>(back.dh_gates);
        course.share([&](int64_t begin, int64_t end) {
            Scratch scratch;
            T* const room = scratch.take<T>(u.room(end - begin));
            for (int64_t s = course.steps; s-- > 0;) {
                poll_cancelled();
                for (int64_t b = begin; b < end; ++b) {
                    const T* const dy_row = dys ? course.row(dys, dys, s, b, n) : nullptr;
                    T* const dh = elements<T>(back.dh) + b * n;
                    T* const dx = course.row(dxs, dxs, s, b, 3 * n);
                    T* const dg = course.row(dgs, dgs, s, b, 3 * n);
                    if (course.active(course.time(s), b)) {
                        cells(T{}).gru_back(n, course.row(ms, ms, s, b, 4 * n),
                                            course.row(hs, elements<T>(h0), s - 1, b, n), dy_row,
                                            mores ? course.row(mores, mores, s, b, 4 * n) : nullptr,
                                            dh, dx, dg);
                        continue;
                    }
                    std::fill_n(dx, 3 * n, T(0));
                    std::fill_n(dg, 3 * n, T(0));
                    for (int64_t j = 0; j < n && dy_row; ++j) dh[j] += dy_row[j];
                }
                u.multiply(end - begin, course.row(dgs, dgs, s, begin, 3 * n),
                           elements<T>(back.dh) + begin * n, n, true, room);
            }
        });
    });
    return back;
}

namespace {

std::array<Tensor, 4> lstm_sequence(const RecurrentAttrs& attrs, const Tensor& x,
                                    const Tensor& w_ih, const Tensor& w_hh, const Tensor& bias,
                                    const Tensor& h0, const Tensor& c0, const Tensor& lengths) {
    const Tensor in[] = {x, w_ih, w_hh, bias, h0, c0, lengths};
    return Lstm::forward(attrs, in);
}
std::array<Tensor, 3> gru_sequence(const RecurrentAttrs& attrs, const Tensor& x, const Tensor& w_ih,
                                   const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh,
                                   const Tensor& h0, const Tensor& lengths) {
    const Tensor in[] = {x, w_ih, w_hh, b_ih, b_hh, h0, lengths};
    return Gru::forward(attrs, in);
}

}  // namespace

#define MERCER_VALUE Tensor
#include "engine/ops/recurrent.inc"

}  // namespace mercer
