// Why a file was refused: every reason has a code, so that a host can tell them apart, and a message
// with the file, the field, the byte and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace mercer::io {

// clang-format off
#define MERCER_REJECTS(X)                                                                          \
    /* the file as a whole */                                                                      \
    X(file_too_short) X(truncated) X(bad_magic) X(bad_version)                                     \
    /* the header's bytes */                                                                       \
    X(header_empty) X(header_beyond_file) X(header_above_limit) X(header_not_object)               \
    X(byte_order_mark) X(leading_space) X(nul_padding) X(trailing_text) X(invalid_utf8)            \
    X(invalid_syntax)                                                                              \
    /* the header's structure */                                                                   \
    X(duplicate_tensor) X(duplicate_field) X(duplicate_metadata) X(duplicate_metadata_key)         \
    X(missing_field) X(unknown_field) X(entry_not_object) X(metadata_not_object)                   \
    X(metadata_not_string) X(metadata_nul) X(too_many_tensors)                                     \
    X(name_empty) X(name_too_long) X(name_control_character)                                       \
    /* element type and shape */                                                                   \
    X(dtype_not_string) X(unknown_dtype) X(structured_dtype) X(object_dtype) X(order_not_bool)     \
    X(shape_not_array) X(dimension_not_integer) X(dimension_negative) X(dimension_too_large)       \
    X(rank_above_limit) X(shape_overflow) X(partial_byte)                                          \
    /* where the data are */                                                                       \
    X(offsets_not_array) X(offsets_count) X(offset_not_integer) X(offset_negative)                 \
    X(offset_too_large) X(offsets_reversed) X(span_beyond_file) X(size_mismatch) X(overlap)        \
    X(hole) X(trailing_bytes)                                                                      \
    /* the format allows it, a tensor cannot hold it */                                            \
    X(no_such_tensor) X(unsupported_dtype) X(unsupported_rank) X(not_a_bool)
// clang-format on

#define MERCER_ONE(name) name,
enum class Reject : uint8_t { MERCER_REJECTS(MERCER_ONE) };
#undef MERCER_ONE

/// "header_beyond_file".
MERCER_API std::string_view name_of(Reject code);

/// "[read_npy] a.npy: field 'shape' (byte 42): what is wrong; what to do [dimension_negative]".
class MERCER_API Rejected : public FormatError {
public:
    Rejected(Reject code, std::string_view operation, std::string_view path, std::string_view field,
             uint64_t offset, std::string_view what);
    Reject code() const { return code_; }
    /// Of the file's byte at fault.
    uint64_t offset() const { return offset_; }
    /// The tensor or header field at fault; empty where it is the file as a whole.
    const std::string& field() const { return field_; }

private:
    Reject code_;
    uint64_t offset_;
    std::string field_;
};

/// In quotes, for a message: at most 60 bytes of it, everything but printable ASCII as \xNN.
MERCER_API std::string in_quotes(std::string_view text);

}  // namespace mercer::io
