// The instruction sets the elementary functions are tested on.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/isa.h"
#include "math_table.h"

namespace mercer::test {

struct MathIsa {
    std::string name;
    const MathTable* table;
};

/// Every instruction set this machine runs; the best one last.
inline std::vector<MathIsa> isas() {
    std::vector<MathIsa> list{{"scalar", &scalar::math_table}};
#if defined(__aarch64__)
    list.push_back({"neon", &neon::math_table});
#elif defined(__x86_64__)
    if (is_available(Isa::scalar_fma)) list.push_back({"scalar_fma", &scalar_fma::math_table});
    if (is_available(Isa::avx2)) list.push_back({"avx2", &avx2::math_table});
    if (is_available(Isa::avx512)) list.push_back({"avx512", &avx512::math_table});
#endif
    return list;
}

template <class T>
const MathKernel<T>* kernels(const MathTable& table) {
    if constexpr (sizeof(T) == 4)
        return table.f32;
    else
        return table.f64;
}

/// Equal bits, or NaN both.
template <class T>
bool same(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

}  // namespace mercer::test
