// The compiler's vector type of T over one machine register of MERCER_REGISTER_BYTES (set by
// avx2.h, avx512.h, neon.h).
#pragma once

#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA::native {

template <class T>
struct RegisterOf;
#define MERCER_REGISTER(T)                                                  \
    template <>                                                             \
    struct RegisterOf<T> {                                                  \
        typedef T type __attribute__((vector_size(MERCER_REGISTER_BYTES))); \
    };
MERCER_REGISTER(float)
MERCER_REGISTER(double)
MERCER_REGISTER(int32_t)
MERCER_REGISTER(int64_t)
MERCER_REGISTER(uint32_t)
MERCER_REGISTER(uint64_t)
#undef MERCER_REGISTER

template <class T>
using Register = typename RegisterOf<T>::type;
template <class T>
using MaskRegister = Register<typename IntOf<T>::type>;
template <class T>
using Wrapping = Register<Unsigned<T>>;

/// The same bits as another type.
template <class To, class R>
MERCER_INLINE Register<To> as(R v) {
    return reinterpret_cast<Register<To>>(v);
}
template <class T>
MERCER_INLINE Register<T> load(const T* p) {
    Register<T> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
MERCER_INLINE void store(T* p, Register<T> v) {
    __builtin_memcpy(p, &v, sizeof v);
}

}  // namespace mercer::MERCER_ISA::native
