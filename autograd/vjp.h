// What an operation's vjp sees of the tape during a backward pass; X = Tensor (values) or Var
// (recorded again).
#pragma once

#include <bit>
#include <vector>

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

/// Cotangents by value id, while a pass runs.
template <class X>
struct Backward {
    Tape* tape;
    std::vector<X> cotangents;
    std::vector<char> needed;  // ids on a way to what was asked for
};

/// a += b; takes over b's memory where it can.
void accumulate(Tensor& a, Tensor b);
void accumulate(Var& a, Var b);

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
    const X& g(int k = 0) const { return pass_.cotangents[node_.output + uint32_t(k)]; }
    DType dtype() const { return value_of_output().dtype; }
    Shape out_shape(int k) const { return pass_.tape->values_[node_.output + uint32_t(k)].shape; }
    Shape in_shape(int i) const { return pass_.tape->values_[input_id(i)].shape; }
    bool wants(int i) const {
        const uint32_t id = input_id(i);
        return id != Tape::none && pass_.needed[id];
    }
    /// The saved tensor of input i (undefined if not saved), of the result.
    Tensor value(int i) const { return saved(input_bit(i)); }
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
    /// Adds x to the cotangent of input i.
    void give(int i, X x) {
        if (wants(i)) accumulate(pass_.cotangents[input_id(i)], std::move(x));
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
        const uint32_t place = node_.first_saved + uint32_t(std::popcount(node_.saved & (bit - 1)));
        const Tape::Saved& s = pass_.tape->saved_[place];
        if (s.value.defined() && s.value.version() != s.version)
            throw InPlaceError(node_.rule->name,
                               "a value saved for backward, shape " + to_string(s.value.shape()) +
                                   ", was changed in place; clone() it before the change");
        return s.value;
    }

    Backward<X>& pass_;
    Tape::Node node_;  // a copy: recording moves the nodes
};

}  // namespace mercer
