#include "models/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "models/data/text.h"

namespace mercer {
namespace {

// What a message can show of a field.
std::string in_quotes(std::string_view field) {
    constexpr size_t longest = 40;
    std::string start(field.substr(0, longest));
    if (field.size() > longest)  // not within a character
        while (!start.empty() && (uint8_t(field[start.size()]) & 0xc0) == 0x80) start.pop_back();
    std::ranges::replace_if(
        start, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return "“" + printable(start) + (field.size() > longest ? "…”" : "”");
}

struct Reader {
    std::string_view text;
    const std::string& name;
    size_t at = 0;
    int64_t line = 1;

    [[noreturn]] void fail(size_t column, const std::string& what) const {
        throw FormatError("csv", name, ", line ", line, ", column ", column + 1, ": ", what);
    }

    bool done() const { return at >= text.size(); }
    bool at_line_end() const { return done() || text[at] == '\n' || text.substr(at, 2) == "\r\n"; }

    std::string quoted_field(size_t column) {
        std::string field;
        const int64_t opened = line;
        for (++at;; ++at) {
            if (done())
                fail(column, "found the end of the text inside the quotes opened on line " +
                                 std::to_string(opened) + ", expected a closing \"");
            if (text[at] == '\n') ++line;
            if (text[at] == '"') {
                if (text.substr(at + 1, 1) != "\"") break;
                ++at;  // "" stands for one quote
            }
            field += text[at];
        }
        ++at;
        if (!at_line_end() && text[at] != ',')
            fail(column, "found " + in_quotes(text.substr(at, 1)) +
                             " after a closing quote, expected a comma or the end of the line");
        return field;
    }

    std::string field(size_t column) {
        if (!done() && text[at] == '"') return quoted_field(column);
        const size_t first = at;
        while (!at_line_end() && text[at] != ',') {
            if (text[at] == '"')
                fail(column,
                     "found a quote inside an unquoted field, expected the whole field in quotes");
            ++at;
        }
        return std::string(text.substr(first, at - first));
    }

    // Up to and with the line's end.
    std::vector<std::string> record() {
        std::vector<std::string> fields;
        while (true) {
            fields.push_back(field(fields.size()));
            if (at_line_end()) break;
            ++at;  // the comma
        }
        if (!done()) {
            at += text[at] == '\r' ? 2 : 1;
            ++line;
        }
        return fields;
    }
};

}  // namespace

Csv Csv::parse(std::string_view text, std::string name) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
    Csv csv;
    csv.name_ = std::move(name);
    Reader reader{text, csv.name_};
    if (reader.at_line_end())
        reader.fail(0, "found an empty line, expected a header with the columns' names");
    csv.header_ = reader.record();
    while (!reader.done()) {
        Row row{reader.line, reader.record()};
        if (row.fields.size() == 1 && row.fields[0].empty()) {  // blank lines may end the text only
            if (text.find_first_not_of("\r\n", reader.at) == std::string_view::npos) break;
            reader.line = row.line;
            reader.fail(0, "found an empty line, expected " + std::to_string(csv.header_.size()) +
                               " fields");
        }
        if (row.fields.size() != csv.header_.size()) {
            reader.line = row.line;
            reader.fail(std::min(row.fields.size(), csv.header_.size()),
                        "found " + std::to_string(row.fields.size()) + " fields, expected " +
                            std::to_string(csv.header_.size()) + " as in the header");
        }
        csv.rows_.push_back(std::move(row));
    }
    return csv;
}

Csv Csv::read(const std::filesystem::path& path) {
    return parse(read_text("csv", path), path.string());
}

size_t Csv::column(std::string_view name) const {
    constexpr size_t most = 8;
    std::optional<size_t> found;
    std::string known;
    for (size_t i = 0; i < header_.size(); ++i) {
        if (i < most) known += (i ? ", " : "") + in_quotes(header_[i]);
        if (header_[i] != name) continue;
        if (found)
            throw FormatError("csv", name_, ", line 1: found two columns called ", in_quotes(name),
                              ", expected one");
        found = i;
    }
    if (found) return *found;
    if (header_.size() > most) known += " and " + std::to_string(header_.size() - most) + " more";
    throw FormatError("csv", name_, ", line 1: found the columns ", known, ", expected one called ",
                      in_quotes(name));
}

double Csv::number(size_t row, size_t column) const {
    const std::string& field = text(row, column);
    double value = 0;
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    if (error != std::errc{} || stop != end || !std::isfinite(value))
        refuse(row, column, "a number like 315.42");
    return value;
}

void Csv::refuse(size_t row, size_t column, const std::string& expected) const {
    throw FormatError("csv", name_, ", line ", rows_[row].line, ", column ", column + 1, " (",
                      printable(header_[column]), "): found ", in_quotes(text(row, column)),
                      ", expected ", expected);
}

}  // namespace mercer
