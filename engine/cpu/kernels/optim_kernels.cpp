// Adam: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², p ← p − step·m / (correction·√v + ε).
// Memory traffic: p, m, v read and written, g read, once.
#include "engine/cpu/optim_table.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
void adam(void* parameters, const void* gradient, void* first, void* second, int64_t n,
          const cpu::AdamConstants& c) {
    constexpr int lanes = Vec<T>::lanes;
    T *p = static_cast<T*>(parameters), *m = static_cast<T*>(first), *v = static_cast<T*>(second);
    const T* g = static_cast<const T*>(gradient);
    const Vec<T> b1(T(c.beta1)), b2(T(c.beta2)), a1(T(1 - c.beta1)), a2(T(1 - c.beta2)),
        epsilon(T(c.epsilon)), step(T(c.step)), correction(T(c.correction));
    for (int64_t i = 0; i < n; i += lanes) {
        const int count = int(n - i < lanes ? n - i : lanes);
        const auto load = [&](const T* x) __attribute__((always_inline)) {
            return count == lanes ? Vec<T>::load(x + i) : Vec<T>::load(x + i, count, T(1));
        };
        const auto store = [&](Vec<T> x, T * to) __attribute__((always_inline)) {
            if (count == lanes)
                x.store(to + i);
            else
                x.store(to + i, count);
        };
        const Vec<T> gi = load(g), mi = fma(b1, load(m), a1 * gi),
                     vi = fma(b2, load(v), a2 * (gi * gi));
        store(mi, m);
        store(vi, v);
        store(load(p) - step * mi / fma(correction, sqrt(vi), epsilon), p);
    }
}

}  // namespace

extern const cpu::OptimTable optim_table;
const cpu::OptimTable optim_table = {{adam<float>, adam<double>}};

}  // namespace mercer::MERCER_ISA
