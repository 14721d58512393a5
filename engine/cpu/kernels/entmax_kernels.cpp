// The α-entmax of a row (entmax_threshold.h), its gradient, and its Fenchel–Young loss. Gradient by α:
// Correia, Niculae and Martins 2019, arXiv 1909.00015. Memory sees x once and p once; a row's passes
// meet it in cache, most of them only what may have weight.
#include "engine/cpu/kernels/entmax_threshold.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T, EntmaxAlpha alpha>
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
        const T epsilon = alpha == EntmaxAlpha::two ? T(1)
                          : alpha == EntmaxAlpha::three_halves
                              ? T(0.5)
                              : static_cast<const T*>(alphas)[r] - T(1);
        const Distribution<T, alpha> weight(threshold<T, alpha>(x, n, top, epsilon), epsilon);
        write_run(p, n, false, [&](int64_t i, int count) MERCER_STEP {
            return weight(load(x + i, count, T(0)));
        });
    }
}

template <class T>
T alpha_gradient(const T* p, const T* g, int64_t n, T epsilon) {
    T least = T(1);
    for (int64_t i = 0; i < n; ++i)
        if (p[i] > T(0) && p[i] < least) least = p[i];
    AlphaSlope<T> slope(epsilon, least);
    const TwoSums<T> row = canonical_sums<T>(
        n, [&](int64_t i, int count, Vec<T>& h_part, Vec<T>& second_part)
               MERCER_STEP { slope.add(load(p + i, count, T(0)), h_part, second_part); });
    slope.set(row.first, row.second);
    const Vec<T> zero(T(0));
    return canonical_sum<T>(n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        const Vec<T> v = load(p + i, count, T(0));
        part = part + select(v == zero, zero, load(g + i, count, T(0)) * v * slope(v));
    });
}

template <class T, EntmaxAlpha alpha>
void backward(const void* p_rows, const void* alphas, const void* g_rows, void* to, void* dalphas,
              int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* p = static_cast<const T*>(p_rows) + r * n;
        const T* g = static_cast<const T*>(g_rows) + r * n;
        const T epsilon = alpha == EntmaxAlpha::any ? static_cast<const T*>(alphas)[r] - T(1)
                                                    : T(0);  // else unused
        if (dalphas) static_cast<T*>(dalphas)[r] = alpha_gradient(p, g, n, epsilon);
        if (epsilon > T(1)) {
            steep_gradient(p, g, n, epsilon, static_cast<T*>(to) + r * n);
            continue;
        }
        const TwoSums<T> sums = canonical_sums<T>(
            n, [&](int64_t i, int count, Vec<T>& q_part, Vec<T>& g_part) MERCER_STEP {
                const Vec<T> q = escort_of<T, alpha>(load(p + i, count, T(0)), epsilon);
                q_part = q_part + q;
                g_part = g_part + select(q == Vec<T>(T(0)), q, load(g + i, count, T(0)) * q);
            });
        const Vec<T> mean(sums.first == T(0) ? T(0) : sums.second / sums.first);
        write_run(static_cast<T*>(to) + r * n, n, false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> q = escort_of<T, alpha>(load(p + i, count, T(0)), epsilon);
            return select(q == Vec<T>(T(0)), q, q * (load(g + i, count, T(0)) - mean));
        });
    }
}

// y^ε − 1 for y > 0.
template <class T, EntmaxAlpha alpha>
MERCER_INLINE Vec<T> power_less_one(Vec<T> y, T epsilon) {
    if constexpr (alpha == EntmaxAlpha::two) return y - Vec<T>(T(1));
    if constexpr (alpha == EntmaxAlpha::three_halves) return sqrt(y) - Vec<T>(T(1));
    const Vec<T> l = log(y);
    return epsilon == T(0) ? l : expm1(Vec<T>(epsilon) * l);
}

// d·(p − y) + (y·(y^ε − 1) − p·(p^ε − 1))/(αε) over a row; ε = 0: logarithms for the powers less one.
template <class T, EntmaxAlpha alpha>
void loss(const void* from, const void* targets, void* losses, void* tops, void* shifts,
          void* totals, int64_t rows, int64_t n, double epsilon_of_all) {
    const T epsilon = T(epsilon_of_all);
    const Vec<T> zero(T(0)), one(T(1));
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        const T* y = static_cast<const T*>(targets) + r * n;
        const T top = largest_of(x, n);
        const bool nothing = top == MaxOp::identity<T>;
        const Threshold<T> at =
            nothing ? Threshold<T>{top, T(0), T(0)} : threshold<T, alpha>(x, n, top, epsilon);
        static_cast<T*>(tops)[r] = at.top;
        static_cast<T*>(shifts)[r] = at.s;
        static_cast<T*>(totals)[r] = at.sum;
        const Distribution<T, alpha> weight(at, epsilon);
        const Vec<T> t(top),
            coefficient(epsilon == T(0) ? T(1) : T(1) / (epsilon * (epsilon + T(1))));
        const TwoSums<T> sums = canonical_sums<T>(
            n, [&](int64_t i, int count, Vec<T>& score_part, Vec<T>& entropy_part) MERCER_STEP {
                const Vec<T> v = load(x + i, count, MaxOp::identity<T>), p = weight(v),
                             target = load(y + i, count, T(0)), away = p - target;
                score_part = score_part + select(away == zero, zero, (v - t) * away);
                const auto term = [&](Vec<T> q) MERCER_STEP {
                    const Mask<T> outside = q <= zero;
                    if (!any(!outside)) return zero;
                    return select(outside, zero,
                                  q * power_less_one<T, alpha>(select(outside, one, q), epsilon));
                };
                entropy_part = entropy_part + (term(target) - term(p));
            });
        static_cast<T*>(losses)[r] =
            nothing ? first_lane(quiet_nan<T>())
                    : sums.first + first_lane(coefficient * Vec<T>(sums.second));
    }
}

template <class T, EntmaxAlpha alpha>
void loss_gradient(const void* from, const void* targets, const void* tops, const void* shifts,
                   const void* sums, const void* weights, void* to, int64_t rows, int64_t n,
                   double epsilon, bool stream) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* x = static_cast<const T*>(from) + r * n;
        const T* y = static_cast<const T*>(targets) + r * n;
        const T top = static_cast<const T*>(tops)[r];
        const Threshold<T> at{top, static_cast<const T*>(shifts)[r],
                              static_cast<const T*>(sums)[r]};
        const Distribution<T, alpha> weight(at, T(epsilon));
        const Vec<T> g(static_cast<const T*>(weights)[r]);
        const bool nothing = top == MaxOp::identity<T>;
        write_run(static_cast<T*>(to) + r * n, n, stream, [&](int64_t i, int count) MERCER_STEP {
            __builtin_prefetch(x + n + i);
            __builtin_prefetch(y + n + i);
            const Vec<T> v = load(x + i, count, T(0));
            const Vec<T> p = nothing ? select(is_nan(v), v, Vec<T>(T(0))) : weight(v);
            return g * (p - load(y + i, count, T(0)));
        });
    }
    if (stream) stream_fence();
}

}  // namespace

#define MERCER_ALPHAS(name)                                                                    \
    {                                                                                          \
        {name<float, EntmaxAlpha::two>, name<double, EntmaxAlpha::two>},                       \
            {name<float, EntmaxAlpha::three_halves>, name<double, EntmaxAlpha::three_halves>}, \
            {name<float, EntmaxAlpha::any>, name<double, EntmaxAlpha::any>},                   \
    }
extern const cpu::EntmaxTable entmax_table = {MERCER_ALPHAS(forward), MERCER_ALPHAS(backward),
                                              MERCER_ALPHAS(loss), MERCER_ALPHAS(loss_gradient)};

}  // namespace mercer::MERCER_ISA
