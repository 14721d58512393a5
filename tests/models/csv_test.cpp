// The CSV reader: what it accepts, and that what it refuses it names by line, column, found and
// expected.
#include "models/data/csv.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <locale>

#include "models/data/text.h"

using namespace mercer;

namespace {

std::string refusal(const std::string& text, bool numbers = false) {
    try {
        const Csv csv = Csv::parse(text, "a.csv");
        if (numbers)
            for (size_t row = 0; row < csv.rows(); ++row)
                (void)csv.number(row, csv.column("value"));
    } catch (const FormatError& error) {
        return error.what();
    }
    return "accepted";
}

bool has(const std::string& text, const std::string& part) {
    INFO(text, " should hold ", part);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

}  // namespace

TEST_CASE("rows and columns") {
    const Csv csv = Csv::parse("month,value\n1959-01,315.42\n1959-02,-1e3\n", "a.csv");
    CHECK(csv.header() == std::vector<std::string>{"month", "value"});
    REQUIRE(csv.rows() == 2);
    CHECK(csv.column("value") == 1);
    CHECK(csv.text(0, 0) == "1959-01");
    CHECK(csv.number(0, 1) == 315.42);
    CHECK(csv.number(1, 1) == -1000.0);
}

TEST_CASE("CRLF, byte order mark, no newline at the end, blank lines at the end") {
    for (const char* text : {"a,b\r\n1,2\r\n",
                             "\xEF\xBB\xBF"
                             "a,b\n1,2",
                             "a,b\n1,2\n\n\n", "a,b\r\n1,2\r\n\r\n"}) {
        const Csv csv = Csv::parse(text, "a.csv");
        CAPTURE(text);
        REQUIRE(csv.rows() == 1);
        CHECK(csv.column("a") == 0);
        CHECK(csv.text(0, 1) == "2");
    }
}

TEST_CASE("quoted fields") {
    const Csv csv =
        Csv::parse("\"a\",\"b,c\"\n\"say \"\"hi\"\"\",\"two\nlines\"\n3,\"\"\n", "a.csv");
    REQUIRE(csv.rows() == 2);
    CHECK(csv.header()[1] == "b,c");
    CHECK(csv.text(0, 0) == "say \"hi\"");
    CHECK(csv.text(0, 1) == "two\nlines");
    CHECK(csv.text(1, 1).empty());
    // A row's line counts the lines inside quotes.
    has(refusal("value\n\"two\nlines\"\n", true), "line 2, column 1 (value): found “two lines”");
    has(refusal("name,value\n\"two\nlines\",1\nb,x\n", true),
        "line 4, column 2 (value): found “x”");
}

TEST_CASE("numbers do not depend on the locale") {
    struct German : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
    };
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new German));
    CHECK(Csv::parse("value\n1.5\n", "a.csv").number(0, 0) == 1.5);
    has(refusal("value\n\"1,5\"\n", true), "found “1,5”, expected a number");
    std::locale::global(before);
}

TEST_CASE("refusals say where, what was found and what was expected") {
    has(refusal(""), "a.csv, line 1, column 1: found an empty line, expected a header");
    has(refusal("\na,b\n"), "expected a header");
    has(refusal("a,b\n1,2\n1\n"),
        "a.csv, line 3, column 2: found 1 fields, expected 2 as in the header");
    has(refusal("a,b\n1,2,3\n"), "line 2, column 3: found 3 fields, expected 2");
    has(refusal("a,b\n\n1,2\n"), "line 2, column 1: found an empty line, expected 2 fields");
    has(refusal("a\n\"1\n2\n"), "the end of the text inside the quotes opened on line 2");
    has(refusal("a\n\"1\"2\n"), "found “2” after a closing quote");
    has(refusal("a\n1\"2\n"), "line 2, column 1: found a quote inside an unquoted field");
    has(refusal("month,val\n1,2\n", true),
        "found the columns “month”, “val”, expected one called “value”");
    for (const char* word : {"x", "", " 1", "1 ", "1.5e", "0x10", "nan", "inf", "1e999", "+1"}) {
        CAPTURE(word);
        has(refusal("month,value\n1959-01," + std::string(word) + "\n", true),
            "a.csv, line 2, column 2 (value): found “" + std::string(word) +
                "”, expected a number");
    }
    has(refusal("value\n" + std::string(500, 'x') + "\n", true), "x…”");
}

TEST_CASE("a column that is not one") {
    has(refusal("value,month,value\n1,2,3\n", true),
        "a.csv, line 1: found two columns called “value”, expected one");
    std::string many = "c0";
    for (int i = 1; i < 1000; ++i) many += ",c" + std::to_string(i);
    std::string row = "0";
    for (int i = 1; i < 1000; ++i) row += ",0";
    has(refusal(many + "\n" + row + "\n", true), "“c7” and 992 more, expected one");
}

TEST_CASE("messages show control characters, they do not send them") {
    using namespace std::string_literals;
    has(refusal("value\na\x1b[31m\0b\x7f\n"s, true), "found “a\\x1b[31m\\x00b\\x7f”, expected");
    has(refusal("\x1b]0;x\a,b\n1,2\n"s, true), "columns “\\x1b]0;x\\x07”, “b”, expected");
    has(refusal("value\n\xff\xc3 CO₂\n", true), "found “\\xff\\xc3 CO₂”");
    CHECK(printable("é ₂ 😀\n\xc2\x9b\xe0\x80\x80\xed\xa0\x80\xf4\x90\x80\x80\xc3") ==
          "é ₂ 😀\\x0a\\xc2\\x9b\\xe0\\x80\\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc3");
    // What is cut is cut between characters.
    has(refusal("value\n" + std::string(39, 'x') + "₂y\n", true), std::string(39, 'x') + "…”");
}

TEST_CASE("files") {
    const auto path = std::filesystem::temp_directory_path() / "mercer_csv_test.csv";
    std::ofstream(path) << "value\n2.5\n";
    const Csv csv = Csv::read(path);
    CHECK(csv.number(0, 0) == 2.5);
    CHECK(csv.name() == path.string());
    std::filesystem::remove(path);
    const auto must_fail = [](const std::filesystem::path& where) {
        try {
            (void)Csv::read(where);
            FAIL("accepted");
        } catch (const FormatError&) {
            FAIL("a file that cannot be opened is no format error");
        } catch (const IoError& error) {
            has(error.what(), where.string());
        }
    };
    must_fail(path);
    must_fail(std::filesystem::temp_directory_path());
    must_fail("/proc/self/mem");  // opens, and cannot be read
}
