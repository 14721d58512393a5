// The header of a safetensors file, checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/element.h"

namespace mercer::io {

constexpr size_t longest_name = size_t{64} << 10;
constexpr int highest_rank = 64;
constexpr uint64_t highest_header = 100'000'000;  // the format's own limit
constexpr std::string_view metadata_name = "__metadata__";

/// Compact, so that a header of nothing but tiny tensors is not blown up: the text itself holds names
/// (decoded in place: that is never longer), shapes (read again when asked for), metadata.
struct SafetensorsHeader {
    struct Entry {
        uint32_t name_at, name_size, shape_at;
        Element element;
        uint8_t rank;
        uint64_t begin, end;  // in the data
    };
    static_assert(sizeof(Entry) == 32);

    std::string text;
    std::vector<Entry> entries;      // by name
    std::vector<uint32_t> metadata;  // where "key\0value\0" stands; by key
    uint64_t data_at = 0;            // in the file

    std::string_view name(const Entry& e) const { return {text.data() + e.name_at, e.name_size}; }
    std::vector<int64_t> shape(const Entry& e) const;
};

SafetensorsHeader read_safetensors_header(const File& file, const ReadOptions& options);

}  // namespace mercer::io
