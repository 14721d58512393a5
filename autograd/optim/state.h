// What optimisers, schedules and averages remember, as named tensors: io::write_safetensors writes
// them, Safetensors::read_all reads them, and what is restored continues bit for bit the same.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/tensor.h"

namespace mercer {

/// The type of io::TensorMap.
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// What a count in a state may be: doubles hold it, and there is room to go on counting.
inline constexpr int64_t most_counted = int64_t{1} << 53;

/// Adds `part` under "prefix.", so that a model, its optimiser and a schedule go into one file.
/// ValueError for a name that is there already.
MERCER_API void add_part(NamedTensors& whole, std::string_view prefix, const NamedTensors& part);
/// What stands under "prefix.", without it.
MERCER_API NamedTensors part_of(const NamedTensors& whole, std::string_view prefix);

/// Reads a state strictly: every name once, none left over. Errors name the tensor: ValueError
/// (missing, not known, out of range), DTypeError, ShapeError.
class MERCER_API StateReader {
public:
    /// `operation` lives as long as the reader.
    StateReader(const char* operation, const NamedTensors& state);
    /// A copy of a tensor; `like`, where defined, gives its shape and dtype.
    Tensor tensor(std::string_view name, const Tensor& like = {});
    Tensor tensor(std::string_view name, DType dtype, int rank);
    double number(std::string_view name);  // f64, rank 0
    int64_t count(std::string_view name);  // i64, rank 0, up to most_counted
    bool has(std::string_view name) const { return left_.count(std::string(name)) != 0; }
    /// ValueError when names are left.
    void finish() const;

private:
    const char* operation_;
    std::map<std::string, const Tensor*, std::less<>> left_;
};

}  // namespace mercer
