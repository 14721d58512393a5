#include "engine/types.h"

#include "engine/error.h"

namespace mercer {

Dims::Dims(std::span<const int64_t> sizes) {
    if (sizes.size() > size_t(max_rank)) refuse_rank(sizes.size());
    for (int64_t size : sizes) sizes_[size_t(rank_++)] = size;
}

Dims Dims::filled(int rank, int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
}

void Dims::refuse_rank(size_t rank) {
    throw ShapeError("shape", "rank ", rank, " is above the limit of ", max_rank);
}

void Dims::erase(int axis) {
    for (int i = axis; i + 1 < rank_; ++i) sizes_[size_t(i)] = sizes_[size_t(i + 1)];
    --rank_;
}

Dims joined(Dims first, const Dims& then) {
    for (int64_t size : then) first.push_back(size);
    return first;
}

std::string to_string(const Dims& dims) {
    std::string text = "(";
    for (int i = 0; i < dims.rank(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
    return text + ")";
}
std::string to_string(DType dtype, const Dims& shape) {
    return std::string(name_of(dtype)) + to_string(shape);
}

}  // namespace mercer
