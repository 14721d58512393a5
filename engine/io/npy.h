// npy: NumPy's file of one array.
//   "\x93NUMPY", version, the header's length, a Python dict in text, the data
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "engine/io/element.h"

namespace mercer::io {

struct NpyInfo {
    Element element;
    std::vector<int64_t> shape;
    bool is_fortran, is_big_endian;
    uint64_t offset, bytes;  // of the data in the file
};

/// Versions 1, 2 and 3. Element types b1, i4, i8, f4, f8; with ReadOptions::widen also f2, i1, u1, i2,
/// u2, u4. Big-endian data are swapped; Fortran order becomes strides, without a copy. Throws IoError,
/// Rejected with a code for each reason (engine/io/reject.h): Python objects, structured types, a dict
/// that is not exactly the three keys, a shape that does not fill the file exactly. No allocation
/// above twice the file's size (with `widen`, four times).
MERCER_API Tensor read_npy(const std::filesystem::path& path, const ReadOptions& options = {});
/// From memory.
MERCER_API Tensor parse_npy(std::span<const std::byte> bytes, const ReadOptions& options = {});
/// The header only.
MERCER_API NpyInfo npy_info(const std::filesystem::path& path, const ReadOptions& options = {});

/// Version 1 (a tensor's header always fits), row-major, byte for byte what NumPy writes. Replaces
/// the target whole or not at all, durably. Throws IoError, ValueError for a tensor that is not
/// defined, DTypeError for bf16, which NumPy lacks, DeviceError.
MERCER_API void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace mercer::io
