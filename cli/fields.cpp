#include "cli/fields.h"

#include "engine/error.h"
#include "models/data/text.h"

namespace mercer::cli {

void refuse(const std::string& field, const std::string& what) {
    throw FormatError("eval", printable(field), ": ", printable(what));
}

const Json& object(const Json& entry, const char* field) {
    static const Json none = Json::object();
    const auto at = entry.find(field);
    if (at == entry.end()) return none;
    if (!at->is_object()) refuse(field, "must be an object");
    return *at;
}

const std::string& text(const std::string& field, const Json& value) {
    if (!value.is_string()) refuse(field, "must be a string, the name of a tensor");
    return value.get_ref<const std::string&>();
}

namespace {
int64_t integer(const std::string& field, const Json& value, bool key) {
    if (key) {
        if (!value.is_number_unsigned()) refuse(field, "must be integers from 0 to 2^64 - 1");
        return int64_t(value.get<uint64_t>());  // its bits
    }
    if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX))
        refuse(field, "does not fit 64 bits");
    return value.get<int64_t>();
}
}  // namespace

Attribute attribute(const std::string& field, const Json& value, const std::string& type) {
    const bool key = type == "key", list_fits = type.empty() || type == "ints" || key;
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer()) return integer(field, value, key);
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array())
        refuse(field, "must be a number, a boolean, a string or a list of integers");
    std::vector<int64_t> list;
    for (const Json& item : value) {
        if (!item.is_number_integer())
            refuse(field, "must be " + (list_fits ? "a list of integers" : type));
        list.push_back(integer(field, item, key));
    }
    return list;
}

}  // namespace mercer::cli
