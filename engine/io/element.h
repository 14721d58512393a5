// Element types as files have them, and how they become tensors.
#pragma once

#include <optional>
#include <string_view>

#include "engine/io/file.h"
#include "engine/tensor.h"

namespace mercer::io {

// Name in safetensors, bits, and the tensor's type (`none` where there is none, even by widening).
#define MERCER_ELEMENTS(X)                                                                    \
    X(BOOL, 8, boolean)                                                                       \
    X(F4, 4, none)                                                                            \
    X(F6_E2M3, 6, none)                                                                       \
    X(F6_E3M2, 6, none)                                                                       \
    X(U8, 8, i32) X(I8, 8, i32) X(F8_E5M2, 8, none) X(F8_E4M3, 8, none) X(F8_E8M0, 8, none)   \
        X(F8_E4M3FNUZ, 8, none) X(F8_E5M2FNUZ, 8, none) X(I16, 16, i32) X(U16, 16, i32)       \
            X(F16, 16, f32) X(BF16, 16, bf16) X(I32, 32, i32) X(U32, 32, i64) X(F32, 32, f32) \
                X(C64, 64, none) X(F64, 64, f64) X(I64, 64, i64) X(U64, 64, none)

#define MERCER_ONE(name, bits, dtype) name,
enum class Element : uint8_t { MERCER_ELEMENTS(MERCER_ONE) };
#undef MERCER_ONE

MERCER_API std::string_view name_of(Element element);
MERCER_API std::optional<Element> element_named(std::string_view name);
MERCER_API int bits_of(Element element);
/// The element type a file gets for a tensor's.
MERCER_API Element element_of(DType dtype);
/// What reading gives; nothing where no tensor holds these values (or only with `widen`).
MERCER_API std::optional<DType> dtype_of_element(Element element, bool widen);

/// Bits that elements of this shape fill. nullopt where the number does not fit int64: also when a
/// size is 0, for strides are products of the other sizes.
MERCER_API std::optional<int64_t> packed_bits(Element element, std::span<const int64_t> shape);

/// The row-major elements at `offset`, `swap`ped where the file is big-endian. Throws Rejected naming
/// `field`: an element type or rank that tensors lack, a byte of a BOOL that is neither 0 nor 1.
/// Maps instead of copying where the options ask for it and type, order and alignment allow it.
Tensor load_elements(const std::shared_ptr<const File>& file, std::string_view field,
                     Element element, std::span<const int64_t> shape, uint64_t offset, bool swap,
                     const ReadOptions& options);

}  // namespace mercer::io
