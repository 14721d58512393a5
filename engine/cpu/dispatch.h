// Run-time choice among the copies of a kernel table, one per instruction set.
//
// A kernel file, listed in mercer_kernels(...), defines `extern const Table name{...};` in
// namespace mercer::MERCER_ISA. MERCER_DISPATCH(Table, name) in an ordinary file defines `const
// Table& name()` that picks by isa().
#pragma once

#include "engine/isa.h"

#if defined(__x86_64__)
#define MERCER_DISPATCH(Table, name)                                                             \
    namespace scalar {                                                                           \
    extern const Table name;                                                                     \
    }                                                                                            \
    namespace scalar_fma {                                                                       \
    extern const Table name;                                                                     \
    }                                                                                            \
    namespace avx2 {                                                                             \
    extern const Table name;                                                                     \
    }                                                                                            \
    namespace avx512 {                                                                           \
    extern const Table name;                                                                     \
    }                                                                                            \
    const Table& name() {                                                                        \
        static constexpr const Table* tables[] = {&scalar::name, &scalar_fma::name, &avx2::name, \
                                                  &avx512::name, nullptr};                       \
        return *tables[int(::mercer::isa())];                                                    \
    }
#elif defined(__aarch64__)
#define MERCER_DISPATCH(Table, name)                                                        \
    namespace scalar {                                                                      \
    extern const Table name;                                                                \
    }                                                                                       \
    namespace neon {                                                                        \
    extern const Table name;                                                                \
    }                                                                                       \
    const Table& name() {                                                                   \
        static constexpr const Table* tables[] = {&scalar::name, nullptr, nullptr, nullptr, \
                                                  &neon::name};                             \
        return *tables[int(::mercer::isa())];                                               \
    }
#else
#define MERCER_DISPATCH(Table, name) \
    namespace scalar {               \
    extern const Table name;         \
    }                                \
    const Table& name() { return scalar::name; }
#endif
