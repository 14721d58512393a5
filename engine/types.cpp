#include "engine/types.h"

#include "engine/error.h"

namespace mercer {

Dims::Dims(std::span<const int64_t> sizes) {
    if (sizes.size() > size_t(max_rank))
        throw ShapeError("shape", "rank ", sizes.size(), " is above the limit of 8");
    for (int64_t size : sizes) sizes_[size_t(rank_++)] = size;
}

Dims Dims::filled(int rank, int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
}

void Dims::push_back(int64_t size) {
    if (rank_ == max_rank) throw ShapeError("shape", "rank 9 is above the limit of 8");
    sizes_[size_t(rank_++)] = size;
}

void Dims::erase(int axis) {
    for (int i = axis; i + 1 < rank_; ++i) sizes_[size_t(i)] = sizes_[size_t(i + 1)];
    --rank_;
}

int64_t count(const Shape& shape) {
    int64_t n = 1;
    for (int64_t size : shape) n *= size;
    return n;
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
