// Means and squared deviations from one reading: those of two parts give those of both.
// (Chan, Golub & LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances", eq. 2.1)
//
// Elements are taken relative to some p between the least and the greatest of them, so that a mean far from zero costs no
// digits: |p − m| is at most √n standard deviations.
#pragma once

#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {

/// S = Σ(x − p) and M = Σ(x − m)², m the mean of these x, in each lane.
template <class T>
struct Moments {
    Vec<T> sum, squares;

    /// Of load(i) = x_i − p, i < count (or `known`, if that is not 0).
    template <int known, class Load>
    static MERCER_INLINE Moments of(int count, Load load) {
        const int n = known ? known : count;
        Moments y{load(0), Vec<T>(T(0))};
#pragma GCC unroll 8
        for (int i = 1; i < n; ++i) y.sum = y.sum + load(i);
        const Vec<T> mean = y.sum * Vec<T>(T(1) / T(n));
#pragma GCC unroll 8
        for (int i = 0; i < n; ++i) {
            const Vec<T> d = load(i) - mean;
            y.squares = fma(d, d, y.squares);
        }
        return y;
    }
    /// With those of as many more, n in all: weight = 1 / n.
    MERCER_INLINE void join(const Moments& other, Vec<T> weight) {
        const Vec<T> apart = sum - other.sum;
        squares = fma(apart * apart, weight, squares + other.squares);
        sum = sum + other.sum;
    }
    /// With those of `more` elements beside `n`.
    MERCER_INLINE void join_rest(const Moments& other, T n, T more) {
        const Vec<T> apart = sum * Vec<T>(more / n) - other.sum;
        squares = fma(apart * apart, Vec<T>(n / (more * (n + more))), squares + other.squares);
        sum = sum + other.sum;
    }
};

/// 1 / the elements of lanes j and j + h together, each of which stands for 32/h lanes; `each`: 1 / those of all 64.
template <class T>
MERCER_INLINE Vec<T> weight_of(int h, T each) {
    return Vec<T>(T(h) * each);
}
/// The lanes of one register joined: j and j + h for h = lanes/2, … 1.
template <class T, int h = Vec<T>::lanes / 2>
MERCER_INLINE void join_across(Moments<T>& y, T each) {
    if constexpr (h > 0) {
        constexpr std::make_integer_sequence<int, Vec<T>::lanes> places;
        y.join({rotated<h>(y.sum, places), rotated<h>(y.squares, places)}, weight_of(h, each));
        join_across<T, h / 2>(y, each);
    }
}

}  // namespace mercer::MERCER_ISA
