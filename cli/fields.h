// Reading JSON specifications: what is wrong is said with the field it is in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/attribute.h"

namespace mercer::cli {

using Json = nlohmann::json;

/// FormatError "field: what".
[[noreturn]] void refuse(const std::string& field, const std::string& what);

/// The object at that field, an empty one if there is none.
const Json& object(const Json& entry, const char* field);
/// The name of a tensor.
const std::string& text(const std::string& field, const Json& value);
/// Of that type (Parameter::type), as far as a list can tell. The words of a `key` are unsigned, and
/// carried as int64_t of the same bits.
Attribute attribute(const std::string& field, const Json& value, const std::string& type);

}  // namespace mercer::cli
