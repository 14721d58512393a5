#include "engine/random.h"

#include <algorithm>
#include <limits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/random_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"
#include "engine/philox.h"

namespace mercer {

MERCER_DISPATCH(cpu::RandomTable, random_table)

namespace {

template <class Kernel>
Tensor filled(const char* name, const Shape& shape, DType dtype, Kernel kernel) {
    const OperationScope scope(name);
    if (!is_floating(dtype)) throw DTypeError(name, "makes f32 and f64, not ", dtype);
    Tensor out = Tensor::empty(shape, dtype);
    const int64_t n = out.count(), blocks = (n + cpu::random_block - 1) / cpu::random_block;
    parallel_for(blocks, grain_for(cpu::random_block * 4), [&](int64_t first, int64_t last) {
        const int64_t begin = first * cpu::random_block,
                      end = std::min(n, last * cpu::random_block);
        kernel(static_cast<char*>(out.raw()) + begin * int64_t(size_of(dtype)), begin, end - begin);
    });
    return out;
}

/// Block `index` of a key's sequence.
std::array<uint32_t, 4> words_of(uint64_t index, Key key) {
    return philox(
        {uint32_t(index), uint32_t(index >> 32), uint32_t(key.stream), uint32_t(key.stream >> 32)},
        {uint32_t(key.seed), uint32_t(key.seed >> 32)});
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    const MERCER_ISA::Philox p(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    return {p.c[0], p.c[1], p.c[2], p.c[3]};
}

Key Key::split(uint64_t part) const {
    const auto words = words_of(part, {seed ^ 0x5EED5EEDu, stream});
    return {seed ^ ((uint64_t(words[1]) << 32) | words[0]), (uint64_t(words[3]) << 32) | words[2]};
}

Tensor uniform(Key key, const Shape& shape, DType dtype, double low, double high) {
    const double most = dtype == DType::f64 ? std::numeric_limits<double>::max()
                                            : std::numeric_limits<float>::max();
    const bool fits = std::max({-low, high, high - low}) <= most;
    if (!(low < high) || (!fits && is_floating(dtype) && count(shape) > 0))
        throw ValueError("uniform",
                         "needs low < high, both and their distance within the dtype's range, got ",
                         low, " and ", high);
    return filled("uniform", shape, dtype, [&](void* out, int64_t begin, int64_t n) {
        random_table().uniform[dtype == DType::f64](out, begin, n, key.seed, key.stream, low, high);
    });
}

Tensor randn(Key key, const Shape& shape, DType dtype) {
    return filled("randn", shape, dtype, [&](void* out, int64_t begin, int64_t n) {
        random_table().normal[dtype == DType::f64](out, begin, n, key.seed, key.stream);
    });
}

// In the order of draws of 64 bits, which their upper halves all but settle: argsort's items are then half as long.
Tensor permutation(Key key, int64_t n) {
    constexpr int64_t half = cpu::random_block / 2;
    const Tensor draws = Tensor::empty({n}, DType::i32);
    auto* const to = static_cast<int32_t*>(draws.raw());
    parallel_for((n + half - 1) / half, 32, [&](int64_t first, int64_t last) {
        double u[2 * half];  // of each Philox block the upper 53 bits of the draw, and of the rest
        for (int64_t i = first * half; i < std::min(n, last * half); i += half) {
            const int64_t count = std::min(half, n - i);
            random_table().uniform[1](u, 2 * i, 2 * count, key.seed, key.stream, 0, 1);
            // Unsigned, in the order of signed ones.
            for (int64_t k = 0; k < count; ++k)
                to[i + k] = int32_t(int64_t(u[2 * k] * 0x1p32) - (int64_t(1) << 31));
        }
    });
    const auto lower = [key](int64_t i) { return words_of(uint64_t(i), key)[0]; };
    const auto [upper, order] = sort(draws);
    const auto* const level = static_cast<const int32_t*>(upper.raw());
    auto* const at = static_cast<int64_t*>(order.raw());
    for (int64_t i = 0, end = 0; i < n; i = end) {
        while (end < n && level[end] == level[i]) ++end;
        if (end - i > 1)
            std::stable_sort(at + i, at + end,
                             [&](int64_t a, int64_t b) { return lower(a) < lower(b); });
    }
    return order;
}

}  // namespace mercer
