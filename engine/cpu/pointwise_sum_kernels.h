// The sum of a pointwise formula over a row, in the order and with the bits of a sum over its stored
// values. Memory traffic: each operand is read once, each value written once where they are kept.
#pragma once

#include "engine/cpu/kept_sums.h"
#include "engine/cpu/pointwise_kernels.h"

namespace mercer::MERCER_ISA {

/// f of the columns from c on, 0 beyond the first `lanes`.
template <class Op, class T, int n>
MERCER_INLINE Vec<T> value_or_zero(const Op& op, const Row<T, n>& row, int64_t c, int lanes) {
    constexpr int all = Vec<T>::lanes;
    Vec<T> x[n];
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) x[k] = lanes == all ? row.load(k, c) : row.load(k, c, lanes);
    const Vec<T> y = apply(op, x);
    if (lanes == all) return y;
    T room[all];
    y.store(room);
    return Vec<T>::load(room, lanes, T(0));
}

template <class Op, int n, class T>
MERCER_FLATTEN void pointwise_sum(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_rows<T, n>(a, [&](const Row<T, n>& row, int64_t r, int64_t, int64_t count) MERCER_STEP {
        static_cast<T*>(a.out[0])[r] =
            canonical_sum<T>(count, [&](Vec<T>& part, int64_t c, int lanes) MERCER_STEP {
                part = part + value_or_zero(op, row, c, lanes);
            });
    });
}

template <class Op, int n, class T>
MERCER_FLATTEN void pointwise_keep(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_rows<T, n>(a, [&](const Row<T, n>& row, int64_t r, int64_t, int64_t count) MERCER_STEP {
        T* const out = static_cast<T*>(a.out[0]) + r * a.out_row;
        Canonical<T, SumOp> sum, size;
        canonical_run<T>(
            count,
            [&](int64_t c, int lanes, Vec<T>& part, Vec<T>& size_part) MERCER_STEP {
                const Vec<T> y = value_or_zero(op, row, c, lanes);
                if (lanes == Vec<T>::lanes)
                    y.store(out + c);
                else
                    y.store(out + c, lanes);
                part = part + y;
                size_part = size_part + abs(y);
            },
            sum, size);
        add_parts(static_cast<T*>(a.out[1]) + r * cpu::kept_lanes, T(1), sum);
        add_parts(static_cast<T*>(a.out[2]) + r * cpu::kept_lanes, T(1), size);
    });
}

template <class Op, int n>
constexpr cpu::PointwiseSums pointwise_sums() {
    return {{pointwise_sum<Op, n, float>, pointwise_sum<Op, n, double>},
            {pointwise_keep<Op, n, float>, pointwise_keep<Op, n, double>}};
}

}  // namespace mercer::MERCER_ISA
