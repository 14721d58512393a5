// out = a where the mask is set, else b: by bits and without a branch, which a mask would often mislead. Plain loops, which
// the compiler vectorises. Memory traffic: each operand once, each result once.
#include "engine/cpu/choice_table.h"
#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA {
namespace {

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

}  // namespace

extern const cpu::ChoiceTable choice_table = {
    {choose<uint8_t>, choose<uint16_t>, choose<uint32_t>, choose<uint64_t>}};

}  // namespace mercer::MERCER_ISA
