#include "autograd/optim/state.h"

#include "autograd/optim/rewrite.h"
#include "engine/error.h"

namespace mercer {

void add_part(NamedTensors& whole, std::string_view prefix, const NamedTensors& part) {
    for (const auto& [name, tensor] : part)
        if (!whole.emplace(std::string(prefix) + "." + name, tensor).second)
            throw ValueError("add_part", "there is a '", prefix, ".", name,
                             "' already; take another prefix");
}

NamedTensors part_of(const NamedTensors& whole, std::string_view prefix) {
    const std::string start = std::string(prefix) + ".";
    NamedTensors part;
    for (auto at = whole.lower_bound(start); at != whole.end() && at->first.starts_with(start);
         ++at)
        part.emplace(at->first.substr(start.size()), at->second);
    return part;
}

StateReader::StateReader(const char* operation, const NamedTensors& state) : operation_(operation) {
    for (const auto& [name, tensor] : state) left_.emplace(name, &tensor);
}

Tensor StateReader::tensor(std::string_view name, const Tensor& like) {
    const auto at = left_.find(name);
    if (at == left_.end() || !at->second->defined())
        throw ValueError(operation_, "the state lacks '", name, "'");
    const Tensor& t = *at->second;
    if (like.defined() && t.dtype() != like.dtype())
        throw DTypeError(operation_, "'", name, "' of the state is ", t, ", expected ", like);
    if (like.defined() && !(t.shape() == like.shape()))
        throw ShapeError(operation_, "'", name, "' of the state is ", t, ", expected ", like);
    left_.erase(at);
    return t.clone();
}

Tensor StateReader::tensor(std::string_view name, DType dtype, int rank) {
    Tensor t = tensor(name);
    if (t.dtype() != dtype || t.rank() != rank) {
        const std::string what =
            shown("'", name, "' of the state is ", t, ", expected ", dtype, " of rank ", rank);
        if (t.dtype() != dtype) throw DTypeError(operation_, what);
        throw ShapeError(operation_, what);
    }
    return t;
}

double StateReader::number(std::string_view name) {
    return tensor(name, DType::f64, 0).item<double>();
}

int64_t StateReader::count(std::string_view name) {
    const int64_t n = *tensor(name, DType::i64, 0).data<int64_t>();
    if (n < 0 || n > most_counted)
        throw ValueError(operation_, "'", name, "' of the state is ", n,
                         ", expected a count up to 2^53");
    return n;
}

void StateReader::finish() const {
    if (!left_.empty())
        throw ValueError(operation_, "the state has '", left_.begin()->first,
                         "', which does not belong here");
}

}  // namespace mercer
