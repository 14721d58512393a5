// y_i = exp(x_i − m) / Σ_j exp(x_j − m), m = max x;   dx = y·(g − Σ g·y).
// Its logarithm: y_i = (x_i − m) − log Σ_j exp(x_j − m);   dx = g − exp(y)·Σ g.
// One row at a time, so that its passes (maximum, exponential and sum, scale) meet it in cache:
// memory sees one read and one write. The second pass of a short row asks for the next row, so that
// memory works while the exponential does; the third, which mostly stores, finds the next row's ends.
// The logarithm reads x a second time where a row exceeds the caches.
// Sums in the canonical order, of columns too: the same bits.
#include "engine/cpu/kernels/exp_sum.h"
#include "engine/cpu/softmax_table.h"

namespace mercer::MERCER_ISA {
namespace {

/// Whether two rows fit the first cache, beside what is made of them.
template <class T>
MERCER_INLINE bool is_short(int64_t n) {
    return n * int64_t(sizeof(T)) <= 1 << 13;
}
/// y = exp(x − m); Σ y. Numbers that are not far apart, most rows', need no look at each.
template <class T>
MERCER_INLINE T raise_row(const T* x, T* y, int64_t n, const Ends<T>& ends) {
    constexpr T lowest = MaxOp::identity<T>;
    // A row of −∞ only: exp gives zeros, and so do we.
    const T top = ends.largest == lowest ? T(0) : ends.largest;
    const Vec<T> m(top);
    const auto raise = [&](auto near) MERCER_STEP {
        return canonical_sum<T>(n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            fetch_next_row(x + i, n);
            const Vec<T> d = load(x + i, count, lowest) - m;
            const Vec<T> p = near && count == Vec<T>::lanes ? exp_near(d) : exp_falling(d);
            store(p, y + i, count);
            part = part + p;
        });
    };
    return ends.smallest - top >= -near_argument<T> ? raise(std::true_type())
                                                    : raise(std::false_type());
}

template <class T>
void softmax(const void* from, void* to, int64_t rows, int64_t n) {
    const bool brief = is_short<T>(n);
    Ends<T> ends;
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        T* y = static_cast<T*>(to) + r * n;
        if (r == 0 || !brief) ends = ends_of(x, n, [](int64_t, int) MERCER_STEP {});
        const T z = raise_row(x, y, n, ends);
        const Vec<T> scale(z == T(0) ? T(0) : T(1) / z);
        const auto scaled = [&](int64_t i, int count) MERCER_STEP {
            store(load(y + i, count, T(1)) * scale, y + i, count);
        };
        if (brief && r + 1 < rows)
            ends = ends_of(x + n, n, scaled);
        else
            for_run<T>(n, scaled);
    }
}

template <class T>
void log_softmax(const void* from, void* to, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        const ExpSum<T> e = exp_sum(x, n);
        const Vec<T> top(e.top), log_sum = e.sum == T(0) ? Vec<T>(T(0)) : log(Vec<T>(e.sum));
        write_run(static_cast<T*>(to) + r * n, n, false, [&](int64_t i, int count) MERCER_STEP {
            return (load(x + i, count, T(0)) - top) - log_sum;
        });
    }
}

template <class T>
void softmax_tile(void* tile, int64_t n, int64_t columns, const cpu::TileAhead& next) {
    T* const x = static_cast<T*>(tile);
    for_columns<T>(columns, [&](int64_t c, int count) MERCER_STEP {
        T* const column = x + c;
        const Vec<T> m = finite_top(largest_of_columns(column, n, columns, count)), zero(T(0));
        const auto raise = [&](int64_t i) MERCER_STEP {
            fetch_ahead<T>(next, 0, i, c);
            T* const at = column + i * columns;
            const Vec<T> p = exp_falling(load(at, count, T(0)) - m);
            store(p, at, count);
            return p;
        };
        // Rows of one canonical lane fall on one set of the first cache: tall columns are written row after row.
        const bool tall = n > canonical_lanes;
        for (int64_t i = 0; tall && i < n; ++i) raise(i);
        const Vec<T> sum = column_sum<T>(n, [&](Vec<T> part, int64_t i) MERCER_STEP {
            return part + (tall ? load(column + i * columns, count, T(0)) : raise(i));
        });
        const Vec<T> scale = select(sum == zero, zero, Vec<T>(T(1)) / sum);
        for (int64_t i = c; i < n * columns; i += columns)
            store(load(x + i, count, T(1)) * scale, x + i, count);
    });
}

template <class T>
void log_softmax_tile(void* tile, int64_t n, int64_t columns, const cpu::TileAhead& next) {
    T* const x = static_cast<T*>(tile);
    sums_of_columns(x, n, columns, next,
                    [&](int64_t c, int count, Vec<T> top, Vec<T> sum) MERCER_STEP {
                        const Vec<T> zero(T(0)), log_sum = select(sum == zero, zero, log(sum));
                        for (int64_t i = c; i < n * columns; i += columns)
                            store((load(x + i, count, T(0)) - top) - log_sum, x + i, count);
                    });
}

/// What the gradient adds up over a row, and what it makes of the sum.
template <bool logarithm, class T>
MERCER_INLINE Vec<T> term(Vec<T> y, Vec<T> g) {
    return logarithm ? g : g * y;
}
template <bool logarithm, class T>
MERCER_INLINE Vec<T> gradient(Vec<T> y, Vec<T> g, Vec<T> sum) {
    if constexpr (logarithm)
        return select(y == -infinity<T>(), Vec<T>(T(0)), fma(-exp(y), sum, g));
    else
        return y * (g - sum);
}

template <bool logarithm, class T>
void backward(const void* y_rows, const void* g_rows, void* to, int64_t rows, int64_t n,
              bool stream) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* y = static_cast<const T*>(y_rows) + r * n;
        const T* g = static_cast<const T*>(g_rows) + r * n;
        const Vec<T> sum(canonical_sum<T>(n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            part = part + term<logarithm>(load(y + i, count, T(0)), load(g + i, count, T(0)));
        }));
        write_run(static_cast<T*>(to) + r * n, n, stream, [&](int64_t i, int count) MERCER_STEP {
            fetch_next_row(y + i, n);
            fetch_next_row(g + i, n, stream);
            return gradient<logarithm>(load(y + i, count, T(0)), load(g + i, count, T(0)), sum);
        });
    }
    if (stream) stream_fence();
}

template <bool logarithm, class T>
void backward_tile(const void* y_tile, void* g_tile, int64_t n, int64_t columns,
                   const cpu::TileAhead& next) {
    const T* const y = static_cast<const T*>(y_tile);
    T* const g = static_cast<T*>(g_tile);
    for_columns<T>(columns, [&](int64_t c, int count) MERCER_STEP {
        const auto fetch = [&](int64_t i) MERCER_STEP {
            fetch_ahead<T>(next, 0, i, c);
            fetch_ahead<T>(next, 1, i, c);
        };
        const Vec<T> sum = column_sum<T>(n, [&](Vec<T> part, int64_t i) MERCER_STEP {
            if (!logarithm) fetch(i);
            const int64_t at = i * columns + c;
            return part + term<logarithm>(load(y + at, count, T(0)), load(g + at, count, T(0)));
        });
        for (int64_t i = 0, at = c; i < n; ++i, at += columns) {
            if (logarithm) fetch(i);
            store(gradient<logarithm>(load(y + at, count, T(0)), load(g + at, count, T(0)), sum),
                  g + at, count);
        }
    });
}

}  // namespace

#define MERCER_GRADIENTS(name)                                                               \
    {                                                                                        \
        {name<false, float>, name<false, double>}, { name<true, float>, name<true, double> } \
    }
extern const cpu::SoftmaxTable softmax_table = {
    {{softmax<float>, softmax<double>}, {log_softmax<float>, log_softmax<double>}},
    MERCER_GRADIENTS(backward),
    {{softmax_tile<float>, softmax_tile<double>},
     {log_softmax_tile<float>, log_softmax_tile<double>}},
    MERCER_GRADIENTS(backward_tile),
};

}  // namespace mercer::MERCER_ISA
