// What schemes of relative position share: lengths and alignment, parameters of heads, the relative
// shift.
#pragma once

#include "attention/smoother/position/positioned.h"

namespace mercer {

struct PairLengths {
    int64_t queries, keys;
    int64_t offset;  // query i stands at i + offset

    int64_t distance(int64_t i, int64_t j) const { return i + offset - j; }
};
/// Checks that an offset is given where Tq ≠ Tk, and (second form) the shapes of q and k. ShapeError.
PairLengths pair_lengths(const char* operation, int64_t queries, int64_t keys,
                         PositionOffset offset);
PairLengths pair_lengths(const char* operation, const Var& q, const Var& k, PositionOffset offset);

/// f(i + offset − j) for all i, j: [Tq, Tk] of dtype f64 or i64, as f's result is.
template <class F>
Tensor over_distances(const PairLengths& t, F f) {
    using T = decltype(f(int64_t{}));
    Tensor out = Tensor::empty({t.queries, t.keys}, dtype_of<T>);
    T* at = out.mutable_data<T>();
    for (int64_t i = 0; i < t.queries; ++i)
        for (int64_t j = 0; j < t.keys; ++j) *at++ = f(t.distance(i, j));
    return out;
}

/// A parameter of `rank` axes, or of one more for the heads of q: ShapeError unless it is, and its
/// last axis is `width` (−1: any).
void require_parameter(const char* operation, const char* what, const Var& parameter, int rank,
                       const Var& q, int64_t width);

/// term, −∞ where j > i + offset.
Var hide_future(const Var& term, const PairLengths& t);

/// out[i, j] = x[i, j + Tq − 1 − i]: column r of x holds what belongs to j − i = r − (Tq − 1). x:
/// [..., Tq, R], out: [..., Tq, keys], R ≥ keys; 0 where x has no such column, j > i + R − Tq. A
/// column of zeros and a reshape, no index (Dai et al. 2019, appendix B; Huang et al. 2018, section
/// 3.4.1).
MERCER_API Var relative_shift(const Var& x, int64_t keys);
/// The inverse: w [..., Tq, Tk] to [..., Tq, Tq + Tk − 1], w_ij in column j − i + Tq − 1.
MERCER_API Var relative_unshift(const Var& w);
/// The rows of j − i = 1 − Tq, 2 − Tq, …, Tk − 1, along `axis`: what the shift and its inverse meet.
Var rows_of_distances(const Var& rows, int axis, const Distances& at, int64_t queries,
                      int64_t keys);

}  // namespace mercer
