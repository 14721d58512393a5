// safetensors: named tensors in one file, with a JSON header before the data.
//   u64 N, little-endian; N bytes of JSON; the data, row-major, little-endian, without gaps
// Format: https://github.com/huggingface/safetensors#format
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/io/element.h"

namespace mercer::io {

using TensorMap = std::map<std::string, Tensor, std::less<>>;
using Metadata = std::map<std::string, std::string, std::less<>>;

struct TensorInfo {
    std::string_view name;  // lives as long as a Safetensors of this file
    Element element;
    std::vector<int64_t> shape;
    uint64_t offset, bytes;  // in the file
};

/// An open file: its header is read and checked whole, tensors are read when asked for. Cheap to copy,
/// thread-safe. It stays readable when the path is replaced meanwhile.
///
/// Refused, each with a code of its own (engine/io/reject.h): what is not exactly the format, also
/// what other readers let pass: duplicate names (however escaped), unknown fields, overlaps, gaps,
/// bytes after the last tensor, sizes that do not match. Memory: the header's text and 32 bytes per
/// tensor, before that nothing; no single allocation above twice the file's size (with `widen`, four
/// times), and those of the names, shapes and tensors asked for. Time: O(header + n log n).
class MERCER_API Safetensors {
public:
    /// Throws IoError, Rejected.
    static Safetensors open(const std::filesystem::path& path, const ReadOptions& options = {});
    /// From memory, which the caller keeps alive; tensors are copies.
    static Safetensors parse(std::span<const std::byte> bytes, const ReadOptions& options = {});

    /// Number of tensors.
    size_t size() const;
    /// The i-th in the order of names.
    TensorInfo info(size_t i) const;
    bool contains(std::string_view name) const;
    /// Throws Rejected (no_such_tensor).
    TensorInfo info(std::string_view name) const;

    /// Throws Rejected: no such tensor, an element type or rank that tensors lack, truncated.
    Tensor read(std::string_view name) const;
    TensorMap read(std::span<const std::string> names) const;
    TensorMap read_all() const;

    Metadata metadata() const;

private:
    struct State;
    explicit Safetensors(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    static Safetensors from(std::shared_ptr<const File> file, const ReadOptions& options);
    size_t place(std::string_view name) const;
    std::shared_ptr<const State> state_;
};

/// ValueError for a tensor's name that is empty, "__metadata__", longer than 64 KiB or has control characters.
MERCER_API void require_name(const std::string& name);
/// Writes the tensors in the order of the reference implementation: by element type (I64, F64, F32,
/// I32, BF16, BOOL), then by name; so all are aligned. The target is replaced whole or not at all, and durably
/// (engine/io/atomic_file.h). Throws IoError; ValueError for a tensor that is not defined, a name that
/// is empty, "__metadata__", longer than 64 KiB, not UTF-8 or has control characters, metadata that
/// is not UTF-8 or holds a NUL; DeviceError.
MERCER_API void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors,
                                  const Metadata& metadata = {});

}  // namespace mercer::io
