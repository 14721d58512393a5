// Σ, Π, max, min, Σ|x|, Σx², max|x| over runs and over columns, in the canonical order, whatever the layout.
// Memory traffic: each element once.
#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {
namespace {

// What is joined, and a value that does not change the join.
#define MERCER_TERM(Name, neutral, term)           \
    struct Name {                                  \
        template <class Op, class T>               \
        static constexpr T fill = neutral;         \
        template <class T>                         \
        static MERCER_INLINE Vec<T> of(Vec<T> v) { \
            return term;                           \
        }                                          \
    };
MERCER_TERM(Itself, Op::template identity<T>, v)
MERCER_TERM(Magnitude, T(0), abs(v))
MERCER_TERM(Squared, T(0), (v * v))
#undef MERCER_TERM

template <class Op, class Of, class T>
void run(const cpu::ReduceArgs& args) {
    const T* x = static_cast<const T*>(args.x);
    T* out = static_cast<T*>(args.out);
    if (short_rows<T>(args.n, args.count))
        return turned_rows(x, args.n, args.step, args.count,
                           [&](const auto& v, int n, int64_t k, int rows) MERCER_STEP {
                               const Vec<T> y = joined_turned<Op>(
                                   v, n, [](Vec<T> e) MERCER_STEP { return Of::of(e); });
                               put_results(y, out + k * args.out_step, args.out_step, rows);
                           });
    for (int64_t k = 0; k < args.count; ++k)
        out[k * args.out_step] = joined_run<Op>(x + k * args.step, args.n, Of::template fill<Op, T>,
                                                [](Vec<T> v) MERCER_STEP { return Of::of(v); });
}

template <class Op, class Of, class T>
void columns(const cpu::ReduceArgs& args) {
    const auto add = [](Vec<T> part, Vec<T> v, int64_t)
                         MERCER_STEP { return Op::join(part, Of::of(v)); };
    using Block = Columns<Op, T, true, decltype(add)>;
    alignas(64) T buffer[8 * Block::width];
    for (int64_t c = 0; c < args.count; c += Block::width) {
        const int cols = int(args.count - c < Block::width ? args.count - c : Block::width);
        Block{static_cast<const T*>(args.x) + c, args.n, args.stride, cols, add}.join(buffer);
        spread(buffer, static_cast<T*>(args.out) + c * args.out_step, args.out_step, cols);
    }
}

template <class Op, class T, class Of = Itself>
constexpr cpu::ReduceKernel both = {run<Op, Of, T>, columns<Op, Of, T>, 256};
#define MERCER_ALL(Op) \
    { both<Op, float>, both<Op, double>, both<Op, int32_t>, both<Op, int64_t> }
#define MERCER_FLOATING(Op, Of) \
    { both<Op, float, Of>, both<Op, double, Of> }

}  // namespace

extern const cpu::ReduceTable reduce_table = {
    {MERCER_ALL(SumOp), MERCER_ALL(MaxOp), MERCER_ALL(MinOp), MERCER_ALL(ProdOp),
     MERCER_FLOATING(SumOp, Magnitude), MERCER_FLOATING(SumOp, Squared),
     MERCER_FLOATING(MaxOp, Magnitude)}};

}  // namespace mercer::MERCER_ISA
