// Every pointwise formula of ops.def as a CUDA kernel, with its first and second derivative: the
// headers of the CPU kernels on one lane. Compiled with -fmad=false: fma only where written, so the
// bits are the CPU's. Memory traffic: each operand is read once, each result written once.
#include "engine/cuda/formulas.h"
#include "engine/ops/pointwise/activation.h"
#include "engine/ops/pointwise/arithmetic.h"
#include "engine/ops/pointwise/circular.h"
#include "engine/ops/pointwise/derivative.h"
#include "engine/ops/pointwise/exponential.h"
#include "engine/ops/pointwise/hyperbolic.h"
#include "engine/ops/pointwise/interval.h"
#include "engine/ops/pointwise/magnitude.h"
#include "engine/ops/pointwise/power.h"
#include "engine/ops/pointwise/ratio.h"
#include "engine/ops/pointwise/rectifier.h"
#include "engine/ops/pointwise/rounding.h"
#include "engine/ops/pointwise/special_bivariate.h"
#include "engine/ops/pointwise/special_gamma.h"
#include "engine/ops/pointwise/special_incomplete_beta.h"
#include "engine/ops/pointwise/special_incomplete_gamma.h"
#include "engine/ops/pointwise/special_normal.h"

namespace mercer::cuda {
namespace {

using namespace mercer::MERCER_ISA;
namespace formula = mercer::MERCER_ISA::formula;

constexpr int threads = 256;

/// 16 bytes of an operand or result: what a thread asks of memory at once, so that enough is on its way.
template <class T>
struct alignas(16) Pack {
    static constexpr int count = 16 / sizeof(T);
    T at[count];

    /// Elements i… of p, of n; `otherwise` where there are none.
    __device__ static Pack load(const void* p, int64_t i, int64_t n, T otherwise) {
        if (p && i + count <= n) return static_cast<const Pack*>(p)[i / count];
        Pack out;
#pragma unroll
        for (int e = 0; e < count; ++e)
            out.at[e] = p && i + e < n ? static_cast<const T*>(p)[i + e] : otherwise;
        return out;
    }
    __device__ void store(void* p, int64_t i, int64_t n) const {
        if (i + count <= n) {
            static_cast<Pack*>(p)[i / count] = *this;
            return;
        }
#pragma unroll
        for (int e = 0; e < count; ++e)
            if (i + e < n) static_cast<T*>(p)[i + e] = at[e];
    }
    /// Takes `next` in at the end and gives what stood at the front.
    __device__ T shift(T next) {
        const T front = at[0];
#pragma unroll
        for (int e = 0; e + 1 < count; ++e) at[e] = at[e + 1];
        at[count - 1] = next;
        return front;
    }
};

/// Kernel::at(operands, results) for every element. The formula stands in the code Kernel::copies times; packs move
/// through it.
template <class Kernel, class T>
__global__ void sweep(FormulaArgs a) {
    constexpr int in = Kernel::operands, out = Kernel::results;
    const int64_t i = (int64_t(blockIdx.x) * threads + threadIdx.x) * Pack<T>::count;
    if (i >= a.n) return;
    Pack<T> x[in], y[out] = {};
#pragma unroll
    for (int k = 0; k < in; ++k)
        x[k] = Pack<T>::load(a.in[k], i, a.n, T(k < Kernel::directions ? 1 : 0));
#pragma unroll(Kernel::copies)
    for (int e = 0; e < Pack<T>::count; ++e) {
        Vec<T> operand[in], result[out];
#pragma unroll
        for (int k = 0; k < in; ++k) operand[k] = Vec<T>(x[k].shift(T(1)));
        Kernel::at(operand, result);
#pragma unroll
        for (int k = 0; k < out; ++k) y[k].shift(result[k].v);
    }
#pragma unroll
    for (int k = 0; k < out; ++k) y[k].store(a.out[k], i, a.n);
}

/// Short ones side by side, as each step of one waits for the one before.
template <class Op, int n, int cost>
struct Forward {
    static constexpr int operands = n, results = 1, directions = n, copies = cost <= 10 ? 4 : 1;
    template <class T>
    __device__ static void at(const Vec<T> (&x)[n], Vec<T> (&y)[1]) {
        y[0] = apply(Op{}, x);
    }
};

/// g, x₀…, y as the derivatives take them.
template <class T, int n>
struct Saved {
    Vec<T> g, x[n], y;
    __device__ explicit Saved(const Vec<T>* in) : g(in[0]), y(in[1 + n]) {
        for (int k = 0; k < n; ++k) x[k] = in[1 + k];
    }
};

template <class Op, int n>
struct Backward {
    static constexpr int operands = n + 2, results = n, directions = operands, copies = 1;
    template <class T>
    __device__ static void at(const Vec<T> (&in)[n + 2], Vec<T> (&out)[n]) {
        const Saved<T, n> s(in);
        out[0] = s.g * partial<0>(Op{}, s.x, s.y);
        if constexpr (n > 1) out[1] = s.g * partial<1>(Op{}, s.x, s.y);
        if constexpr (n > 2) out[2] = s.g * partial<2>(Op{}, s.x, s.y);
    }
};

template <class Op, int n>
struct Second {
    static constexpr int operands = 2 * n + 2, results = n + 1, directions = n + 2, copies = 1;
    template <class T>
    __device__ static void at(const Vec<T> (&in)[operands], Vec<T> (&out)[results]) {
        const Saved<T, n> s(in);
        Vec<T> c[n];
        for (int k = 0; k < n; ++k) c[k] = in[directions + k];
        out[0] = directional(Op{}, s.x, s.y, c);
        out[1] = s.g * second<0>(Op{}, s.x, s.y, c).d;
        if constexpr (n > 1) out[2] = s.g * second<1>(Op{}, s.x, s.y, c).d;
        if constexpr (n > 2) out[3] = s.g * second<2>(Op{}, s.x, s.y, c).d;
    }
};

template <class Kernel, class T>
void launch(const FormulaArgs& a) {
    constexpr int64_t block = threads * Pack<T>::count;
    if (a.n > 0) sweep<Kernel, T><<<unsigned((a.n + block - 1) / block), threads>>>(a);
}

template <class Op, int n, int cost>
constexpr Formula row(const char* name) {
    using F = Forward<Op, n, cost>;
    using B = Backward<Op, n>;
    using S = Second<Op, n>;
    return {name,
            n,
            {launch<F, float>, launch<F, double>},
            {launch<B, float>, launch<B, double>},
            {launch<S, float>, launch<S, double>}};
}

const Formula list[] = {
#define FUNCTION(...)
#define POINTWISE(name, type, arity, family, parameters, latex, domain, cost) \
    row<formula::type, arity, cost>(#name),
#include "engine/ops/ops.def"
#undef POINTWISE
#undef FUNCTION
};

}  // namespace

const Formula* formulas(int* count) {
    *count = int(sizeof list / sizeof list[0]);
    return list;
}

}  // namespace mercer::cuda
