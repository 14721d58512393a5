// Σ, max and min over runs and over columns, in the canonical order, whatever the layout.
#include "engine/cpu/canonical.h"
#include "engine/cpu/reduce_table.h"

namespace mercer::MERCER_ISA {
namespace {

template <class Op, class T>
void run(const void* from, int64_t n, void* out) {
    const T* x = static_cast<const T*>(from);
    Canonical<T, Op> acc;
    canonical_for(
        acc, n, [&](Vec<T> & part, int64_t i, int count) __attribute__((always_inline)) {
            const Vec<T> v = count == Vec<T>::lanes
                                 ? Vec<T>::load(x + i)
                                 : Vec<T>::load(x + i, count, Op::template identity<T>);
            part = Op::join(part, v);
        });
    *static_cast<T*>(out) = acc.total();
}

// 64 lanes for a block of columns stay in the first-level cache while rows stream by.
template <class Op, class T>
void columns(const void* from, int64_t n, int64_t stride, int64_t width, void* out) {
    constexpr int lanes = Vec<T>::lanes, block = int(256 / sizeof(T));
    alignas(64) T acc[canonical_lanes * block];
    const int used = int(n < canonical_lanes ? n : canonical_lanes);
    for (int64_t c0 = 0; c0 < width; c0 += block) {
        const int cols = int(width - c0 < block ? width - c0 : block);
        const T* x = static_cast<const T*>(from) + c0;
        for (int i = 0; i < (used ? used : 1) * block; ++i) acc[i] = Op::template identity<T>;
        for (int64_t i = 0; i < n; ++i) {
            T* lane = acc + (i % canonical_lanes) * block;
            const T* row = x + i * stride;
            int c = 0;
            for (; c + lanes <= cols; c += lanes)
                Op::join(Vec<T>::load(lane + c), Vec<T>::load(row + c)).store(lane + c);
            if (c < cols)
                Op::join(Vec<T>::load(lane + c),
                         Vec<T>::load(row + c, cols - c, Op::template identity<T>))
                    .store(lane + c);
        }
        for (int half = canonical_lanes / 2; half >= 1; half /= 2)
            for (int j = 0; j + half < used && j < half;
                 ++j)  // lanes from `used` on hold the identity
                for (int c = 0; c < block; c += lanes)
                    Op::join(Vec<T>::load(acc + j * block + c),
                             Vec<T>::load(acc + (j + half) * block + c))
                        .store(acc + j * block + c);
        T* to = static_cast<T*>(out) + c0;
        for (int c = 0; c < cols; ++c) to[c] = acc[c];
    }
}

}  // namespace

extern const cpu::ReduceTable reduce_table;
const cpu::ReduceTable reduce_table = {{{run<SumOp, float>, run<SumOp, double>},
                                        {run<MaxOp, float>, run<MaxOp, double>},
                                        {run<MinOp, float>, run<MinOp, double>}},
                                       {{columns<SumOp, float>, columns<SumOp, double>},
                                        {columns<MaxOp, float>, columns<MaxOp, double>},
                                        {columns<MinOp, float>, columns<MinOp, double>}}};

}  // namespace mercer::MERCER_ISA
