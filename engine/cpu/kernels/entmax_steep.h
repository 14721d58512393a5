// α-entmax for α > 2, ε = α − 1 > 1: the power 1/ε of a weak element would magnify what its distance from the largest
// was rounded by. So all is told from the weakest element with weight, x_c: with v = p_c,
//   p_i = (v^ε + ε(x_i − x_c))^{1/ε} for x_i ≥ x_c, else 0.
// Σ p is convex in v, a sum of ε-norms, and at least 1 where v = 1: Newton's method falls from there to its root.
#pragma once

#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

/// p at d = x − x_c, base = v^ε.
template <class T>
MERCER_INLINE Vec<T> steep_weight(Vec<T> d, Vec<T> v, Vec<T> base, T epsilon) {
    const Vec<T> zero(T(0)), e(epsilon);
    const Mask<T> out = d < zero;
    if (!any(!out)) return zero;
    const Vec<T> a = select(out, Vec<T>(T(1)), fma(e, d, base));
    return select(out, zero, select(d == zero, v, exp(log(a) / e)));
}

/// x_c: the least x that has Σ p < 1 where its own weight is 0. Bisects values until no element lies between.
template <class T>
T weakest(const T* x, int64_t n, T top, T epsilon) {
    const T all = upper_end<T>;
    const auto least_from = [&](T low, T high) {
        Canonical<T, MinOp> least;
        canonical_for(least, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> v = load(x + i, count, all);
            part = minimum(part, select(v < Vec<T>(low), Vec<T>(all),
                                        select(v < Vec<T>(high), v, Vec<T>(all))));
        });
        return least.total();
    };
    T low = top - T(1.001) / epsilon, high = top;  // no weight below; weight from here on
    for (;;) {
        const T middle = low + (high - low) / T(2);
        if (!(middle > low && middle < high) || least_from(low, high) == all) break;
        const T total = canonical_sum<T>(n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> v = load(x + i, count, MaxOp::identity<T>), zero(T(0));
            part = part + steep_weight(v - Vec<T>(middle), zero, zero, epsilon);
        });
        (total < T(1) ? high : low) = middle;
    }
    return least_from(high, all);
}

/// Of ε ≤ 1: max x, s, and F there (entmax_threshold.h); else x_c, v, and Σ p there.
template <class T>
struct Threshold {
    T top, s, sum;
};
template <class T>
Threshold<T> steep_threshold(const T* x, int64_t n, T top, T epsilon) {
    constexpr T precision = sizeof(T) == 4 ? T(0x1p-23) : T(0x1p-52);
    const T c = weakest(x, n, top, epsilon);
    T v = T(1), sum = T(1);
    for (int round = 0; round < 100; ++round) {
        const Vec<T> weight(v), base = exp(Vec<T>(epsilon) * log(weight));
        const TwoSums<T> sums = canonical_sums<T>(n, [&](int64_t i, int count, Vec<T>& p_part,
                                                         Vec<T>& slope_part) MERCER_STEP {
            const Vec<T> d = load(x + i, count, MaxOp::identity<T>) - Vec<T>(c),
                         p = steep_weight(d, weight, base, epsilon), zero(T(0));
            const Mask<T> out = p == zero;
            const Vec<T> ratio = select(out, Vec<T>(T(1)), weight / p);
            p_part = p_part + p;
            slope_part = slope_part + select(out, zero, exp(Vec<T>(epsilon - T(1)) * log(ratio)));
        });
        sum = sums.first;
        const T next = v - (sum - T(1)) / sums.second;
        if (!(sum - T(1) > precision) || !(next < v && next > T(0))) break;
        v = next;
    }
    return {c, v, sum};
}

/// dx_i = q_i(g_i − g_c) − r_i/Σr · Σ q_j(g_j − g_c), q = p^{1−ε}, r = q/q_c ≤ 1: q_c may be infinite.
template <class T>
void steep_gradient(const T* p, const T* g, int64_t n, T epsilon, T* dx) {
    T least = upper_end<T>, at = T(0);
    for (int64_t i = 0; i < n; ++i)
        if (p[i] > T(0) && p[i] < least) least = p[i], at = g[i];
    const Vec<T> zero(T(0)), power(T(1) - epsilon), lowest = log(Vec<T>(least));
    struct Terms {
        Vec<T> ratio, pull;
    };
    const auto terms = [&](int64_t i, int count) MERCER_STEP {
        const Vec<T> v = load(p + i, count, T(0)), away = load(g + i, count, at) - Vec<T>(at);
        const Mask<T> out = v == zero;
        const Vec<T> l = log(select(out, Vec<T>(least), v));
        return Terms{select(out, zero, exp(power * (l - lowest))),
                     select(out, zero, select(away == zero, zero, away * exp(power * l)))};
    };
    const TwoSums<T> all = canonical_sums<T>(
        n, [&](int64_t i, int count, Vec<T>& ratio_part, Vec<T>& pull_part) MERCER_STEP {
            const Terms t = terms(i, count);
            ratio_part = ratio_part + t.ratio, pull_part = pull_part + t.pull;
        });
    const Vec<T> mean(all.first == T(0) ? T(0) : all.second / all.first);
    write_run(dx, n, false, [&](int64_t i, int count) MERCER_STEP {
        const Terms t = terms(i, count);
        return t.pull - t.ratio * mean;
    });
}

}  // namespace
}  // namespace mercer::MERCER_ISA
