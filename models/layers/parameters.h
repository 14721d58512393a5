// Parameters are tensors that the model owns. Two views of them:
//
//   Parameters   all of a model's, by name, in a fixed order: what an optimiser steps;
//   Binding      their part in one pass: at(weight) is the Var watched on the tape, or a constant.
//
// The same forward(at, x) trains with Binding at(tape, parameters) and predicts, at no cost, with
// Binding{}. A parameter that is not in the Binding's list is a constant: that is how one freezes
// it.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/tape.h"

namespace mercer {

class MERCER_API Parameters {
public:
    /// The tensor must outlive this list. ValueError for a name already there.
    void add(std::string name, Tensor& parameter);

    size_t size() const { return tensors_.size(); }
    const std::string& name(size_t i) const { return names_[i]; }
    std::span<Tensor* const> tensors() const { return tensors_; }
    /// Numbers in all of them together.
    int64_t count() const;

    /// Makes all of them of this dtype, new ones where they are not.
    void cast(DType dtype) const;

    /// Copies of the values.
    std::vector<Tensor> snapshot() const;
    /// Writes such copies back.
    void restore(std::span<const Tensor> snapshot) const;

private:
    std::vector<std::string> names_;
    std::vector<Tensor*> tensors_;
};

class MERCER_API Binding {
public:
    /// Everything is a constant.
    Binding() = default;
    /// Watches all parameters on the tape.
    Binding(Tape& tape, const Parameters& parameters);
    /// They stand for the parameters, one for each: as arguments of a function. ShapeError.
    Binding(const Parameters& parameters, std::span<const Var> vars);

    Var operator()(const Tensor& parameter) const;
    /// In the order of the Parameters.
    std::span<const Var> vars() const { return vars_; }

private:
    std::vector<Var> vars_;
    std::unordered_map<const Tensor*, size_t> places_;
};

}  // namespace mercer
