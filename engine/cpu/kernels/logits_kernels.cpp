// log Σ exp and its gradient (softmax_table.h). Memory traffic: sums reads x once; the gradient reads its operands and
// writes once.
#include "engine/cpu/kernels/exp_sum.h"
#include "engine/cpu/softmax_table.h"

namespace mercer::MERCER_ISA {
namespace {

// exp_sum of a row that the canonical lanes hold, in registers: the same bits.
template <class T>
MERCER_INLINE ExpSum<T> exp_sum_of_few(const T* x, int64_t n) {
    constexpr T lowest = MaxOp::identity<T>;
    const T most = largest_of(x, n), top = most == lowest ? T(0) : most;
    if (top == -lowest) return {top, infinite_sum(x, n)};
    return exp_summed(most, top,
                      canonical_sum<T>(n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                          part = plus_exp(part, load(x + i, count, lowest) - Vec<T>(top));
                      }));
}

template <class T>
void sums(const void* from, void* tops, void* sum, void* log_sums, void* totals, int64_t rows,
          int64_t n) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        ExpSum<T> e;
        if (totals) {
            Canonical<T, SumOp> total;
            e = exp_sum(x, n, total);
            static_cast<T*>(totals)[r] = total.total();
        } else {
            e = n <= canonical_lanes ? exp_sum_of_few(x, n) : exp_sum(x, n);
        }
        static_cast<T*>(tops)[r] = e.top;
        static_cast<T*>(sum)[r] = e.sum;
    }
    const T* total = static_cast<const T*>(sum);
    write_run(static_cast<T*>(log_sums), rows, false,
              [&](int64_t r, int count) MERCER_STEP { return log(load(total + r, count, T(1))); });
}

template <class T>
void gradient(const void* from, const void* tops, const void* sums, const void* weights,
              const int64_t* labels, void* to, int64_t rows, int64_t n, double share, double pick,
              bool stream) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        T* dx = static_cast<T*>(to) + r * n;
        const T sum = static_cast<const T*>(sums)[r], weight = static_cast<const T*>(weights)[r];
        const int64_t label = labels ? labels[r] : n;
        if (sum == T(0) || label < 0) {
            write_run(dx, n, stream, [](int64_t, int) MERCER_STEP { return Vec<T>(T(0)); });
            continue;
        }
        const Vec<T> top(static_cast<const T*>(tops)[r]), w(weight), inverse(T(1) / sum);
        const Vec<T> less(labels ? T(share) : T(0));
        const auto at = [&](int64_t i, int count) MERCER_STEP {
            return fma(exp_falling(load(x + i, count, T(0)) - top), inverse, -less);
        };
        const auto weighted = [&](int64_t i, int count) MERCER_STEP { return at(i, count) * w; };
        if (label >= n) {
            write_run(dx, n, stream, weighted);
            continue;
        }
        // The label's element on its own, so that no line is written twice.
        const auto after = [&](int64_t i, int count)
                               MERCER_STEP { return weighted(label + 1 + i, count); };
        write_run(dx, label, stream, weighted);
        ((at(label, 1) - Vec<T>(T(pick))) * w).store(dx + label, 1);
        write_run(dx + label + 1, n - label - 1, stream, after);
    }
    if (stream) stream_fence();
}

template <class T>
void sums_tile(const void* x, void* tops, void* sums, void* log_sums, int64_t n, int64_t columns,
               const cpu::TileAhead& next) {
    sums_of_columns(static_cast<const T*>(x), n, columns, next,
                    [&](int64_t c, int count, Vec<T> top, Vec<T> sum) MERCER_STEP {
                        store(top, static_cast<T*>(tops) + c, count);
                        store(sum, static_cast<T*>(sums) + c, count);
                        store(log(sum), static_cast<T*>(log_sums) + c, count);
                    });
}

}  // namespace

extern const cpu::LogitsTable logits_table = {
    {sums<float>, sums<double>},
    {gradient<float>, gradient<double>},
    {sums_tile<float>, sums_tile<double>},
};

}  // namespace mercer::MERCER_ISA
