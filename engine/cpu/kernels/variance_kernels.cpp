// m = Σx / n, then Σ(x − m)², both in canonical order: two passes over a chunk that the second-level cache holds, so
// memory is read once.
#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
void run(const cpu::ReduceArgs& args) {
    if (short_rows<T>(args.n, args.count))
        return turned_rows(
            static_cast<const T*>(args.x), args.n, args.step, args.count,
            [&](const auto& v, int n, int64_t k, int rows) __attribute__((always_inline)) {
                const Vec<T> m =
                    joined_turned<SumOp>(
                        v, n, [](Vec<T> e) __attribute__((always_inline)) { return e; }) /
                    Vec<T>(T(args.n));
                const Vec<T> sum = joined_turned<SumOp>(
                    v,
                    n, [m](Vec<T> e) __attribute__((always_inline)) { return (e - m) * (e - m); });
                const int64_t at = k * args.out_step;
                put_results(m, static_cast<T*>(args.extra) + at, args.out_step, rows);
                put_results(sum, static_cast<T*>(args.out) + at, args.out_step, rows);
            });
    if (args.count == 0) return;
    const T* x = static_cast<const T*>(args.x);
    const T size = T(args.n);
    T m = joined_run<SumOp>(
              x, args.n, T(0), [](Vec<T> v) __attribute__((always_inline)) { return v; }) /
          size;
    for (int64_t k = 0; k < args.count; ++k, x += args.step) {
        static_cast<T*>(args.extra)[k * args.out_step] = m;
        T& out = static_cast<T*>(args.out)[k * args.out_step];
        const auto square = [m](Vec<T> v) __attribute__((always_inline)) {
            return (v - Vec<T>(m)) * (v - Vec<T>(m));
        };
        if (k + 1 == args.count) {
            out = joined_run<SumOp>(x, args.n, m, square);
            break;
        }
        // While this chunk's squares are summed from cache, memory brings the next chunk for its mean.
        constexpr int lanes = Vec<T>::lanes;
        const T* const next = x + args.step;
        Canonical<T, SumOp> squares, sum;
        canonical_run(
            args.n,
            [&](int64_t i, int count, Vec<T>& s, Vec<T>& total) __attribute__((always_inline)) {
                const bool whole = count == lanes;
                s = s + square(whole ? Vec<T>::load(x + i) : Vec<T>::load(x + i, count, m));
                total =
                    total + (whole ? Vec<T>::load(next + i) : Vec<T>::load(next + i, count, T(0)));
            },
            squares, sum);
        out = squares.total();
        m = sum.total() / size;
    }
}

template <class T>
void columns(const cpu::ReduceArgs& args) {
    constexpr int width = int(1024 / sizeof(T)), lanes = Vec<T>::lanes;
    alignas(64) T mean[width + lanes] = {};
    const auto itself = [](Vec<T> v, int64_t) __attribute__((always_inline)) { return v; };
    const auto spread_of = [&](Vec<T> v, int64_t c) __attribute__((always_inline)) {
        const Vec<T> d = v - Vec<T>::load(mean + c);
        return d * d;
    };
    using First = Columns<SumOp, T, true, decltype(itself)>;
    alignas(64) T buffer[8 * First::width];
    for (int64_t c = 0; c < args.count; c += width) {
        const int cols = int(args.count - c < width ? args.count - c : width);
        const T* x = static_cast<const T*>(args.x) + c;
        First{x, args.n, args.stride, cols, itself}.join(buffer);
        for (int i = 0; i < cols; ++i) mean[i] = buffer[i] / T(args.n);
        spread(mean, static_cast<T*>(args.extra) + c * args.out_step, args.out_step, cols);
        Columns<SumOp, T, false, decltype(spread_of)>{x, args.n, args.stride, cols, spread_of}.join(
            buffer);
        spread(buffer, static_cast<T*>(args.out) + c * args.out_step, args.out_step, cols);
    }
}

}  // namespace

extern const cpu::VarianceTable variance_table;
const cpu::VarianceTable variance_table = {
    {{run<float>, columns<float>}, {run<double>, columns<double>}}};

}  // namespace mercer::MERCER_ISA
