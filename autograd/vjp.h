// What an operation's vjp sees of the tape during a backward pass; X = Tensor (values) or Var
// (recorded again).
#pragma once

#include <bit>

#include "autograd/require.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/ops/op.h"

namespace mercer {

/// How an operation is differentiated.
struct Rule {
    const char* name;
    void (*tensor)(Vjp<Tensor>&);
    void (*var)(Vjp<Var>&);
};

/// Cotangents by value id, while a pass runs, of the values from `base` on.
template <class X>
struct Backward {
    Tape* tape;
    uint32_t base;
    std::vector<X> cotangents;
    std::vector<char> needed;  // on a way to what was asked for: 1; asked for itself: 3

    X& cotangent(uint32_t id) { return cotangents[id - base]; }
    // Ids before base, and that of constants, wrap to above the size.
    bool needs(uint32_t id) const { return id - base < needed.size() && needed[id - base]; }
    bool asked(uint32_t id) const { return id - base < needed.size() && needed[id - base] == 3; }
};

/// a += b; takes over b's memory where it can.
MERCER_API void accumulate(Tensor& a, Tensor b);
MERCER_API void accumulate(Var& a, Var b);

template <class X>
class Vjp {
public:
    Vjp(Backward<X>& pass, uint32_t node) : pass_(pass), node_(pass.tape->nodes_[node]) {}

    template <class A>
    const A& attrs() const {
        return *static_cast<const A*>(node_.attrs);
    }
    const char* name() const { return node_.rule->name; }
    int inputs() const { return int(node_.inputs); }
    int outputs() const { return int(node_.outputs); }
    /// The cotangent of output k; undefined if nothing flowed into it.
    const X& g(int k = 0) const { return pass_.cotangent(node_.output + uint32_t(k)); }
    DType dtype() const { return value_of_output().dtype; }
    Shape out_shape(int k) const { return pass_.tape->values_[node_.output + uint32_t(k)].shape; }
    /// Of an input that stands on the tape: of a constant it knows nothing but what is saved.
    Shape in_shape(int i) const {
        if (input_id(i) == Tape::none) [[unlikely]]
            throw ShapeError(name(), "no tape knows the shape of constant input ", i);
        return pass_.tape->values_[input_id(i)].shape;
    }
    bool wants(int i) const { return pass_.needs(input_id(i)); }
    /// The saved tensor of input i (undefined if not saved), of the result.
    Tensor value(int i) const {
        return node_.saved & Tape::save_inputs ? saved_at(uint32_t(i)) : saved(input_bit(i));
    }
    Tensor out_value(int k = 0) const { return saved(output_bit_of(k)); }
    /// The same as an X: for X = Var it stands on the tape where the input did.
    X in(int i) const {
        if constexpr (std::is_same_v<X, Tensor>)
            return value(i);
        else
            return var(value(i), input_id(i));
    }
    X out(int k = 0) const {
        if constexpr (std::is_same_v<X, Tensor>)
            return out_value(k);
        else
            return var(out_value(k), node_.output + uint32_t(k));
    }
    /// Adds x to the cotangent of input i. ShapeError unless it has the input's shape and dtype.
    void give(int i, X x) {
        const uint32_t id = input_id(i);
        if (!pass_.needs(id)) return;
        const Tape::Value& input = pass_.tape->values_[id];
        if (!(x.shape() == input.shape) || x.dtype() != input.dtype) [[unlikely]]
            misfit(i, input.shape, input.dtype, x);
        accumulate(pass_.cotangent(id), std::move(x));
    }
    /// What has been given to input i so far, for who adds to it and gives it all back.
    X take(int i) { return wants(i) ? std::move(pass_.cotangent(input_id(i))) : X(); }
    void put(int i, X x) {
        if (wants(i)) pass_.cotangent(input_id(i)) = std::move(x);
    }
    /// The first input that is the same value on the tape; i itself for a constant.
    int first_like(int i) const {
        for (int k = 0; k < i; ++k)
            if (input_id(k) == input_id(i) && input_id(i) != Tape::none) return k;
        return i;
    }
    Tape& tape() const { return *pass_.tape; }

private:
    uint32_t input_id(int i) const {
        return pass_.tape->input_ids_[node_.first_input + uint32_t(i)];
    }
    const Tape::Value& value_of_output() const { return pass_.tape->values_[node_.output]; }
    Var var(Tensor value, uint32_t id) const {
        return id == Tape::none ? Var(std::move(value))
                                : Var(std::move(value), pass_.tape->slot_, id);
    }
    Tensor saved(unsigned bit) const {
        if (!(node_.saved & bit)) return {};
        uint32_t place = uint32_t(std::popcount(node_.saved & (bit - 1)));
        if (node_.saved & Tape::save_inputs) place += node_.inputs - 1;  // one bit for all
        return saved_at(place);
    }
    Tensor saved_at(uint32_t place) const {
        const Tape::Saved& s = pass_.tape->saved_[node_.first_saved + place];
        if (!s.value.defined()) return pass_.tape->unpack(name(), node_.first_saved + place);
        if (s.value.version() != s.version)
            throw InPlaceError(node_.rule->name, "a value saved for backward, shape ",
                               s.value.shape(),
                               ", was changed in place; clone() it before the change");
        return s.value;
    }

    [[noreturn]] void misfit(int i, const Shape& shape, DType dtype, const X& given) const {
        const std::string what = "the cotangent of input " + std::to_string(i);
        require_like(name(), what.c_str(), shape, dtype, value_of(given));
        throw ShapeError(name(), what);
    }

    Backward<X>& pass_;
    Tape::Node node_;  // a copy: recording moves the nodes
};

}  // namespace mercer
