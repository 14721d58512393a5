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

template <class T>
__device__ Vec<T> load(const void* p, int64_t i, T otherwise) {
    return p ? Vec<T>(static_cast<const T*>(p)[i]) : Vec<T>(otherwise);
}
template <class T>
__device__ void store(Vec<T> v, void* p, int64_t i) {
    static_cast<T*>(p)[i] = v.v;
}

template <class Op, int n, class T>
__global__ void forward(FormulaArgs a) {
    const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (i >= a.n) return;
    Vec<T> x[n];
    for (int k = 0; k < n; ++k) x[k] = load<T>(a.in[k], i, T(1));
    store(apply(Op{}, x), a.out[0], i);
}

template <class T, int n>
struct Saved {
    Vec<T> g, x[n], y;
    __device__ Saved(const FormulaArgs& a, int64_t i)
        : g(load<T>(a.in[0], i, T(1))), y(load<T>(a.in[1 + n], i, T(1))) {
        for (int k = 0; k < n; ++k) x[k] = load<T>(a.in[1 + k], i, T(1));
    }
};

template <class Op, int n, class T>
__global__ void backward(FormulaArgs a) {
    const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (i >= a.n) return;
    const Saved<T, n> s(a, i);
    store(s.g * partial<0>(Op{}, s.x, s.y), a.out[0], i);
    if constexpr (n > 1) store(s.g * partial<1>(Op{}, s.x, s.y), a.out[1], i);
    if constexpr (n > 2) store(s.g * partial<2>(Op{}, s.x, s.y), a.out[2], i);
}

template <class Op, int n, class T>
__global__ void second_order(FormulaArgs a) {
    const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (i >= a.n) return;
    const Saved<T, n> s(a, i);
    Vec<T> c[n];
    for (int k = 0; k < n; ++k) c[k] = load<T>(a.in[2 + n + k], i, T(0));
    store(directional(Op{}, s.x, s.y, c), a.out[0], i);
    store(s.g * second<0>(Op{}, s.x, s.y, c).d, a.out[1], i);
    if constexpr (n > 1) store(s.g * second<1>(Op{}, s.x, s.y, c).d, a.out[2], i);
    if constexpr (n > 2) store(s.g * second<2>(Op{}, s.x, s.y, c).d, a.out[3], i);
}

template <auto kernel>
void launch(const FormulaArgs& a) {
    if (a.n > 0) kernel<<<unsigned((a.n + threads - 1) / threads), threads>>>(a);
}

template <class Op, int n>
constexpr Formula row(const char* name) {
    return {name,
            n,
            {launch<forward<Op, n, float>>, launch<forward<Op, n, double>>},
            {launch<backward<Op, n, float>>, launch<backward<Op, n, double>>},
            {launch<second_order<Op, n, float>>, launch<second_order<Op, n, double>>}};
}

const Formula list[] = {
#define FUNCTION(...)
#define POINTWISE(name, type, arity, ...) row<formula::type, arity>(#name),
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
