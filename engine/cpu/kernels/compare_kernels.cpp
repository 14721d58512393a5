// out = a ∘ b as bool bytes, or a where a mask is set, else b; one pass: each operand is read once, each result written
// once. Plain loops: the compiler narrows masks to bytes better than a detour over Vec would.
#include "engine/cpu/compare_table.h"
#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA {
namespace {

// A bool is read as the byte it is.
template <class T, class F>
void pairs(const cpu::PointwiseArgs& args) {
    const int64_t n = args.cols, sx = args.in_col[0], sy = args.in_col[1];
    for (int64_t r = 0; r < args.rows; ++r) {
        const T* x = static_cast<const T*>(args.in[0]) + r * args.in_row[0];
        const T* y = static_cast<const T*>(args.in[1]) + r * args.in_row[1];
        uint8_t* __restrict to = static_cast<uint8_t*>(args.out[0]) + r * args.out_row;
        if (sx == 1 && sy == 1)
            for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i], y[i]);
        else if (sx == 1 && sy == 0)
            for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i], *y);
        else if (sx == 0 && sy == 1)
            for (int64_t i = 0; i < n; ++i) to[i] = F::of(*x, y[i]);
        else
            for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i * sx], y[i * sy]);
    }
}

template <class T, class F>
void singles(const cpu::PointwiseArgs& args) {
    const int64_t n = args.cols, sx = args.in_col[0];
    for (int64_t r = 0; r < args.rows; ++r) {
        const T* x = static_cast<const T*>(args.in[0]) + r * args.in_row[0];
        uint8_t* __restrict to = static_cast<uint8_t*>(args.out[0]) + r * args.out_row;
        if (sx == 1)
            for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i]);
        else
            for (int64_t i = 0; i < n; ++i) to[i] = F::of(x[i * sx]);
    }
}

// By bits and without a branch, which a mask would often mislead.
template <class T>
void choose(const cpu::PointwiseArgs& args) {
    const int64_t sa = args.in_col[0], sb = args.in_col[1], sm = args.in_col[2];
    for (int64_t r = 0; r < args.rows; ++r) {
        const T* a = static_cast<const T*>(args.in[0]) + r * args.in_row[0];
        const T* b = static_cast<const T*>(args.in[1]) + r * args.in_row[1];
        const uint8_t* m = static_cast<const uint8_t*>(args.in[2]) + r * args.in_row[2];
        T* __restrict to = static_cast<T*>(args.out[0]) + r * args.out_row;
        const auto one = [](uint8_t mask, T x, T y) MERCER_STEP {
            const T chosen = T(0) - T(mask != 0);
            return T((x & chosen) | (y & ~chosen));
        };
        if (sm == 0) {  // all of one
            const T* const from = *m ? a : b;
            const int64_t step = *m ? sa : sb;
            if (step == 1)
                for (int64_t i = 0; i < args.cols; ++i) to[i] = from[i];
            else
                for (int64_t i = 0; i < args.cols; ++i) to[i] = from[i * step];
        } else if (sm == 1 && sa == 1 && sb == 1)
            for (int64_t i = 0; i < args.cols; ++i) to[i] = one(m[i], a[i], b[i]);
        else if (sm == 1 && sa == 1 && sb == 0)
            for (int64_t i = 0; i < args.cols; ++i) to[i] = one(m[i], a[i], *b);
        else if (sm == 1 && sa == 0 && sb == 1)
            for (int64_t i = 0; i < args.cols; ++i) to[i] = one(m[i], *a, b[i]);
        else
            for (int64_t i = 0; i < args.cols; ++i) to[i] = one(m[i * sm], a[i * sa], b[i * sb]);
    }
}

#define MERCER_COMPARISON(Name, operands, expression) \
    struct Name {                                     \
        template <class T>                            \
        static MERCER_INLINE uint8_t of operands {    \
            return expression;                        \
        }                                             \
    };
MERCER_COMPARISON(Equal, (T a, T b), a == b)
MERCER_COMPARISON(NotEqual, (T a, T b), a != b)
MERCER_COMPARISON(Less, (T a, T b), a < b)
MERCER_COMPARISON(LessEqual, (T a, T b), a <= b)
MERCER_COMPARISON(And, (T a, T b), (a & b))
MERCER_COMPARISON(Or, (T a, T b), a | b)
MERCER_COMPARISON(Xor, (T a, T b), a ^ b)
MERCER_COMPARISON(Not, (T x), x ^ 1)
MERCER_COMPARISON(IsNan, (T x), x != x)
MERCER_COMPARISON(IsInf, (T x), x == T(__builtin_inf()) || x == -T(__builtin_inf()))
MERCER_COMPARISON(IsFinite, (T x), x - x == 0)
#undef MERCER_COMPARISON

#define MERCER_ALL_TYPES(F) \
    { pairs<float, F>, pairs<double, F>, pairs<int32_t, F>, pairs<int64_t, F>, pairs<uint8_t, F> }

}  // namespace

extern const cpu::CompareTable compare_table = {
    {MERCER_ALL_TYPES(Equal), MERCER_ALL_TYPES(NotEqual), MERCER_ALL_TYPES(Less),
     MERCER_ALL_TYPES(LessEqual)},
    {pairs<uint8_t, And>, pairs<uint8_t, Or>, pairs<uint8_t, Xor>, singles<uint8_t, Not>},
    {{singles<float, IsNan>, singles<double, IsNan>},
     {singles<float, IsInf>, singles<double, IsInf>},
     {singles<float, IsFinite>, singles<double, IsFinite>}},
    {choose<uint8_t>, choose<uint16_t>, choose<uint32_t>, choose<uint64_t>}};

}  // namespace mercer::MERCER_ISA
