// Prefix sums, products and extrema, and the recurrence h_t = a_t h_{t−1} + b_t. Memory traffic: each element once, each result
// once.
//
// A row is scanned by blocks of 16: inside one, v_j ← v_{j−k} ∘ v_j for k = 1, 2, 4, 8 (Hillis & Steele 1986); then the
// carry is joined to all. Every instruction set does these joins, so all get the same bits. Columns go step by step, and
// so do products of floats everywhere: those of a block may overflow where what comes before is 0.
#include "engine/cpu/kernels/scan_turned.h"

namespace mercer::MERCER_ISA {
namespace {

constexpr int block = scan_block;

#if MERCER_SIMD == MERCER_SIMD_SCALAR
template <int, class T>
Vec<T> delayed(Vec<T>, Vec<T>);  // never needed: a place is a register
template <class T>
MERCER_INLINE Vec<T> reversed(Vec<T> v) {
    return v;
}
#else
template <int shift, class T, int... i>
MERCER_INLINE Vec<T> delayed(Vec<T> before, Vec<T> v, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(before.v, v.v, (i + int(sizeof...(i)) - shift)...);
}
/// The lanes of v, `shift` places later, after the last ones of `before`.
template <int shift, class T>
MERCER_INLINE Vec<T> delayed(Vec<T> before, Vec<T> v) {
    return delayed<shift>(before, v, std::make_integer_sequence<int, Vec<T>::lanes>());
}
template <class T, int... i>
MERCER_INLINE Vec<T> reversed(Vec<T> v, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(v.v, v.v, (int(sizeof...(i)) - 1 - i)...);
}
template <class T>
MERCER_INLINE Vec<T> reversed(Vec<T> v) {
    return reversed(v, std::make_integer_sequence<int, Vec<T>::lanes>());
}
#endif

template <class Op, class T>
struct Block {
    static constexpr int lanes = Vec<T>::lanes < block ? Vec<T>::lanes : block,
                         registers = block / lanes;
    static_assert(lanes == Vec<T>::lanes, "a register holds at most one block");
    Vec<T> v[registers];

    template <int shift>
    MERCER_INLINE void delay(Vec<T> (&to)[registers]) const {
        constexpr int whole = shift / lanes, part = shift % lanes;
        const Vec<T> none(Op::template identity<T>);
        for (int k = 0; k < registers; ++k) {
            const Vec<T> at = k >= whole ? v[k - whole] : none;
            if constexpr (part == 0)
                to[k] = at;
            else
                to[k] = delayed<part>(k > whole ? v[k - whole - 1] : none, at);
        }
    }
    template <int shift>
    MERCER_INLINE void join_delayed() {
        Vec<T> d[registers];
        delay<shift>(d);
        for (int k = 0; k < registers; ++k) v[k] = Op::join(d[k], v[k]);
    }
    MERCER_INLINE void scan() {
        join_delayed<1>();
        join_delayed<2>();
        join_delayed<4>();
        join_delayed<8>();
    }
    MERCER_INLINE T last() const {
        T e[lanes];
        v[registers - 1].store(e);
        return e[lanes - 1];
    }
    MERCER_INLINE void load(const T* p, bool reverse) {
        for (int k = 0; k < registers; ++k)
            v[k] = reverse ? reversed(Vec<T>::load(p + block - (k + 1) * lanes))
                           : Vec<T>::load(p + k * lanes);
    }
    /// The first `n` elements, in their order.
    MERCER_INLINE void load_first(const T* p, int n) {
        for (int k = 0; k < registers; ++k)
            v[k] = Vec<T>::load(p + k * lanes, held<T>(n, k), Op::template identity<T>);
    }
    MERCER_INLINE void store_first(T* p, int n) const {
        for (int k = 0; k < registers; ++k)
            if (const int count = held<T>(n, k)) v[k].store(p + k * lanes, count);
    }
    MERCER_INLINE void store(T* p, bool reverse) const {
        for (int k = 0; k < registers; ++k) {
            if (reverse)
                reversed(v[k]).store(p + block - (k + 1) * lanes);
            else
                v[k].store(p + k * lanes);
        }
    }
};

template <class Op, class T, bool reverse>
MERCER_INLINE void scan_row(const cpu::ScanArgs& args) {
    const T* x = static_cast<const T*>(args.x);
    T* out = static_cast<T*>(args.out);
    const Vec<T> before(*static_cast<T*>(args.carry));
    Vec<T> carry(Op::template identity<T>);
    using B = Block<Op, T>;
    const auto step = [&](B& b) MERCER_STEP {
        b.scan();
        const Vec<T> total(b.last());
        if (out) {
            Vec<T> d[B::registers];
            if (args.exclusive) {
                b.template delay<1>(d);
                for (int k = 0; k < B::registers; ++k) b.v[k] = d[k];
            }
            for (int k = 0; k < B::registers; ++k) {
                b.v[k] = Op::join(carry, b.v[k]);
                if (!args.first) b.v[k] = Op::join(before, b.v[k]);
            }
        }
        carry = Op::join(carry, total);
    };
    B b;
    int64_t i = 0;
    for (; i + block <= args.n; i += block) {
        const int64_t at = reverse ? args.n - i - block : i;
        b.load(x + at, reverse);
        step(b);
        if (out) b.store(out + at, reverse);
    }
    if (const int rest = int(args.n - i); rest > 0 && !reverse) {
        b.load_first(x + i, rest);
        step(b);
        if (out) b.store_first(out + i, rest);
    } else if (rest > 0) {
        T part[block];
        for (int k = 0; k < block - rest; ++k) part[k] = Op::template identity<T>;
        for (int k = 0; k < rest; ++k) part[block - rest + k] = x[k];
        b.load(part, true);
        step(b);
        b.store(part, true);
        if (out)
            for (int k = 0; k < rest; ++k) out[k] = part[block - rest + k];
    }
    T e[Vec<T>::lanes];
    const Vec<T> all = args.first ? carry : Op::join(before, carry);
    all.store(e);
    *static_cast<T*>(args.carry) = e[0];
}

/// Whole rows of at most a block, forward: the joins of scan_row, its calls left out.
template <class Op, class T>
MERCER_INLINE void short_rows(const cpu::ScanArgs& args) {
    const Vec<T> none(Op::template identity<T>);
    const int n = int(args.n);
    for (int64_t r = 0; r < args.count; ++r) {
        Block<Op, T> b, d;
        const T* const x = static_cast<const T*>(args.x) + r * n;
        fetch_beyond(x);
        b.load_first(x, n);
        b.scan();
        if (args.exclusive) b.template delay<1>(d.v);
        for (int k = 0; k < b.registers; ++k)
            b.v[k] = Op::join(none, args.exclusive ? d.v[k] : b.v[k]);
        b.store_first(static_cast<T*>(args.out) + r * n, n);
    }
}

template <class Op, class T>
void rows(const cpu::ScanArgs& args) {
    if (!args.carry && args.n <= block && !args.reverse) return short_rows<Op, T>(args);
    cpu::ScanArgs one = args;
    T none = T(0);
    if (!args.carry) one.carry = &none;
    for (int64_t r = 0; r < args.count; ++r) {
        one.x = static_cast<const T*>(args.x) + r * args.n;
        one.out = static_cast<T*>(args.out) + r * args.n;
        args.reverse ? scan_row<Op, T, true>(one) : scan_row<Op, T, false>(one);
    }
}

/// Where x is the extremum so far at its place: a new one, an equal one, NaN.
template <class T>
void standing(const void* from, const void* extrema, int64_t n, int64_t first, int64_t none,
              int64_t* __restrict index) {
    const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(extrema);
    for (int64_t k = 0; k < n; ++k) index[k] = (x[k] == y[k]) | (x[k] != x[k]) ? first + k : none;
}

template <class F>
void planes(const cpu::ScanArgs& args) {
    if (args.inner > 1)
        step_lines<cpu::plane_columns, F>(args);
    else if (args.count > 1)
        step_lines<1, F>(args);
    else
        step_alone<F>(args);
}
template <class F>
void turned(const cpu::ScanArgs& args) {
    args.reverse ? step_turned<F, true>(args) : step_turned<F, false>(args);
}
template <class Op, class T>
void joins_turned(const cpu::ScanArgs& args) {
    if constexpr (std::is_same_v<Op, ProdOp> && std::is_floating_point_v<T>)
        turned<Join<Op, T>>(args);
    else
        args.reverse ? join_turned<Op, true, T>(args) : join_turned<Op, false, T>(args);
}

template <class F>
constexpr cpu::ScanSteps steps = {planes<F>, step_columns<F>, turned<F>};
template <class Op, class T>
constexpr cpu::ScanSteps joins = {planes<Join<Op, T>>, step_columns<Join<Op, T>>,
                                  joins_turned<Op, T>};
template <class Op, class T>
constexpr cpu::ScanSteps running = steps<Running<Op, T>>;

#define MERCER_ALL(kernel, Op) \
    { kernel<Op, float>, kernel<Op, double>, kernel<Op, int32_t>, kernel<Op, int64_t> }

}  // namespace

extern const cpu::ScanTable scan_table = {
    {MERCER_ALL(rows, SumOp),
     {nullptr, nullptr, rows<ProdOp, int32_t>, rows<ProdOp, int64_t>},
     MERCER_ALL(rows, MaxOp),
     MERCER_ALL(rows, MinOp)},
    {MERCER_ALL(joins, SumOp), MERCER_ALL(joins, ProdOp)},
    {MERCER_ALL(running, MaxOp), MERCER_ALL(running, MinOp)},
    {steps<Recurrence<float>>, steps<Recurrence<double>>},
    {standing<float>, standing<double>, standing<int32_t>, standing<int64_t>}};

}  // namespace mercer::MERCER_ISA
