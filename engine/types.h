// Element types, devices and shapes: what a tensor's layout is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/bfloat16.h"
#include "engine/export.h"

namespace mercer {

/// bf16 is for storage: operations that compute refuse it; cast says how it converts.
enum class DType : uint8_t { f32, f64, i32, i64, boolean, bf16 };
inline constexpr int dtypes = 6;

constexpr size_t size_of(DType t) {
    constexpr size_t sizes[] = {4, 8, 4, 8, 1, 2};
    return sizes[size_t(t)];
}
constexpr std::string_view name_of(DType t) {
    constexpr std::string_view names[] = {"f32", "f64", "i32", "i64", "bool", "bf16"};
    return names[size_t(t)];
}
constexpr bool is_floating(DType t) { return t == DType::f32 || t == DType::f64; }
/// What cotangents of values of this type are: f32 for bf16, whose rounding counts as the identity.
constexpr DType gradient_dtype(DType t) { return t == DType::bf16 ? DType::f32 : t; }
/// Throws DTypeError; nullptr: names the operation that runs.
[[noreturn]] MERCER_API void refuse_bf16(const char* operation = nullptr);

template <class T>
constexpr DType dtype_of = std::is_same_v<T, double>     ? DType::f64
                           : std::is_same_v<T, int32_t>  ? DType::i32
                           : std::is_same_v<T, int64_t>  ? DType::i64
                           : std::is_same_v<T, bool>     ? DType::boolean
                           : std::is_same_v<T, BFloat16> ? DType::bf16
                                                         : DType::f32;

/// Calls f with a value of the C++ type behind `t`: visit(t, [](auto x) { using T = decltype(x); …
/// }). Refuses bf16.
template <class F>
decltype(auto) visit(DType t, F&& f) {
    switch (t) {
        case DType::f64: return f(double{});
        case DType::i32: return f(int32_t{});
        case DType::i64: return f(int64_t{});
        case DType::boolean: return f(bool{});
        case DType::bf16: refuse_bf16();
        case DType::f32: break;
    }
    return f(float{});
}
/// The same with BFloat16.
template <class F>
decltype(auto) visit_stored(DType t, F&& f) {
    return t == DType::bf16 ? f(BFloat16{}) : visit(t, f);
}
/// The same for what is f64 or else f32.
template <class F>
decltype(auto) visit_floating(DType t, F&& f) {
    return t == DType::f64 ? f(double{}) : f(float{});
}

struct Device {
    enum class Kind : uint8_t { cpu, cuda } kind = Kind::cpu;
    uint8_t index = 0;
    friend bool operator==(Device, Device) = default;
};

/// Up to eight sizes (or strides), held inline: no heap for layout.
class MERCER_API Dims {
public:
    static constexpr int max_rank = 8;

    Dims() {}
    Dims(const Dims& other) { *this = other; }
    Dims& operator=(const Dims& other) {
        const volatile int64_t* const sizes = other.sizes_.data();  // a wider load waits for stores
        for (int i = 0; i < other.rank_; ++i) sizes_[size_t(i)] = sizes[i];
        rank_ = other.rank_;
        return *this;
    }
    /// Throws ShapeError above rank 8.
    Dims(std::initializer_list<int64_t> sizes) : Dims(std::span(sizes.begin(), sizes.size())) {}
    explicit Dims(std::span<const int64_t> sizes);
    static Dims filled(int rank, int64_t value);

    int rank() const { return rank_; }
    int64_t operator[](int axis) const { return sizes_[size_t(axis)]; }
    int64_t& operator[](int axis) { return sizes_[size_t(axis)]; }
    const int64_t* begin() const { return sizes_.data(); }
    const int64_t* end() const { return sizes_.data() + rank_; }
    int64_t back() const { return sizes_[size_t(rank_ - 1)]; }
    /// The axes [begin, end).
    Dims part(int begin, int end) const {
        return Dims(std::span(sizes_.data() + begin, size_t(end - begin)));
    }
    void push_back(int64_t size) {
        if (rank_ == max_rank) [[unlikely]]
            refuse_rank(max_rank + 1);
        sizes_[size_t(rank_++)] = size;
    }
    void erase(int axis);
    friend bool operator==(const Dims& a, const Dims& b) {
        if (a.rank_ != b.rank_) return false;
        for (int i = 0; i < a.rank_; ++i)
            if (a[i] != b[i]) return false;
        return true;
    }

private:
    [[noreturn]] static void refuse_rank(size_t rank);

    std::array<int64_t, max_rank> sizes_;
    int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

/// Number of elements; 1 for rank 0.
inline int64_t count(const Shape& shape) {
    int64_t n = 1;
    for (int64_t size : shape) n *= size;
    return n;
}
/// The axes of one, then those of the other.
MERCER_API Dims joined(Dims first, const Dims& then);
/// Row-major strides, in elements.
MERCER_API Strides contiguous_strides(const Shape& shape);
/// "(8,64)".
MERCER_API std::string to_string(const Dims& dims);
/// "f32(2,3)".
MERCER_API std::string to_string(DType dtype, const Dims& shape);

}  // namespace mercer
