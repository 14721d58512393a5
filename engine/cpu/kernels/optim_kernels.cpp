// Updates of parameters: g ← g + l2·p, p ← shrink·p, then a formula that remembers up to three
// numbers for each element. Memory traffic: what the formula names, once; p and its memory are read
// and written, g is read. The stores go where a load just was, so that the lines are there already.
//
// A formula is a struct: `states`, how many numbers it remembers; `overwrites`, whether p is only
// written; and the update itself, which returns p. It costs a line in the table below and one in cpu::UpdateRule.
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/optim_table.h"

namespace mercer::MERCER_ISA {
namespace {

using Constants = cpu::UpdateConstants;

template <int numbers, bool only_written = false>
struct Remembers {
    static constexpr int states = numbers;
    static constexpr bool overwrites = only_written;
};

/// A constant in all lanes.
template <class T>
MERCER_INLINE Vec<T> all(double x) {
    return Vec<T>(T(x));
}

/// p ← p − rate·g
template <class T>
struct Sgd : Remembers<0> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T> p, Vec<T> g, Vec<T>*) {
        return fma(all<T>(-c.rate), g, p);
    }
};

/// v ← β₁v + gain·g, p ← p − rate·v; looking ahead: p ← p − rate·(g + β₁v)
template <class T, bool ahead>
struct Velocity : Remembers<1> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T> p, Vec<T> g, Vec<T>* v) {
        const Vec<T> beta = all<T>(c.beta1);
        v[0] = fma(beta, v[0], all<T>(c.gain) * g);
        return fma(all<T>(-c.rate), ahead ? fma(beta, v[0], g) : v[0], p);
    }
};

/// m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², p ← p − rate·m / (correction·√v + ε); unscaled: p ← p
/// − rate·m
template <class T, bool scaled>
struct Moments : Remembers<2> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T> p, Vec<T> g, Vec<T>* s) {
        s[0] = fma(all<T>(c.beta1), s[0], all<T>(1 - c.beta1) * g);
        s[1] = fma(all<T>(c.beta2), s[1], all<T>(1 - c.beta2) * (g * g));
        const Vec<T> away = all<T>(c.rate) * s[0];
        if constexpr (scaled)
            return p - away / fma(all<T>(c.correction), sqrt(s[1]), all<T>(c.epsilon));
        return p - away;
    }
};

/// G ← G + g², p ← p − rate·g / (√G + ε)
template <class T>
struct Adagrad : Remembers<1> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T> p, Vec<T> g, Vec<T>* s) {
        s[0] = fma(g, g, s[0]);
        return p - all<T>(c.rate) * g / (sqrt(s[0]) + all<T>(c.epsilon));
    }
};

/// v ← β₂v + (1 − β₂)g², d = g / (√v + ε), p ← p − rate·d. Centred: a ← β₂a + (1 − β₂)g and v − a²
/// in place of v, not less than 0, where rounding would take it. With momentum: b ← β₁b + d in
/// place of d. Remembers v, a, b.
template <class T, bool centered, bool momentum>
struct MeanSquare : Remembers<1 + centered + momentum> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T> p, Vec<T> g, Vec<T>* s) {
        const Vec<T> b2 = all<T>(c.beta2), a2 = all<T>(1 - c.beta2);
        s[0] = fma(b2, s[0], a2 * (g * g));
        Vec<T> square = s[0];
        if constexpr (centered) {
            s[1] = fma(b2, s[1], a2 * g);
            square = maximum(square - s[1] * s[1], Vec<T>(T(0)));
        }
        Vec<T> d = g / (sqrt(square) + all<T>(c.epsilon));
        if constexpr (momentum) d = s[1 + centered] = fma(all<T>(c.beta1), s[1 + centered], d);
        return fma(all<T>(-c.rate), d, p);
    }
};

/// p ← p + rate·(g − p)
template <class T>
struct Blend : Remembers<0> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T> p, Vec<T> g, Vec<T>*) {
        return fma(all<T>(c.rate), g - p, p);
    }
};

/// p ← rate·g
template <class T>
struct Scale : Remembers<0, true> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T>, Vec<T> g, Vec<T>*) {
        return all<T>(c.rate) * g;
    }
};

/// p ← g, at most rate in magnitude; NaN stays
template <class T>
struct Clamp : Remembers<0, true> {
    static MERCER_INLINE Vec<T> step(const Constants& c, Vec<T>, Vec<T> g, Vec<T>*) {
        return maximum(minimum(g, all<T>(c.rate)), all<T>(-c.rate));
    }
};

template <class Formula, class T>
void update(const cpu::UpdateItem& u, int64_t begin, int64_t n) {
    constexpr int states = Formula::states;
    const Constants constants = u.constants;  // of its own, which no store reaches
    const bool decays = constants.l2 != 0;
    T* const p = static_cast<T*>(u.p) + begin;
    const T* const g = static_cast<const T*>(u.g) + begin;
    T* s[states + 1];
    for (int k = 0; k < states; ++k) s[k] = static_cast<T*>(u.state[k]) + begin;
    for_run<T>(n, [&](int64_t i, int count) MERCER_STEP {
        Vec<T> gi = load(g + i, count, T(1)), pi = gi, si[states + 1];
        for (int k = 0; k < states; ++k) si[k] = load(s[k] + i, count, T(1));
        if constexpr (!Formula::overwrites) {
            pi = load(p + i, count, T(1));
            if (decays) gi = fma(all<T>(constants.l2), pi, gi);
            pi = all<T>(constants.shrink) * pi;
        }
        pi = Formula::step(constants, pi, gi, si);
        for (int k = 0; k < states; ++k) store(si[k], s[k] + i, count);
        store(pi, p + i, count);
    });
}

/// Elements as doubles, zeros beyond `count`.
MERCER_INLINE Vec<double> load_wide(const double* p, int count) { return load(p, count, 0.0); }
MERCER_INLINE Vec<double> load_wide(const float* p, int count) {
    constexpr int lanes = Vec<double>::lanes;
    double x[lanes];
    for (int k = 0; k < lanes; ++k) x[k] = count == lanes || k < count ? double(p[k]) : 0.0;
    return Vec<double>::load(x);
}
template <class T>
double dot(const void* left, const void* right, int64_t n, double scale) {
    const T *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
    const Vec<double> factor(scale);
    return canonical_sum<double>(n, [&](Vec<double>& part, int64_t i, int count) MERCER_STEP {
        part = fma(factor * load_wide(a + i, count), factor * load_wide(b + i, count), part);
    });
}

}  // namespace

// In the order of cpu::UpdateRule.
#define RULE(Formula, ...)                                             \
    {                                                                  \
        update<Formula<float __VA_OPT__(, ) __VA_ARGS__>, float>,      \
            update<Formula<double __VA_OPT__(, ) __VA_ARGS__>, double> \
    }
extern const cpu::OptimTable optim_table = {
    {RULE(Sgd), RULE(Velocity, false), RULE(Velocity, true), RULE(Moments, true),
     RULE(Moments, false), RULE(Adagrad), RULE(MeanSquare, false, false),
     RULE(MeanSquare, false, true), RULE(MeanSquare, true, false), RULE(MeanSquare, true, true),
     RULE(Blend), RULE(Scale), RULE(Clamp)},
    {dot<float>, dot<double>}};
#undef RULE

}  // namespace mercer::MERCER_ISA
