// The sum of a pointwise formula over a row, in the order and with the bits of a sum over its stored
// values. Memory traffic: each operand is read once.
#pragma once

#include "engine/cpu/canonical.h"
#include "engine/cpu/pointwise_kernels.h"
#include "engine/cpu/pointwise_sum.h"

namespace mercer::MERCER_ISA {

template <class Op, int n, class T>
MERCER_FLATTEN void pointwise_sum(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_rows<T, n>(
        a, [&](const Row<T, n>& row, int64_t r, int64_t,
               int64_t count) __attribute__((always_inline)) {
            Canonical<T, SumOp> sum;
            canonical_for(
                sum,
                count, [&](Vec<T> & part, int64_t c, int lanes) __attribute__((always_inline)) {
                    constexpr int all = Vec<T>::lanes;
                    Vec<T> x[n];
#pragma GCC unroll 4
                    for (int k = 0; k < n; ++k)
                        x[k] = lanes == all ? row.load(k, c) : row.load(k, c, lanes);
                    Vec<T> y = apply(op, x);
                    if (lanes < all) {
                        T room[all];
                        y.store(room);
                        y = Vec<T>::load(room, lanes, T(0));
                    }
                    part = part + y;
                });
            static_cast<T*>(a.out[0])[r] = sum.total();
        });
}

template <class Op, int n>
constexpr cpu::PointwiseSums pointwise_sums() {
    return {{pointwise_sum<Op, n, float>, pointwise_sum<Op, n, double>}};
}

}  // namespace mercer::MERCER_ISA
