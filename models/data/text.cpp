#include "models/data/text.h"

#include <array>
#include <fstream>

#include "engine/error.h"

namespace mercer {
namespace {

// Bytes of the character that `text` begins with, 0 where that is no UTF-8 (RFC 3629) or a control.
size_t character(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t{0}; };
    const uint8_t first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f;
    const size_t size = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
    for (size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // C1 controls, overlong forms, surrogates, beyond U+10FFFF.
    if (first == 0xc2 && byte(1) < 0xa0) return 0;
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0)) return 0;
    if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) return 0;
    return size;
}

}  // namespace

std::string read_text(std::string_view operation, const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw IoError(operation, printable(path.string()),
                      ": the file cannot be opened; check that it exists and may be read");
    std::string text;
    std::array<char, 1 << 16> part;
    while (file.read(part.data(), part.size()), file.gcount() > 0)
        text.append(part.data(), size_t(file.gcount()));
    if (file.bad())
        throw IoError(operation, printable(path.string()),
                      ": reading failed; give a file that can be read");
    return text;
}

std::string printable(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    while (!text.empty()) {
        size_t size = character(text);
        if (size) {
            out += text.substr(0, size);
        } else {
            size = 1;
            const auto byte = uint8_t(text[0]);
            ((out += "\\x") += digits[byte >> 4]) += digits[byte & 15];
        }
        text.remove_prefix(size);
    }
    return out;
}

}  // namespace mercer
