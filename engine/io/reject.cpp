#include "engine/io/reject.h"

namespace mercer::io {

std::string_view name_of(Reject code) {
#define MERCER_ONE(name) #name,
    static constexpr std::string_view names[] = {MERCER_REJECTS(MERCER_ONE)};
#undef MERCER_ONE
    return names[size_t(code)];
}

std::string in_quotes(std::string_view text) {
    constexpr size_t longest = 60;
    static constexpr char digits[] = "0123456789abcdef";
    std::string out = "'";
    for (char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f)
            out += c;
        else
            ((out += "\\x") += digits[byte >> 4]) += digits[byte & 15];
    }
    return out += text.size() > longest ? "…'" : "'";
}

namespace {

std::string place(std::string_view path, std::string_view field, uint64_t offset) {
    std::string text(path);
    text += ": ";
    if (!field.empty()) (text += in_quotes(field)) += ' ';
    return text + "(byte " + std::to_string(offset) + "): ";
}

}  // namespace

Rejected::Rejected(Reject code, std::string_view operation, std::string_view path,
                   std::string_view field, uint64_t offset, std::string_view what)
    : FormatError(operation, place(path, field, offset), what, " [", code, "]"),
      code_(code),
      offset_(offset),
      field_(field.substr(0, 256)) {}

}  // namespace mercer::io
