// A tensor: a typed, strided view of a storage. Cheap to copy; views share memory; operations
// return new values.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "engine/storage.h"
#include "engine/types.h"

namespace mercer {

class MERCER_API Tensor {
public:
    /// No tensor at all: operations refuse it (ValueError) but for operands that may be absent.
    Tensor() {}  // not defaulted: that would fill what nobody reads with zeros

    // ---- making one -------------------------------------------------------------------------
    /// Uninitialised. Throws ShapeError for negative or overflowing sizes, MemoryError.
    static Tensor empty(const Shape& shape, DType dtype = DType::f32);
    static Tensor zeros(const Shape& shape, DType dtype = DType::f32) {
        return full(shape, 0.0, dtype);
    }
    static Tensor ones(const Shape& shape, DType dtype = DType::f32) {
        return full(shape, 1.0, dtype);
    }
    /// Integers as cast makes them.
    static Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
    /// Rank 0.
    static Tensor scalar(double value, DType dtype = DType::f32) { return full({}, value, dtype); }
    /// first, first + step, …: `n` values.
    static Tensor arange(int64_t n, DType dtype = DType::f32, double first = 0, double step = 1);
    /// `n` values evenly from first to last, both included (n = 1: first). Floating dtypes: DTypeError.
    static Tensor linspace(double first, double last, int64_t n, DType dtype = DType::f32);
    /// 1 on the diagonal, (rows, columns); columns = −1: square.
    static Tensor eye(int64_t rows, int64_t columns = -1, DType dtype = DType::f32);
    /// A copy of `values`, which must fill `shape`.
    template <class T>
    static Tensor from(std::span<const T> values, const Shape& shape) {
        return copy_of(values.data(), int64_t(values.size()), shape, dtype_of<T>);
    }
    template <class T>
    static Tensor from(const std::vector<T>& values, const Shape& shape) {
        return from(std::span<const T>(values), shape);
    }
    template <class T>
    static Tensor from(const std::vector<T>& values) {
        return from(values, {int64_t(values.size())});
    }
    static Tensor from(std::initializer_list<float> values) {
        return from(values, {int64_t(values.size())});
    }
    static Tensor from(std::initializer_list<float> values, const Shape& shape) {
        return from(std::span<const float>(values.begin(), values.size()), shape);
    }
    /// The host's memory, row-major, without a copy; `release` is called once no tensor uses it (not if this throws).
    static Tensor wrap(void* data, const Shape& shape, DType dtype, std::function<void()> release);

    // ---- what it is -------------------------------------------------------------------------
    bool defined() const { return bool(storage_); }
    const Shape& shape() const { return shape_; }
    const Strides& strides() const { return strides_; }
    int rank() const { return shape_.rank(); }
    /// Size along `axis`; negative axes count from the end. Throws ShapeError.
    int64_t size(int axis) const;
    int64_t count() const { return mercer::count(shape_); }
    DType dtype() const { return dtype_; }
    Device device() const { return held().device; }
    bool is_contiguous() const;
    /// Whether an axis repeats its elements (stride 0).
    bool is_expanded() const;

    // ---- elements ---------------------------------------------------------------------------
    /// The first element; strides() say where the others are. Throws DTypeError unless T is
    /// dtype().
    template <class T>
    const T* data() const {
        require_dtype(dtype_of<T>);
        return static_cast<const T*>(raw());
    }
    /// The same for writing in place: InPlaceError on an expanded view; bumps the storage's
    /// version.
    template <class T>
    T* mutable_data() {
        require_dtype(dtype_of<T>);
        before_write();
        return static_cast<T*>(raw());
    }
    /// The only element, converted. Throws ShapeError when there are more.
    template <class T>
    T item() const {
        return T(item_as_double());
    }
    /// All elements in row-major order, converted to T.
    template <class T>
    std::vector<T> to_vector() const;
    /// "f32(2,3) [[1, 2, 3], [4, 5, 6]]", shortened when long.
    std::string to_string() const;

    // ---- views (no copy) --------------------------------------------------------------------
    /// Element i at offset + Σ i_k·strides_k; the caller vouches that all are within the storage.
    Tensor view(const Shape& shape, const Strides& strides, int64_t offset) const;
    /// Itself if row-major, else a row-major copy.
    Tensor contiguous() const;
    /// A row-major copy in memory of its own.
    Tensor clone() const;

    // ---- in place ---------------------------------------------------------------------------
    Tensor& fill(double value);
    /// Copies these elements into `target` (same shape and dtype).
    void copy_to(Tensor& target) const;

    // ---- for the engine ---------------------------------------------------------------------
    void* raw() const {
        return static_cast<char*>(held().data) + offset_ * int64_t(size_of(dtype_));
    }
    int64_t offset() const { return offset_; }
    const StorageRef& storage() const { return storage_; }
    uint32_t version() const { return held().version.load(std::memory_order_relaxed); }
    void before_write();
    /// ValueError naming the operation unless defined().
    void require_defined(const char* operation) const {
        if (!storage_) [[unlikely]]
            refuse_undefined(operation);
    }

private:
    static Tensor copy_of(const void* data, int64_t n, const Shape& shape, DType dtype);
    void require_dtype(DType wanted) const;
    [[noreturn]] static void refuse_undefined(const char* operation);
    /// Whatever reads elements comes here: an operand that is no tensor at all is found at the latest here.
    Storage& held() const {
        require_defined(nullptr);
        return *storage_.operator->();
    }
    double item_as_double() const;

    StorageRef storage_;
    Shape shape_;
    Strides strides_;
    int64_t offset_ = 0;
    DType dtype_ = DType::f32;
};

static_assert(sizeof(Tensor) <= 168, "a tensor stays cheap to copy");

/// Operands by reference: a call copies none. They outlive it.
class TensorRefs {
public:
    TensorRefs(std::span<const Tensor* const> tensors) : tensors_(tensors) {}
    /// Of the expression it stands in.
    TensorRefs(std::initializer_list<const Tensor*> tensors)
        : tensors_(tensors.begin(), tensors.size()) {}
    const Tensor& operator[](size_t i) const { return *tensors_[i]; }
    size_t size() const { return tensors_.size(); }
    /// Without the first ones.
    TensorRefs after(size_t count) const { return tensors_.subspan(count); }
    std::span<const Tensor* const> pointers() const { return tensors_; }

    struct Iterator {
        const Tensor* const* at;
        const Tensor& operator*() const { return **at; }
        Iterator& operator++() { return ++at, *this; }
        bool operator==(const Iterator&) const = default;
    };
    Iterator begin() const { return {tensors_.data()}; }
    Iterator end() const { return {tensors_.data() + size()}; }

private:
    std::span<const Tensor* const> tensors_;
};

/// A pointer to each.
template <class X>
std::vector<const X*> pointers_to(std::span<const X> xs) {
    std::vector<const X*> out(xs.size());
    for (size_t i = 0; i < xs.size(); ++i) out[i] = &xs[i];
    return out;
}

/// `axis` in [0, rank), negative ones counted from the end. Throws ShapeError naming `operation`.
MERCER_API int normal_axis(const char* operation, int axis, int rank);
/// The number of elements. ShapeError for negative sizes and beyond 64 bits.
MERCER_API int64_t require_shape(const char* operation, const Shape& shape);

}  // namespace mercer
