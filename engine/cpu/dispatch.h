// Run-time choice among the copies of a kernel table, one per instruction set.
//
// A kernel file, listed in mercer_kernels(...), defines `extern const Table name{...};` in
// namespace mercer::MERCER_ISA. MERCER_DISPATCH(Table, name) in an ordinary file defines `const
// Table& name()` that picks by isa().
#pragma once

#include <type_traits>

#include "engine/isa.h"

#define MERCER_TABLE_OF(set, Table, name) \
    namespace set {                       \
    extern const Table name;              \
    }
#if defined(__x86_64__)
#define MERCER_DISPATCH(Table, name)                                                             \
    MERCER_TABLE_OF(scalar, Table, name)                                                         \
    MERCER_TABLE_OF(scalar_fma, Table, name)                                                     \
    MERCER_TABLE_OF(avx2, Table, name)                                                           \
    MERCER_TABLE_OF(avx512, Table, name)                                                         \
    const Table& name() {                                                                        \
        static constexpr const Table* tables[] = {&scalar::name, &scalar_fma::name, &avx2::name, \
                                                  &avx512::name, nullptr};                       \
        return *tables[int(::mercer::isa())];                                                    \
    }
#elif defined(__aarch64__)
#define MERCER_DISPATCH(Table, name)                                                        \
    MERCER_TABLE_OF(scalar, Table, name)                                                    \
    MERCER_TABLE_OF(neon, Table, name)                                                      \
    const Table& name() {                                                                   \
        static constexpr const Table* tables[] = {&scalar::name, nullptr, nullptr, nullptr, \
                                                  &neon::name};                             \
        return *tables[int(::mercer::isa())];                                               \
    }
#else
#define MERCER_DISPATCH(Table, name)     \
    MERCER_TABLE_OF(scalar, Table, name) \
    const Table& name() { return scalar::name; }
#endif

namespace mercer::cpu {

/// Of two tables, or of what names them, the one for T.
template <class T, class F32, class F64>
constexpr const auto& of_type(const F32& f32, const F64& f64) {
    if constexpr (std::is_same_v<T, float>)
        return f32;
    else
        return f64;
}

}  // namespace mercer::cpu
