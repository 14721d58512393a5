// Comma-separated values (RFC 4180): a header row, fields perhaps quoted, lines ending in LF or
// CRLF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"

namespace mercer {

/// A table of text that remembers where each row stood. Its errors are FormatErrors; read() throws
/// a plain IoError when the file cannot be opened.
class MERCER_API Csv {
public:
    /// `name` stands for the text in error messages.
    static Csv parse(std::string_view text, std::string name);
    static Csv read(const std::filesystem::path& path);

    const std::string& name() const { return name_; }
    const std::vector<std::string>& header() const { return header_; }
    size_t rows() const { return rows_.size(); }

    /// Place of the column called `name`.
    size_t column(std::string_view name) const;
    const std::string& text(size_t row, size_t column) const { return rows_[row].fields[column]; }
    /// The field as a finite number, with a decimal point whatever the locale.
    double number(size_t row, size_t column) const;

    /// Throws the FormatError for one field: "…; found X, expected Y".
    [[noreturn]] void refuse(size_t row, size_t column, const std::string& expected) const;

private:
    struct Row {
        int64_t line = 0;
        std::vector<std::string> fields;
    };
    std::string name_;
    std::vector<std::string> header_;
    std::vector<Row> rows_;
};

}  // namespace mercer
