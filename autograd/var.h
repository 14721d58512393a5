// A value that may stand on a tape. Without one it is a constant, and computing with it costs what
// a Tensor costs.
#pragma once

#include <atomic>
#include <cstdint>

#include <span>

#include "engine/tensor.h"

namespace mercer {

class Tape;
template <class X>
class Vjp;

/// Where a tape can be found, and how many lives it has had: a Var knows by it that its tape is
/// gone or was reset. Slots are recycled, never freed.
struct TapeSlot {
    std::atomic<uint64_t> life{0};
    Tape* tape = nullptr;
    TapeSlot* next_free = nullptr;
};

class MERCER_API Var {
public:
    Var() {}
    /// A constant.
    Var(Tensor value) : value_(std::move(value)) {}

    const Tensor& value() const { return value_; }
    const Shape& shape() const { return value_.shape(); }
    int64_t size(int axis) const { return value_.size(axis); }
    int rank() const { return value_.rank(); }
    int64_t count() const { return value_.count(); }
    DType dtype() const { return value_.dtype(); }
    bool defined() const { return value_.defined(); }
    template <class T>
    T item() const {
        return value_.item<T>();
    }
    bool is_constant() const { return slot_ == nullptr; }
    /// The same value as a constant: no gradient flows through it.
    Var detach() const { return Var(value_); }

private:
    friend class Tape;
    template <class X>
    friend class Vjp;
    Var(Tensor value, TapeSlot* slot, uint32_t id)
        : value_(std::move(value)),
          slot_(slot),
          life_(slot->life.load(std::memory_order_relaxed)),
          id_(id) {}

    Tensor value_;
    TapeSlot* slot_ = nullptr;
    uint64_t life_ = 0;
    uint32_t id_ = 0;
};

/// Operands by reference: recording copies nothing that it does not keep.
using VarRefs = std::span<const Var* const>;

/// Operands of which one is a Var: tensors among them are constants.
template <class... X>
concept any_var = (std::is_same_v<X, Var> || ...) && (std::is_convertible_v<X, Var> && ...);
inline const Var& as_var(const Var& x) { return x; }
inline Var as_var(const Tensor& x) { return x; }
inline const Tensor& value_of(const Var& x) { return x.value(); }

}  // namespace mercer
