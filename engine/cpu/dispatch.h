// Run-time choice among the copies of a kernel table, one per instruction set.
//
// A kernel file, listed in mercer_kernels(...), defines `extern const Table name{...};` in
// namespace mercer::MERCER_ISA. MERCER_DISPATCH(Table, name) in an ordinary file defines `const
// Table& name()` that picks by isa(). Of a Table<T> there are name_f32 and name_f64: MERCER_TYPED(Table, name) declares
// `const Table<T>& name<T>()`, which MERCER_DISPATCH_TYPED in one file completes. All in namespace mercer.
#pragma once

#include <type_traits>

#include "engine/isa.h"

// The copies of a table that there are, and which one is isa()'s.
#define MERCER_COPY(set, Table, name) \
    namespace set {                   \
    extern const Table name;          \
    }
#if defined(__x86_64__)
#define MERCER_COPIES(...)               \
    MERCER_COPY(scalar, __VA_ARGS__)     \
    MERCER_COPY(scalar_fma, __VA_ARGS__) \
    MERCER_COPY(avx2, __VA_ARGS__)       \
    MERCER_COPY(avx512, __VA_ARGS__)
#define MERCER_BY_ISA(name) &scalar::name, &scalar_fma::name, &avx2::name, &avx512::name, nullptr
#elif defined(__aarch64__)
#define MERCER_COPIES(...) MERCER_COPY(scalar, __VA_ARGS__) MERCER_COPY(neon, __VA_ARGS__)
#define MERCER_BY_ISA(name) &scalar::name, nullptr, nullptr, nullptr, &neon::name
#else
#define MERCER_COPIES(...) MERCER_COPY(scalar, __VA_ARGS__)
#define MERCER_BY_ISA(name) &scalar::name
#endif
#define MERCER_DISPATCH(Table, name)                                    \
    MERCER_COPIES(Table, name)                                          \
    const Table& name() {                                               \
        static constexpr const Table* tables[] = {MERCER_BY_ISA(name)}; \
        return *tables[int(::mercer::isa())];                           \
    }

#define MERCER_DISPATCH_TYPED(Table, name)    \
    MERCER_DISPATCH(Table<float>, name##_f32) \
    MERCER_DISPATCH(Table<double>, name##_f64)
#define MERCER_TYPED(Table, name)                                   \
    const Table<float>& name##_f32();                               \
    const Table<double>& name##_f64();                              \
    template <class T>                                              \
    const Table<T>& name() {                                        \
        return ::mercer::cpu::of_type<T>(name##_f32, name##_f64)(); \
    }

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
