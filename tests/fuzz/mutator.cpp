#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <cctype>

namespace mercer::test {
namespace {

std::string little_endian(uint64_t n, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += char(n >> 8 * i & 255);
    return text;
}

// What the formats are made of, and what has broken other readers.
constexpr std::string_view words[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "(",
    ")",
    " ",
    "\n",
    "null",
    "true",
    "1e999",
    "-0",
    "1.5",
    "\\u0000",
    "\\ud800",
    "\\u0061",
    "\xff",
    "\xEF\xBB\xBF",
    "\\",
    "NaN",
    "/*",
    "\"__metadata__\":{\"k\":\"v\"},",
    "\"dtype\":\"F32\",",
    "\"shape\":[0],",
    "\"data_offsets\":[0,0],",
    "\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},",
    "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},",
    "BF16",
    "F4",
    "F6_E2M3",
    "BOOL",
    "U64",
    "'descr': '<f4', ",
    "'fortran_order': True, ",
    "'shape': (1,), ",
    "'|O'",
    "'<f2'",
    "'>i8'",
    "[('a', '<f4')]",
    "4294967296,4294967296,",
    "1L,",
    "False",
    "-1,"};

constexpr std::string_view numbers[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "4",
                                        "7",
                                        "8",
                                        "63",
                                        "64",
                                        "65",
                                        "127",
                                        "255",
                                        "65535",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "4294967295",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "-1",
                                        "-0",
                                        "1e3",
                                        "0.5",
                                        "007",
                                        "99999999999999999999999999999999999999"};

}  // namespace

std::string Seed::bytes() const {
    if (version == 0) return little_endian(header.size(), 8) + header + data;
    return "\x93NUMPY" + little_endian(uint64_t(version), 2) +
           little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::vector<Seed> safetensors_seeds() {
    std::vector<Seed> seeds;
    const auto add = [&](std::string header, size_t n) {
        std::string data(n, '\0');
        for (size_t i = 0; i < n; ++i) data[i] = char(i & 1);
        seeds.push_back({std::move(header), std::move(data), 0});
    };
    add("{}", 0);
    add(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24);
    add(R"({"__metadata__":{"format":"pt","note":"a\"b\n\u00e9"},"step":{"dtype":"I64","shape":[],)"
        R"("data_offsets":[0,8]},"w":{"dtype":"F64","shape":[2,1,2],"data_offsets":[8,40]},)"
        R"("mask":{"dtype":"BOOL","shape":[5],"data_offsets":[40,45]}}   )",
        45);
    add(R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[3],)"
        R"("data_offsets":[8,14]},"u":{"dtype":"U8","shape":[0,9],"data_offsets":[14,14]},)"
        R"("q":{"dtype":"F4","shape":[4],"data_offsets":[14,16]},)"
        R"("i":{"dtype":"I32","shape":[1,1,1,1,1,1,1,1],"data_offsets":[16,20]}})",
        20);
    std::string many = "{";
    for (int i = 0; i < 60; ++i)
        many += "\"layers." + std::to_string(i) + R"(.weight":{"dtype":"F32","shape":[)" +
                std::to_string(i % 3) + R"(],"data_offsets":[)" +
                std::to_string(4 * (i / 3 * 3 + (i % 3 == 2))) + "," +
                std::to_string(4 * (i / 3 * 3 + (i % 3 == 2) + i % 3)) + "]},";
    many.back() = '}';
    add(many, 240);
    add(R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I32","shape":[1],)"
        R"("data_offsets":[4,8]},"c":{"dtype":"I32","shape":[1],"data_offsets":[8,12]}})",
        12);
    std::string noted = R"({"__metadata__":{)";
    for (int i = 0; i < 40; ++i) noted += "\"k" + std::to_string(i) + "\":\"\",";
    noted += "\"long\":\"" + std::string(3000, 'x') + "\"}}";
    add(noted, 0);
    return seeds;
}

std::vector<Seed> npy_seeds() {
    std::vector<Seed> seeds;
    const auto add = [&](const char* descr, const char* order, const char* shape, size_t n,
                         int version) {
        std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': " + order +
                             ", 'shape': " + shape + ", }";
        header.append(63 - (header.size() + 10) % 64, ' ');
        seeds.push_back({header + '\n', std::string(n, '\1'), version});
    };
    add("<f4", "False", "(2, 3)", 24, 1);
    add(">f8", "True", "(3, 1, 2)", 48, 2);
    add("|b1", "False", "(7,)", 7, 3);
    add("<i8", "False", "()", 8, 1);
    add("<f2", "False", "(4,)", 8, 1);
    add(">u4", "True", "(1, 1, 1, 1, 1, 1, 1, 1)", 4, 2);
    add("<i4", "False", "(0, 9)", 0, 1);
    add("<f4", "False", "(50, 20)", 4000, 1);
    return seeds;
}

std::string Mutator::random_bytes(size_t n) {
    std::string bytes(n, '\0');
    for (char& c : bytes) c = char(random_() & 255);
    return bytes;
}

std::string Mutator::number() {
    return below(4) ? std::string(numbers[below(std::size(numbers))]) : std::to_string(below(300));
}

void Mutator::damage_bytes(std::string& bytes, const std::string& other) {
    const size_t at = below(bytes.size() + 1), n = below(below(4) ? 8 : 200);
    switch (below(7)) {
        case 0:
            if (at < bytes.size()) bytes[at] = char(bytes[at] ^ (1 << below(8)));
            break;
        case 1:
            if (at < bytes.size()) bytes[at] = "\0\xff \x80\x7f{\"\n"[below(8)];
            break;
        case 2: bytes.resize(at); break;
        case 3: bytes.erase(at, n); break;
        case 4: bytes.insert(at, bytes.substr(below(bytes.size() + 1), n)); break;
        case 5: bytes.insert(at, random_bytes(n)); break;
        default: {
            const size_t from = below(other.size() + 1);
            bytes.replace(at, below(2) ? n : bytes.size(), other.substr(from, below(2) ? n : 4096));
        }
    }
}

void Mutator::damage_text(std::string& text, const std::string& other) {
    const size_t at = below(text.size() + 1);
    switch (below(12)) {
        case 0:
        case 1:
        case 2: {  // another number
            size_t begin = at;
            while (begin < text.size() && !std::isdigit(static_cast<unsigned char>(text[begin])))
                ++begin;
            size_t end = begin;
            while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
            text.replace(begin, end - begin, number());
            break;
        }
        case 3:
        case 4: text.insert(at, words[below(std::size(words))]); break;
        case 5: {  // a piece from comma to comma once more, or away: repeated and missing keys
            const size_t begin = std::min(text.find(',', at), text.size());
            const size_t end = std::min(text.find(',', begin + 1 + below(60)), text.size());
            const std::string piece = text.substr(begin, end - begin);
            if (below(3))
                text.insert(begin, piece);
            else
                text.erase(begin, piece.size());
            break;
        }
        case 6: {  // deep, or long
            constexpr std::string_view units[] = {"[", "{\"a\":", "(",  "1,",  "[]",
                                                  " ", "\"",      "\n", "\r\t"};
            const std::string_view unit = units[below(std::size(units))];
            std::string many;
            for (uint64_t n = below(below(8) ? 70 : 3000); n-- > 0;) many += unit;
            text.insert(at, many);
            break;
        }
        case 7: {  // the same word elsewhere
            const size_t quote = text.find('"', at);
            const size_t end = quote == text.npos ? text.npos : text.find('"', quote + 1);
            if (end != text.npos)
                text.replace(quote, end - quote,
                             "\"" + std::string(words[below(std::size(words))]));
            break;
        }
        case 8:
        case 9:
        case 10: {  // another value, so that the text stays well-formed
            constexpr std::string_view values[] = {
                "null",    "true",         "1",     "-1",
                "0.5",     "\"F64\"",      "\"\"",  "{}",
                "[]",      "[0]",          "[0,0]", "[4,8]",
                "[8,12]",  "[0,1,2]",      "[[]]",  "{\"k\":\"v\"}",
                "[1,1,1]", "\"a\\u0000\"", "()",    "(1,)",
                "False",   "'<i4'"};
            const size_t colon = std::min(text.find(':', at), text.size());
            size_t end = colon;
            for (int depth = 0; end < text.size(); ++end) {
                const char c = text[end];
                if (c == '[' || c == '(' || c == '{') ++depth;
                if ((c == ']' || c == ')' || c == '}' || c == ',') && depth == 0) break;
                if (c == ']' || c == ')' || c == '}') --depth;
            }
            if (end > colon)
                text.replace(colon + 1, end - colon - 1, values[below(std::size(values))]);
            break;
        }
        default: damage_bytes(text, other);
    }
}

std::string Mutator::mutate(const std::vector<Seed>& seeds) {
    Seed seed = seeds[below(seeds.size())];
    const Seed& other = seeds[below(seeds.size())];
    const uint64_t faults = 1 + below(below(3) ? 2 : 8);
    const bool whole = below(4) == 0;  // without regard to the parts
    for (uint64_t i = 0; i < faults && !whole; ++i) {
        if (below(8)) damage_text(seed.header, other.header);
        if (below(8) == 0) damage_bytes(seed.data, other.data);
        if (below(20) == 0) seed.version = int(below(5));
    }
    std::string bytes = seed.bytes();
    for (uint64_t i = 0; i < faults && whole; ++i) damage_bytes(bytes, other.bytes());
    if (below(12) == 0) {  // a wrong length
        const size_t at = seed.version ? 8 : 0, width = seed.version == 0 ? 8 : 4;
        const uint64_t lengths[] = {0,
                                    1,
                                    seed.header.size() - 1,
                                    seed.header.size() + 1,
                                    bytes.size(),
                                    bytes.size() - 8,
                                    ~uint64_t{0},
                                    ~uint64_t{7},
                                    uint64_t{1} << 63,
                                    random_() & 0xffff};
        if (bytes.size() > at + width)
            bytes.replace(at, width, little_endian(lengths[below(std::size(lengths))], int(width)));
    }
    return bytes;
}

}  // namespace mercer::test
