#include "engine/io/element.h"

#include <bit>
#include <cstring>

namespace mercer::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the formats' bytes are the tensor's");

struct Row {
    std::string_view name;
    int bits;
    std::optional<DType> dtype;
};
constexpr std::optional<DType> none, f32 = DType::f32, f64 = DType::f64, i32 = DType::i32,
                                     i64 = DType::i64, boolean = DType::boolean, bf16 = DType::bf16;
#define MERCER_ONE(name, bits, dtype) Row{#name, bits, dtype},
constexpr Row rows[] = {MERCER_ELEMENTS(MERCER_ONE)};
#undef MERCER_ONE

// IEEE binary16: a subnormal is m·2⁻²⁴, which f32 holds exactly; NaNs keep their payload.
float from_half(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
                   fraction = bits & 1023;
    if (exponent == 0) {
        const float magnitude = float(fraction) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    const uint32_t wide = exponent == 31 ? 255 : exponent + 112;  // the biases: 127 - 15
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// n values of type From lie at the end of `out`, which holds n of type To: forwards, no value is
// overwritten before it is read.
template <class From, class To, class F>
void widen_in_place(std::byte* out, size_t n, F&& convert) {
    const std::byte* from = out + n * (sizeof(To) - sizeof(From));
    for (size_t i = 0; i < n; ++i) {
        From narrow;
        std::memcpy(&narrow, from + i * sizeof(From), sizeof(From));
        const To wide = convert(narrow);
        std::memcpy(out + i * sizeof(To), &wide, sizeof(To));
    }
}

void widen(Element element, std::byte* out, size_t n) {
    constexpr auto same = [](auto x) { return x; };
    switch (element) {
        case Element::U8: return widen_in_place<uint8_t, int32_t>(out, n, same);
        case Element::I8: return widen_in_place<int8_t, int32_t>(out, n, same);
        case Element::U16: return widen_in_place<uint16_t, int32_t>(out, n, same);
        case Element::I16: return widen_in_place<int16_t, int32_t>(out, n, same);
        case Element::U32: return widen_in_place<uint32_t, int64_t>(out, n, same);
        case Element::F16: return widen_in_place<uint16_t, float>(out, n, from_half);
        default: break;  // the same type in the tensor
    }
}

void swap_bytes(std::byte* data, size_t n, size_t width) {
    for (size_t i = 0; i < n; ++i, data += width)
        for (size_t a = 0, b = width - 1; a < b; ++a, --b) std::swap(data[a], data[b]);
}

}  // namespace

std::string_view name_of(Element element) { return rows[size_t(element)].name; }
int bits_of(Element element) { return rows[size_t(element)].bits; }

std::optional<Element> element_named(std::string_view name) {
    for (size_t i = 0; i < std::size(rows); ++i)
        if (rows[i].name == name) return Element(i);
    return std::nullopt;
}

Element element_of(DType dtype) {
    constexpr Element elements[] = {Element::F32, Element::F64,  Element::I32,
                                    Element::I64, Element::BOOL, Element::BF16};
    return elements[size_t(dtype)];
}

std::optional<DType> dtype_of_element(Element element, bool widen) {
    const std::optional<DType> dtype = rows[size_t(element)].dtype;
    return dtype && (widen || element_of(*dtype) == element) ? dtype : std::nullopt;
}

std::optional<int64_t> packed_bits(Element element, std::span<const int64_t> shape) {
    int64_t bits = bits_of(element);
    bool is_empty = false;
    for (int64_t size : shape) {
        is_empty |= size == 0;
        if (__builtin_mul_overflow(bits, size ? size : 1, &bits)) return std::nullopt;
    }
    return is_empty ? 0 : bits;
}

Tensor load_elements(const std::shared_ptr<const File>& file, std::string_view field,
                     Element element, std::span<const int64_t> shape, uint64_t offset, bool swap,
                     const ReadOptions& options) {
    const auto reject = [&](Reject code, const auto&... what) {
        file->reject(code, field, offset, what...);
    };
    const std::optional<DType> dtype = dtype_of_element(element, options.widen);
    if (!dtype) {
        const auto wide = dtype_of_element(element, true);
        reject(Reject::unsupported_dtype, "no tensor holds elements of type ", element,
               wide ? shown("; ReadOptions::widen converts them to ", *wide)
                    : "; convert the file to one of BOOL, I32, I64, F32, F64, BF16");
    }
    if (shape.size() > size_t(Shape::max_rank))
        reject(Reject::unsupported_rank, "rank ", shape.size(),
               " is above a tensor's limit of 8; reshape it");
    const Shape sizes(shape);
    const size_t n = size_t(count(sizes)), width = size_t(bits_of(element)) / 8;
    const auto check_bools = [&](const std::byte* data) {
        if (element != Element::BOOL) return;
        for (size_t i = 0; i < n; ++i)
            if (data[i] > std::byte{1})
                file->reject(Reject::not_a_bool, field, offset + i, "byte ", int(data[i]),
                             " is neither 0 nor 1; store it as U8, or mend the writer");
    };
    if (std::byte* const pages = file->mapping(); pages && n && !swap && width == size_of(*dtype)) {
        std::byte* const data = pages + offset;
        if (reinterpret_cast<uintptr_t>(data) % width == 0) {  // else a copy is aligned
            check_bools(data);
            return Tensor::wrap(data, sizes, *dtype, [file] {});
        }
    }
    Tensor t = Tensor::empty(sizes, *dtype);
    auto* const out = static_cast<std::byte*>(t.raw());
    std::byte* const packed = out + n * (size_of(*dtype) - width);
    file->read(offset, packed, n * width);
    if (swap) swap_bytes(packed, n, width);
    check_bools(packed);
    widen(element, out, n);
    return t;
}

}  // namespace mercer::io
