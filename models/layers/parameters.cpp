#include "models/layers/parameters.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/functions.h"

namespace mercer {

void Parameters::add(std::string name, Tensor& parameter) {
    if (std::ranges::find(names_, name) != names_.end())
        throw ValueError("parameters", "there are two called ", name,
                         "; give each layer a prefix of its own");
    names_.push_back(std::move(name));
    tensors_.push_back(&parameter);
}

int64_t Parameters::count() const {
    int64_t n = 0;
    for (const Tensor* t : tensors_) n += t->count();
    return n;
}

void Parameters::cast(DType dtype) const {
    for (Tensor* t : tensors_) *t = mercer::cast(*t, dtype);
}

std::vector<Tensor> Parameters::snapshot() const {
    std::vector<Tensor> copies;
    for (const Tensor* t : tensors_) copies.push_back(t->clone());
    return copies;
}

void Parameters::restore(std::span<const Tensor> snapshot) const {
    if (snapshot.size() != tensors_.size())
        throw ShapeError("parameters", "the snapshot holds ", snapshot.size(),
                         " tensors, the model ", tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) snapshot[i].copy_to(*tensors_[i]);
}

Binding::Binding(const Parameters& parameters, std::span<const Var> vars)
    : vars_(vars.begin(), vars.end()) {
    const auto tensors = parameters.tensors();
    if (vars.size() != tensors.size())
        throw ShapeError("binding", vars.size(), " values for ", tensors.size(), " parameters");
    for (size_t i = 0; i < tensors.size(); ++i) places_.emplace(tensors[i], i);
}

Binding::Binding(Tape& tape, const Parameters& parameters) {
    for (const Tensor* t : parameters.tensors()) {
        places_.emplace(t, vars_.size());
        vars_.push_back(tape.watch(*t));
    }
}

Var Binding::operator()(const Tensor& parameter) const {
    const auto place = places_.find(&parameter);
    return place == places_.end() ? Var(parameter) : vars_[place->second];
}

}  // namespace mercer
