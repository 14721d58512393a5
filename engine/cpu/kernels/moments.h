// Means and squared deviations from one reading: those of two parts give those of both.
// (Chan, Golub & LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances", eq. 2.1)
//
// Elements are taken relative to some p between the least and the greatest of them, so that a mean far from zero costs no
// digits: |p − m| is at most √n standard deviations. As in every reduction element i goes to lane i mod 64, and lanes j
// and j + h are joined for h = 32, 16, … 1.
#pragma once

#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {

/// S = Σ(x − p) and M = Σ(x − m)², m the mean of these x, in each lane.
template <class T>
struct Moments {
    Vec<T> sum, squares;

    /// Of load(i) = x_i − p, i < count (or `known`, if that is not 0); inverse = 1 / count.
    template <int known, class Load>
    static MERCER_INLINE Moments of(int count, Vec<T> inverse, Load load) {
        const int n = known ? known : count;
        Moments y{load(0), Vec<T>(T(0))};
#pragma GCC unroll 8
        for (int i = 1; i < n; ++i) y.sum = y.sum + load(i);
        const Vec<T> mean = y.sum * inverse;
#pragma GCC unroll 8
        for (int i = 0; i < n; ++i) {
            const Vec<T> d = load(i) - mean;
            y.squares = fma(d, d, y.squares);
        }
        return y;
    }
    /// With those of others. Of n and n' elements: ratio n' / n, weight n / (n' (n + n')).
    MERCER_INLINE void join(const Moments& other, Vec<T> ratio, Vec<T> weight) {
        const Vec<T> apart = fma(sum, ratio, -other.sum);
        squares = fma(apart * apart, weight, squares + other.squares);
        sum = sum + other.sum;
    }
};

/// How n elements lie in 64 lanes: `rest` lanes hold q + 1, the others q.
template <class T>
struct Lanes {
    int q, rest;
    T inverse[2];  // 1 / q, 1 / (q + 1)
    alignas(64) T ratio[canonical_lanes],
        weight[canonical_lanes];  // of lanes j and j + h, at h + j

    explicit Lanes(int64_t n)
        : q(int(n / canonical_lanes)),
          rest(int(n % canonical_lanes)),
          inverse{q > 0 ? T(1) / T(q) : T(0), T(1) / T(q + 1)} {
        for (int h = 1; h < canonical_lanes; h *= 2)
            runs(h, [&](int begin, int end, T r, T w) {
                for (int j = begin; j < end; ++j) ratio[h + j] = r, weight[h + j] = w;
            });
    }
    int count(int j) const { return q + (j < rest); }

    /// Calls body(begin, end, ratio, weight) for lanes j of [begin, end) that are joined with j + h in the same way.
    template <class Body>
    MERCER_INLINE void runs(int h, Body body) const {
        const int least = canonical_lanes / (2 * h) * q + rest / (2 * h), more = rest % (2 * h);
        const auto run = [&](int begin, int end, int n, int other) {
            if (begin >= end) return;
            const T a = T(n), b = T(other);
            body(begin, end, other ? b / a : T(0), other ? a / (b * (a + b)) : T(0));
        };
        const int both = more > h ? more - h : 0, one = more < h ? more : h;
        run(0, both, least + 1, least + 1);
        run(both, one, least + 1, least);
        run(one, h, least, least);
    }
};

}  // namespace mercer::MERCER_ISA
