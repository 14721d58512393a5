#include "engine/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "engine/cpu/copy.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer {
namespace {

void write_elements(std::ostringstream& out, const std::vector<double>& values, const Shape& shape,
                    int axis, int64_t& next) {
    if (axis == shape.rank()) return void(out << values[size_t(next++)]);
    out << '[';
    for (int64_t i = 0; i < shape[axis]; ++i) {
        if (i) out << ", ";
        write_elements(out, values, shape, axis + 1, next);
    }
    out << ']';
}

/// The elements of a shape and the strides of dense ones, in one pass: most tensors are small.
int64_t lay_out(const char* operation, const Shape& shape, Strides& strides) {
    strides = shape;
    int64_t n = 1;
    bool none = false;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        const int64_t size = shape[i];
        if (size < 0) throw ShapeError(operation, "negative size in ", shape);
        none |= size == 0;  // strides are to be had all the same
        strides[i] = n;
        if (__builtin_mul_overflow(n, size + (size == 0), &n))
            throw ShapeError(operation, "too many elements in ", shape);
    }
    return none ? 0 : n;
}

/// Of dense elements, whose strides are set.
size_t lay_out(const char* operation, const Shape& shape, DType dtype, Strides& strides) {
    int64_t bytes;
    if (__builtin_mul_overflow(lay_out(operation, shape, strides), int64_t(size_of(dtype)), &bytes))
        throw ShapeError(operation, "too many bytes in ", shape);
    return size_t(bytes);
}

}  // namespace

int normal_axis(const char* operation, int axis, int rank) {
    const int normal = axis < 0 ? axis + rank : axis;
    if (normal < 0 || normal >= rank)
        throw ShapeError(operation, "axis ", axis, " is out of range for rank ", rank);
    return normal;
}

int64_t require_shape(const char* operation, const Shape& shape) {
    Strides strides;
    return lay_out(operation, shape, strides);
}
Strides contiguous_strides(const Shape& shape) {
    Strides strides;
    lay_out(OperationScope::current("contiguous_strides"), shape, strides);
    return strides;
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
    Tensor t;
    t.storage_ =
        StorageRef::allocate(lay_out(OperationScope::current("empty"), shape, dtype, t.strides_));
    t.shape_ = shape;
    t.dtype_ = dtype;
    if (instruments::on()) [[unlikely]]
        instruments::made(t);
    return t;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
    if (!is_floating(dtype) && !(std::fabs(value) < 0x1p31))
        return cast(full(shape, value, DType::f64), dtype);  // which saturates
    Tensor t = empty(shape, dtype);
    if (t.count() > 1 << 14) {  // on all threads
        cpu::copy(t, full({}, value, dtype).view(shape, Strides::filled(shape.rank(), 0), 0));
        return t;
    }
    visit_stored(dtype, [&]<class T>(T) {
        const T x = T(value);
        std::fill_n(static_cast<T*>(t.raw()), t.count(), x);
    });
    return t;
}

Tensor Tensor::arange(int64_t n, DType dtype, double first, double step) {
    Tensor t = empty({n}, dtype);
    visit_stored(dtype, [&]<class T>(T) {
        T* p = static_cast<T*>(t.raw());
        parallel_for(n, grain_for(1), [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) p[i] = T(first + step * double(i));
        });
    });
    return t;
}

Tensor Tensor::linspace(double first, double last, int64_t n, DType dtype) {
    if (!is_floating(dtype)) throw DTypeError("linspace", "makes f32 and f64, not ", dtype);
    Tensor t = empty({n}, dtype);
    visit_stored(dtype, [&]<class T>(T) {
        T* p = static_cast<T*>(t.raw());
        const bool far = std::isinf(last - first);  // then in halves
        const double all = far ? last / 2 - first / 2 : last - first;
        for (int64_t i = 0; i < n; ++i) {  // from the nearer end, so that both are met exactly
            const double u = n > 1 ? double(i) / double(n - 1) : 0;
            p[i] =
                T(2 * i < n ? first + (1 + far) * (u * all) : last - (1 + far) * ((1 - u) * all));
        }
    });
    return t;
}

Tensor Tensor::eye(int64_t rows, int64_t columns, DType dtype) {
    Tensor t = zeros({rows, columns < 0 ? rows : columns}, dtype);
    visit_stored(dtype, [&]<class T>(T) {
        T* p = static_cast<T*>(t.raw());
        for (int64_t i = 0; i < std::min(t.shape()[0], t.shape()[1]); ++i)
            p[i * (t.shape()[1] + 1)] = T(1);
    });
    return t;
}

Tensor Tensor::copy_of(const void* data, int64_t n, const Shape& shape, DType dtype) {
    if (n != mercer::count(shape)) throw ShapeError("from", n, " values do not fill shape ", shape);
    Tensor t = empty(shape, dtype);
    if (n) std::memcpy(t.raw(), data, size_t(n) * size_of(dtype));
    return t;
}

Tensor Tensor::wrap(void* data, const Shape& shape, DType dtype, std::function<void()> release) {
    Tensor t;
    const size_t bytes = lay_out("wrap", shape, dtype, t.strides_);
    t.storage_ = StorageRef::wrap(data, bytes, std::move(release));
    t.shape_ = shape;
    t.dtype_ = dtype;
    return t;
}

int64_t Tensor::size(int axis) const {
    return shape_[normal_axis(OperationScope::current("size"), axis, rank())];
}

bool Tensor::is_contiguous() const {
    int64_t expected = 1;
    for (int i = rank() - 1; i >= 0; --i) {
        if (shape_[i] == 0) return true;
        if (shape_[i] != 1 && strides_[i] != expected) return false;
        expected *= shape_[i];
    }
    return true;
}

bool Tensor::is_expanded() const {
    for (int i = 0; i < rank(); ++i)
        if (strides_[i] == 0 && shape_[i] > 1) return true;
    return false;
}

void Tensor::require_dtype(DType wanted) const {
    instruments::settle();
    if (dtype_ != wanted)
        throw DTypeError("data", "the tensor holds ", dtype_, ", asked for ", wanted, "; use cast");
}

void Tensor::before_write() {
    if (is_expanded())
        throw InPlaceError("write", "several indices of this expanded view ", shape_,
                           " share one element; write to its clone()");
    held().version.fetch_add(1, std::memory_order_relaxed);
}

void Tensor::refuse_undefined(const char* operation) {
    throw ValueError(operation ? operation : OperationScope::current(),
                     "an operand is undefined, a Tensor() that was given no value; "
                     "give it one, such as Tensor::zeros(…)");
}

double Tensor::item_as_double() const {
    instruments::settle();
    if (count() != 1) throw ShapeError("item", "needs exactly one element, the shape is ", shape_);
    return visit_stored(dtype_, [&]<class T>(T) { return double(*static_cast<const T*>(raw())); });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
    instruments::settle();
    const Tensor c = contiguous();
    std::vector<T> values(static_cast<size_t>(count()));
    visit_stored(dtype_, [&]<class S>(S) {
        const S* p = static_cast<const S*>(c.raw());
        for (size_t i = 0; i < values.size(); ++i) values[i] = T(p[i]);
    });
    return values;
}
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;
template std::vector<int32_t> Tensor::to_vector<int32_t>() const;
template std::vector<int64_t> Tensor::to_vector<int64_t>() const;
template std::vector<uint8_t> Tensor::to_vector<uint8_t>() const;

std::string Tensor::to_string() const {
    std::ostringstream out;
    out.imbue(std::locale::classic());  // whatever the host set
    out << name_of(dtype_) << mercer::to_string(shape_) << ' ';
    if (count() > 1000) {
        out << "[…]";
    } else {
        int64_t next = 0;
        write_elements(out, to_vector<double>(), shape_, 0, next);
    }
    return out.str();
}

Tensor Tensor::view(const Shape& shape, const Strides& strides, int64_t offset) const {
    require_defined(nullptr);
    Tensor t;
    t.storage_ = storage_;
    t.shape_ = shape;
    t.strides_ = strides;
    t.offset_ = offset;
    t.dtype_ = dtype_;
    return t;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? (held(), *this) : clone(); }

Tensor Tensor::clone() const {
    const CalledAs called(OperationScope::current("clone"));
    Tensor t = empty(shape_, dtype_);
    cpu::copy(t, *this);
    return t;
}

Tensor& Tensor::fill(double value) {
    before_write();
    cpu::copy(*this, full({}, value, dtype_).view(shape_, Dims::filled(rank(), 0), 0));
    return *this;
}

void Tensor::copy_to(Tensor& target) const {
    if (target.shape_ != shape_ || target.dtype_ != dtype_)
        throw ShapeError("copy_to", "source is ", *this, ", target is ", target);
    const bool overlaps =
        storage_ == target.storage_ && !(offset_ == target.offset_ && strides_ == target.strides_);
    const Tensor source = overlaps ? clone() : *this;
    target.before_write();
    cpu::copy(target, source);
}

}  // namespace mercer
