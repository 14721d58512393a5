#include <algorithm>
#include <vector>

#include "attention/smoother/placed.h"
#include "engine/cpu/random_table.h"
#include "engine/scratch.h"

namespace mercer {

namespace attention {
namespace {

template <class T>
void factors(const WeightDropout& dropout, int64_t begin, int64_t n, T* out) {
    // Random numbers come in blocks: from the one that `begin` is in.
    const int64_t before = begin % cpu::random_block;
    Scratch scratch;
    T* const x = scratch.take<T>(before + n);
    std::fill_n(x, before + n, T(1));
    random_table().dropout[sizeof(T) == 8](x, x, begin - before, before + n, dropout.key.seed,
                                           dropout.key.stream, dropout.rate, false);
    std::copy_n(x + before, n, out);
}

}  // namespace

void keep_factors(const WeightDropout& dropout, int64_t begin, int64_t n, float* out) {
    factors(dropout, begin, n, out);
}
void keep_factors(const WeightDropout& dropout, int64_t begin, int64_t n, double* out) {
    factors(dropout, begin, n, out);
}

}  // namespace attention
}  // namespace mercer
