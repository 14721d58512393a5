// The α-entmax of a row: its threshold (Peters, Niculae and Martins 2019, arXiv 1905.05702). With
// ε = α − 1, d = x − max x and
//   a_i(s) = [1 + ε(d_i − s)]₊,  p_i = a_i^{1/ε}  (e^{d_i − s} for ε = 0),
// s solves F(s) = Σ p_i = 1. F^ε is the 1/ε-norm of a, and a is convex in s: so for α ≤ 2 it is convex
// (Minkowski) and Newton's method from s = 0, where F ≥ 1, climbs to s without passing it, for α = 2
// in finitely many steps. Its step, (F − F^{1−ε})/(ε Σ p^{2−α}), tends to F log F/F for ε → 0: the
// softmax is a limit, not a case. For α > 2 see steep_weight().
// What has no weight at some s has none at a larger one: after the row's largest only what may have
// weight is kept, and for 1 < α < 2 once more, at the root of Σ a^m, m the integer from 1/ε up. As
// a ≤ 1 that is a smaller sum, its root a smaller s, and its powers are products.
#pragma once

#include "engine/cpu/entmax_table.h"
#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

// α-entmax for α > 2, ε = α − 1 > 1: the power 1/ε of a weak element would magnify what its distance from the largest
// was rounded by. So all is told from the weakest element with weight, x_c: with v = p_c,
//   p_i = (v^ε + ε(x_i − x_c))^{1/ε} for x_i ≥ x_c, else 0.
// Σ p is convex in v, a sum of ε-norms, and at least 1 where v = 1: Newton's method falls from there to its root.

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

/// Of ε ≤ 1: max x, s, and F there; else x_c, v, and Σ p there.
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

/// p and p^{2−α} at u = d − s. Both 0 outside the support.
template <class T>
struct Weight {
    Vec<T> p, escort;
};
template <class T, EntmaxAlpha alpha>
MERCER_INLINE Weight<T> weight(Vec<T> u, T epsilon) {
    const Vec<T> zero(T(0)), one(T(1));
    if constexpr (alpha == EntmaxAlpha::any) {
        if (epsilon == T(0)) {
            const Vec<T> p = exp(u);
            return {p, p};
        }
        // Outside, a is 1 for the time being: an exponential that vanishes is slow.
        const Vec<T> below = Vec<T>(epsilon) * u;
        const Mask<T> outside = below <= Vec<T>(T(-1));
        if (!any(!outside)) return {zero, zero};
        const Vec<T> eu = select(outside, zero, below), p = exp(log1p(eu) / Vec<T>(epsilon));
        return {select(outside, zero, p), select(outside, zero, p / (one + eu))};
    } else {
        const Vec<T> a = alpha == EntmaxAlpha::two ? one + u : fma(Vec<T>(T(0.5)), u, one);
        const Vec<T> root = select(a < zero, zero, a);
        if constexpr (alpha == EntmaxAlpha::three_halves) return {root * root, root};
        return {root, select(root == zero, zero, one)};
    }
}

template <class T>
T power(T base, T exponent) {
    return first_lane(exp(Vec<T>(exponent) * log(Vec<T>(base))));
}

/// The weight of an element x_i.
template <class T, EntmaxAlpha alpha>
struct Distribution {
    Vec<T> top, shift, scale, base;
    T epsilon;
    MERCER_INLINE Distribution(Threshold<T> at, T e)
        : top(at.top),
          shift(at.s),
          scale(T(1) / at.sum),
          base(alpha == EntmaxAlpha::any && e > T(1) ? power(at.s, e) : T(0)),
          epsilon(e) {}
    MERCER_INLINE Vec<T> operator()(Vec<T> x) const {
        if constexpr (alpha == EntmaxAlpha::any)
            if (epsilon > T(1)) return steep_weight(x - top, shift, base, epsilon) * scale;
        return weight<T, alpha>((x - top) - shift, epsilon).p * scale;
    }
};

/// p^{2−α}, 0 where p is.
template <class T, EntmaxAlpha alpha>
MERCER_INLINE Vec<T> escort_of(Vec<T> p, T epsilon) {
    const Vec<T> zero(T(0)), one(T(1));
    const Mask<T> out = p == zero;
    if constexpr (alpha == EntmaxAlpha::two) return select(p > zero, one, p);  // NaN stays
    if constexpr (alpha == EntmaxAlpha::three_halves) return sqrt(p);
    if (!any(!out)) return zero;
    return select(out, zero, exp(Vec<T>(T(1) - epsilon) * log(select(out, one, p))));
}

/// The lanes of v in the mask, one after the other, from `to` on; returns how many. A register's
/// width of `to` may be written.
template <class T>
MERCER_INLINE int gather_lanes(Vec<T> v, Mask<T> m, T* to) {
    constexpr int lanes = Vec<T>::lanes;
#if MERCER_SIMD == MERCER_SIMD_AVX512
    if constexpr (sizeof(T) == 4) {
        const __mmask16 k = _mm512_movepi32_mask(reinterpret_cast<__m512i>(m.v));
        Vec<T>(_mm512_maskz_compress_ps(k, v.v)).store(to);
        return __builtin_popcount(k);
    } else {
        const __mmask8 k = _mm512_movepi64_mask(reinterpret_cast<__m512i>(m.v));
        Vec<T>(_mm512_maskz_compress_pd(k, v.v)).store(to);
        return __builtin_popcount(k);
    }
#else
    if (!any(m)) return 0;
    using Word = typename IntOf<T>::type;
    Word in[lanes];
    T lane[lanes];
    select(m.template as<Word>(), Vec<Word>(Word(1)), Vec<Word>(Word(0))).store(in);
    v.store(lane);
    int count = 0;
    for (int k = 0; k < lanes; ++k) {
        to[count] = lane[k];
        count += int(in[k]);
    }
    return count;
#endif
}

/// The elements that may have weight, in order: those with x − top no less than `least`, or NaN.
template <class T>
struct Candidates {
    static constexpr int64_t most = 2048;
    const T* x;
    int64_t n;
    T room[most + 2 * Vec<T>::lanes];

    /// Keeps what is not below; all, where it does not fit.
    MERCER_INLINE void keep(T top, T least) {
        const Vec<T> t(top), low(least);
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i += Vec<T>::lanes) {
            const int count = int(n - i < Vec<T>::lanes ? n - i : Vec<T>::lanes);
            const Vec<T> v = load(x + i, count, MaxOp::identity<T>);
            kept += gather_lanes(v, !(v - t < low), room + kept);
            if (kept > most) return;  // for the same rows on every instruction set
        }
        x = room;
        n = kept;
    }
};

/// A lower bound of s, near the root of Σ a^m.
template <class T>
T root_of_powers(const T* x, int64_t n, T top, T epsilon, int m) {
    T s = T(0);
    for (int round = 0; round < 12; ++round) {
        const Vec<T> t(top), shift(s), e(epsilon), one(T(1)), zero(T(0));
        const TwoSums<T> sums = canonical_sums<T>(
            n, [&](int64_t i, int count, Vec<T>& sum_part, Vec<T>& slope_part) MERCER_STEP {
                const Vec<T> v = load(x + i, count, MaxOp::identity<T>);
                Vec<T> square = fma(e, (v - t) - shift, one), power = one;
                square = select(square < zero, zero, square);
                const Vec<T> a = square;
                for (int k = m - 1; k > 0; k /= 2) {
                    if (k % 2) power = power * square;
                    square = square * square;
                }
                slope_part = slope_part + power;
                sum_part = fma(a, power, sum_part);
            });
        const T sum = sums.first,
                step = (sum - power(sum, T(1) - T(1) / T(m))) / (epsilon * sums.second);
        if (!(step > T(0))) break;
        s += step;
        if (step < T(0.05)) break;
    }
    return s;
}

template <class T, EntmaxAlpha alpha>
Threshold<T> threshold(const T* row, int64_t length, T top, T epsilon) {
    constexpr T precision = sizeof(T) == 4 ? T(0x1p-23) : T(0x1p-52), one = T(1);
    // Were all equal, p = 1/n: s = (1 − n^{−ε})/ε, log n for ε = 0. It cannot be more.
    T high;
    if constexpr (alpha == EntmaxAlpha::two) {
        high = one - one / T(length);
    } else if constexpr (alpha == EntmaxAlpha::three_halves) {
        high = T(2) - T(2) / first_lane(sqrt(Vec<T>(T(length))));
    } else {
        const T log_n = first_lane(log(Vec<T>(T(length))));
        high = epsilon == T(0) ? log_n : -first_lane(expm1(Vec<T>(-epsilon * log_n))) / epsilon;
    }
    high += precision * (one + high);
    T s = T(0), sum = upper_end<T>;
    Candidates<T> candidates;
    candidates.x = row, candidates.n = length;
    const auto keep = [&]() MERCER_STEP {
        candidates.keep(top, s - (one + T(8) * precision) / epsilon);
    };
    if (epsilon > T(0)) keep();
    if constexpr (alpha == EntmaxAlpha::any)
        if (epsilon > one) return steep_threshold(candidates.x, candidates.n, top, epsilon);
    if (alpha == EntmaxAlpha::any && epsilon > T(1) / T(64) && epsilon < one) {
        int m = int(one / epsilon);
        m += T(m) * epsilon < one;
        s = root_of_powers(candidates.x, candidates.n, top, epsilon, m);
        s -= T(4) * precision * (one + s);  // rounding must not take it past the root
        if (!(s > T(0))) s = T(0);
        keep();
    }
    const T* x = candidates.x;
    const int64_t n = candidates.n;
    for (int round = 0; round < 200; ++round) {
        const Vec<T> t(top), shift(s);
        const TwoSums<T> sums = canonical_sums<T>(
            n, [&](int64_t i, int count, Vec<T>& p_part, Vec<T>& e_part) MERCER_STEP {
                const auto w =
                    weight<T, alpha>((load(x + i, count, MaxOp::identity<T>) - t) - shift, epsilon);
                p_part = p_part + w.p;
                e_part = e_part + w.escort;
            });
        const T before = sum, slope = sums.second;
        sum = sums.first;
        if (epsilon == T(0)) break;  // any s will do: the sum divides
        // From below the sum falls to 1; where it does not, rounding is all that moves it.
        if (!(sum > one && sum < before)) break;
        if (!(sum - one > T(2) * precision || one - sum > T(2) * precision)) break;
        T step;
        if (alpha == EntmaxAlpha::two)
            step = (sum - one) / slope;
        else if (alpha == EntmaxAlpha::three_halves)
            step = (sum - first_lane(sqrt(Vec<T>(sum)))) / (epsilon * slope);
        else
            step = (sum - power(sum, one - epsilon)) / (epsilon * slope);
        const T next = s + step;
        if (!(next > s)) break;
        s = next > high ? high : next;
    }
    return {top, s, sum};
}

// The slope in α. With ε = α − 1, ℓ = log p, H = Σ pℓ and 1 + e = p^{−ε}/Σ p^{1−ε}:
//   ∂p/∂α = p·((1 + e)·H − ℓ − e/ε)/ε;  ε → 0: p·(Σ pℓ² − ℓ²)/2.
template <class T>
struct AlphaSlope {
    Vec<T> eps;
    bool limit, steep;
    Vec<T> lowest;      // for ε > 1: log of the least p, whose power is the largest
    Vec<T> h, mean, k;  // H; Σ p·(p^{−ε} − 1), in the limit Σ pℓ²; log Σ p^{1−ε}

    MERCER_INLINE explicit AlphaSlope(T epsilon, T least = T(1))
        : eps(epsilon),
          limit(epsilon < (sizeof(T) == 4 ? T(0x1p-11) : T(0x1p-26))),
          steep(epsilon > T(1)),
          lowest(log(Vec<T>(least))) {}

    static MERCER_INLINE Vec<T> logarithm(Vec<T> p) {
        return log(select(p == Vec<T>(T(0)), Vec<T>(T(1)), p));
    }
    /// The terms of a row's H and mean.
    MERCER_INLINE void add(Vec<T> p, Vec<T>& h_part, Vec<T>& mean_part) const {
        const Vec<T> l = logarithm(p);
        h_part = fma(p, l, h_part);
        if (steep)
            mean_part =
                mean_part + select(p == Vec<T>(T(0)), p, exp((l - lowest) * (Vec<T>(T(1)) - eps)));
        else
            mean_part = fma(p, limit ? l * l : expm1(-eps * l), mean_part);
    }
    MERCER_INLINE void set(T entropy, T second) {
        h = Vec<T>(entropy), mean = Vec<T>(second);
        k = limit ? Vec<T>(T(0)) : steep ? fma(Vec<T>(T(1)) - eps, lowest, log(mean)) : log1p(mean);
    }
    /// ∂p/∂α over p.
    MERCER_INLINE Vec<T> operator()(Vec<T> p) const {
        const Vec<T> l = logarithm(p);
        if (limit) return (mean - l * l) * Vec<T>(T(0.5));
        const Vec<T> e = expm1(-eps * l - k);
        return ((Vec<T>(T(1)) + e) * h - l - e / eps) / eps;
    }
};

}  // namespace
}  // namespace mercer::MERCER_ISA
