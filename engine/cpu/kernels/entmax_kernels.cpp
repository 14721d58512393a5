// The α-entmax of a row (Peters, Niculae and Martins 2019, arXiv 1905.05702; gradient by α: Correia,
// Niculae and Martins 2019, arXiv 1909.00015). With ε = α − 1, d = x − max x and
//   a_i(s) = [1 + ε(d_i − s)]₊,  p_i = a_i^{1/ε}  (e^{d_i − s} for ε = 0),
// s solves F(s) = Σ p_i = 1. F^ε is the 1/ε-norm of a, and a is convex in s: so for α ≤ 2 it is convex
// (Minkowski) and Newton's method from s = 0, where F ≥ 1, climbs to s without passing it, for α = 2
// in finitely many steps. Its step, (F − F^{1−ε})/(ε Σ p^{2−α}), tends to F log F/F for ε → 0: the
// softmax is a limit, not a case. For α > 2 a bracket and bisection guard it.
// Memory sees x once and p once; a row's passes, about ten, meet it in cache.
#include "engine/cpu/entmax_table.h"
#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

enum class Alpha { two, half_three, any };

/// p and p^{2−α} at u = d − s. Both 0 outside the support.
template <class T>
struct Weight {
    Vec<T> p, escort;
};
template <class T, Alpha alpha>
MERCER_INLINE Weight<T> weight(Vec<T> u, T epsilon) {
    const Vec<T> zero(T(0)), one(T(1));
    if constexpr (alpha == Alpha::any) {
        if (epsilon == T(0)) {
            const Vec<T> p = exp(u);
            return {p, p};
        }
        const Vec<T> eu = clamp_low(Vec<T>(epsilon) * u, T(-1));
        const Vec<T> p = exp(log1p(eu) / Vec<T>(epsilon));
        return {p, select(p == zero, zero, p / (one + eu))};
    } else {
        const Vec<T> a = alpha == Alpha::two ? one + u : fma(Vec<T>(T(0.5)), u, one);
        const Vec<T> root = select(a < zero, zero, a);
        if constexpr (alpha == Alpha::half_three) return {root * root, root};
        return {root, select(root == zero, zero, one)};
    }
}

template <class T>
T power(T base, T exponent) {
    return number(exp(Vec<T>(exponent) * log(Vec<T>(base))));
}

// s, and F there.
template <class T>
struct Threshold {
    T s, sum;
};
template <class T, Alpha alpha>
Threshold<T> threshold(const T* x, int64_t n, T top, T epsilon) {
    constexpr T precision = sizeof(T) == 4 ? T(0x1p-23) : T(0x1p-52), one = T(1);
    // Were all equal, p = 1/n: s = (1 − n^{−ε})/ε, log n for ε = 0. It cannot be more.
    const T log_n = number(log(Vec<T>(T(n))));
    T low = T(0),
      high = epsilon == T(0) ? log_n : -number(expm1(Vec<T>(-epsilon * log_n))) / epsilon;
    high += precision * (one + high);
    T s = T(0), sum = T(0);
    for (int round = 0; round < 200; ++round) {
        Canonical<T, SumOp> total, escorts;
        const Vec<T> t(top), shift(s);
        canonical_run<T>(
            n,
            [&](int64_t i, int count, Vec<T>& p_part, Vec<T>& e_part) MERCER_STEP {
                const auto w =
                    weight<T, alpha>((load(x + i, count, MaxOp::identity<T>) - t) - shift, epsilon);
                p_part = p_part + w.p;
                e_part = e_part + w.escort;
            },
            total, escorts);
        sum = total.total();
        const T slope = escorts.total();
        if (!(sum - one > T(2) * precision || one - sum > T(2) * precision)) break;
        if (sum > one)
            low = s;
        else
            high = s;
        T step;
        if (epsilon == T(0))
            step = sum * number(log(Vec<T>(sum))) / slope;
        else if (alpha == Alpha::two)
            step = (sum - one) / slope;
        else
            step = (sum - power(sum, one - epsilon)) / (epsilon * slope);
        const bool halve = epsilon > one && round % 2 == 1;
        T next = s + step;
        if (halve || !(next > low && next < high)) next = low + (high - low) / T(2);
        if (next == s || high - low <= precision * high) break;
        s = next;
    }
    return {s, sum};
}

template <class T, Alpha alpha>
void forward(const void* from, const void* alphas, void* to, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        T* p = static_cast<T*>(to) + r * n;
        const T top = largest_of(x, n);
        if (top == MaxOp::identity<T>) {
            // −∞ throughout, or NaN, which stays.
            write_run(p, n, false, [&](int64_t i, int count) MERCER_STEP {
                const Vec<T> v = load(x + i, count, T(0));
                return select(is_nan(v), v, Vec<T>(T(0)));
            });
            continue;
        }
        const T epsilon = alpha == Alpha::two          ? T(1)
                          : alpha == Alpha::half_three ? T(0.5)
                                                       : static_cast<const T*>(alphas)[r] - T(1);
        const auto at = threshold<T, alpha>(x, n, top, epsilon);
        const Vec<T> t(top), shift(at.s), scale(T(1) / at.sum);
        write_run(p, n, false, [&](int64_t i, int count) MERCER_STEP {
            return weight<T, alpha>((load(x + i, count, T(0)) - t) - shift, epsilon).p * scale;
        });
    }
}

/// p^{2−α}, 0 where p is.
template <class T, Alpha alpha>
MERCER_INLINE Vec<T> escort(Vec<T> p, T epsilon) {
    const Vec<T> zero(T(0)), one(T(1));
    const Mask<T> out = p == zero;
    if constexpr (alpha == Alpha::two) return select(out, zero, one);
    if constexpr (alpha == Alpha::half_three) return sqrt(p);
    return select(out, zero, exp(Vec<T>(T(1) - epsilon) * log(select(out, one, p))));
}

// dL/dα of a row: with ℓ = log p, H = Σ pℓ, e = p^{−ε}/Σ p^{1−ε} − 1,
//   Σ g·p·(((1 + e)·H − ℓ − e/ε)/ε);  ε → 0: Σ g·p·(Σ pℓ² − ℓ²)/2.
template <class T>
T alpha_gradient(const T* p, const T* g, int64_t n, T epsilon) {
    const Vec<T> zero(T(0)), one(T(1)), eps(epsilon);
    const bool limit = epsilon < (sizeof(T) == 4 ? T(0x1p-11) : T(0x1p-26));
    const auto logarithm = [&](Vec<T> v) MERCER_STEP { return log(select(v == zero, one, v)); };
    Canonical<T, SumOp> entropy, second;
    canonical_run<T>(
        n,
        [&](int64_t i, int count, Vec<T>& h_part, Vec<T>& second_part) MERCER_STEP {
            const Vec<T> v = load(p + i, count, T(0)), l = logarithm(v);
            h_part = fma(v, l, h_part);
            second_part = fma(v, limit ? l * l : expm1(-eps * l), second_part);
        },
        entropy, second);
    const Vec<T> h(entropy.total()), mean(second.total());
    const Vec<T> k = limit ? zero : log1p(mean);
    Canonical<T, SumOp> sum;
    canonical_run<T>(
        n,
        [&](int64_t i, int count, Vec<T>& part) MERCER_STEP {
            const Vec<T> v = load(p + i, count, T(0)), l = logarithm(v);
            Vec<T> slope;
            if (limit) {
                slope = (mean - l * l) * Vec<T>(T(0.5));
            } else {
                const Vec<T> e = expm1(-eps * l - k);
                slope = ((one + e) * h - l - e / eps) / eps;
            }
            part = part + select(v == zero, zero, load(g + i, count, T(0)) * v * slope);
        },
        sum);
    return sum.total();
}

template <class T, Alpha alpha>
void backward(const void* p_rows, const void* alphas, const void* g_rows, void* to, void* dalphas,
              int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* p = static_cast<const T*>(p_rows) + r * n;
        const T* g = static_cast<const T*>(g_rows) + r * n;
        const T epsilon =
            alpha == Alpha::any ? static_cast<const T*>(alphas)[r] - T(1) : T(0);  // else unused
        Canonical<T, SumOp> total, weighted;
        canonical_run<T>(
            n,
            [&](int64_t i, int count, Vec<T>& q_part, Vec<T>& g_part) MERCER_STEP {
                const Vec<T> q = escort<T, alpha>(load(p + i, count, T(0)), epsilon);
                q_part = q_part + q;
                g_part = g_part + select(q == Vec<T>(T(0)), q, load(g + i, count, T(0)) * q);
            },
            total, weighted);
        const T sum = total.total();
        const Vec<T> mean(sum == T(0) ? T(0) : weighted.total() / sum);
        write_run(static_cast<T*>(to) + r * n, n, false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> q = escort<T, alpha>(load(p + i, count, T(0)), epsilon);
            return select(q == Vec<T>(T(0)), q, q * (load(g + i, count, T(0)) - mean));
        });
        if (dalphas) static_cast<T*>(dalphas)[r] = alpha_gradient(p, g, n, epsilon);
    }
}

}  // namespace

extern const cpu::EntmaxTable entmax_table;
const cpu::EntmaxTable entmax_table = {
    {{forward<float, Alpha::two>, forward<double, Alpha::two>},
     {forward<float, Alpha::half_three>, forward<double, Alpha::half_three>},
     {forward<float, Alpha::any>, forward<double, Alpha::any>}},
    {{backward<float, Alpha::two>, backward<double, Alpha::two>},
     {backward<float, Alpha::half_three>, backward<double, Alpha::half_three>},
     {backward<float, Alpha::any>, backward<double, Alpha::any>}}};

}  // namespace mercer::MERCER_ISA
