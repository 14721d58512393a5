// safetensors files as bytes: one that the reference implementation wrote, and any header with its data.
#pragma once

#include <string>

#include "engine/io/safetensors.h"
#include "tests/support/files.h"

namespace mercer::test {

using namespace std::string_literals;

// safetensors 0.8.0 (Rust, through Python) wrote this: save({"weight": [[1.5, -2], [3, 4]] f4,
// "bias": [0.25, -1e300] f8, "step": 7 i8, "mask": [True, False, True], "ids": [1, -2] i4,
// "none": zeros (0, 3) f4, "é\"": [5] f4}, {"note": "a\"b\n"}).
inline const std::string reference =
    "\xc0\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\":{\"note\":\"a\\\"b\\n\"},\"step\":{"
    "\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},\"bias\":{\"dtype\":\"F64\",\""
    "shape\":[2],\"data_offsets\":[8,24]},\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"da"
    "ta_offsets\":[24,24]},\"weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":"
    "[24,40]},\"\xc3\xa9\\\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[40,44]},"
    "\"ids\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[44,52]},\"mask\":{\"dtype\""
    ":\"BOOL\",\"shape\":[3],\"data_offsets\":[52,55]}}      \x07\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\xd0?\x9cu\x00\x88<\xe4"
    "7\xfe\x00\x00\xc0?\x00\x00\x00\xc0\x00"
    "\x00@@\x00\x00\x80@\x00\x00\xa0@\x01\x00\x00\x00\xfe\xff\xff\xff\x01\x00\x01"s;

inline std::string file_of(const std::string& header, const std::string& data = "") {
    std::string file(8, '\0');
    for (size_t i = 0; i < 8; ++i) file[i] = char(uint64_t(header.size()) >> 8 * i & 255);
    return file + header + data;
}

inline io::Safetensors parse(const std::string& file, const io::ReadOptions& options = {}) {
    return io::Safetensors::parse(bytes_of(file), options);
}

}  // namespace mercer::test
