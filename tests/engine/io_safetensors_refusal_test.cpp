// safetensors: what is not the format is refused, each fault by its code, and so is what cannot be written.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/io/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/safetensors_files.h"

using namespace mercer;
using namespace mercer::io;
using namespace mercer::test;

TEST_CASE("every rejection has its code, names the file and says where") {
    const auto entry = [](const std::string& fields) { return "{\"t\":{" + fields + "}}"; };
    const auto shaped = [&](const std::string& shape) {
        return entry(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4])");
    };
    const auto placed = [&](const std::string& offsets) {
        return entry(R"("dtype":"F32","shape":[1],"data_offsets":)" + offsets);
    };
    const auto two = [](const std::string& a, const std::string& b) {
        return "{\"a\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":" + a +
               "},\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":" + b + "}}";
    };
    const auto named = [](const std::string& name) {
        return "{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    };
    std::string ones = "[1";
    for (int i = 0; i < 64; ++i) ones += ",1";
    struct Fault {
        std::string code, header, data, says;
    };
    const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
    const Fault faults[] = {
        {"header_empty", "", "", "write at least {}"},
        {"header_not_object", "[]", "", "begins with '['"},
        {"header_not_object", "\"a\"", "", "expected '{'"},
        {"byte_order_mark", "\xEF\xBB\xBF{}", "", "byte order mark"},
        {"leading_space", " {}", "", "white space"},
        {"leading_space", "\n{}", "", "white space"},
        {"nul_padding", "{}\0\0"s, "", "padded with NUL"},
        {"trailing_text", "{}x", "", "after the header's object"},
        {"trailing_text", "{}\n", "", "only spaces may follow"},
        {"trailing_text", "{}\0{}"s, "", "after the header's object"},
        {"trailing_text", "{}{}", "", "after the header's object"},
        {"invalid_syntax", "{", "", "not valid JSON"},
        {"invalid_syntax", "{\"t\":{" + good + "},}", "abcd", "not valid JSON"},
        {"invalid_syntax", "{'t':1}", "", "not valid JSON"},
        {"invalid_syntax", "{\"t\":{" + good + "}", "abcd", "unexpected end of input"},
        {"invalid_syntax", "{\0}"s, "", "not valid JSON"},
        {"invalid_syntax", "{\"a\tb\":1}", "", "control character"},
        {"invalid_syntax", "{\"\\\"\n\":1}", "", "control character"},
        {"invalid_syntax", R"({"\ud800":1})", "", "surrogate"},
        {"invalid_syntax", shaped("[01]"), "abcd", "not valid JSON"},
        {"invalid_syntax", shaped("[NaN]"), "abcd", "not valid JSON"},
        {"invalid_syntax", shaped("[1e999]"), "abcd", "not valid JSON"},
        {"invalid_syntax", "{/**/}", "", "not valid JSON"},
        {"invalid_utf8", "{\"\xff\":1}", "", "UTF-8"},
        {"invalid_utf8", "{\"\xc0\xaf\":1}", "", "UTF-8"},
        {"invalid_utf8", "{\"\xed\xa0\x80\":1}", "", "UTF-8"},
        {"duplicate_tensor", "{\"t\":{" + good + "},\"t\":{" + good + "}}", "abcd", "'t'"},
        {"duplicate_tensor", "{\"a\":{" + good + "},\"\\u0061\":{" + good + "}}", "abcd", "'a'"},
        {"duplicate_field", entry(R"("dtype":"F32","dtype":"F32")"), "", "'dtype' appears twice"},
        {"duplicate_field", entry(R"("shape":[],"shape":[])"), "", "'shape' appears twice"},
        {"duplicate_field", entry(R"("data_offsets":[0,4],"data_offsets":[0,4])"), "",
         "'data_offsets' appears twice"},
        {"duplicate_metadata", R"({"__metadata__":{},"__metadata__":{}})", "", "appears twice"},
        {"duplicate_metadata_key", R"({"__metadata__":{"k":"1","b":"","k":"2"}})", "", "'k'"},
        {"missing_field", entry(""), "", "'dtype' is missing"},
        {"missing_field", entry(R"("dtype":"F32","data_offsets":[0,4])"), "abcd", "'shape'"},
        {"missing_field", entry(R"("dtype":"F32","shape":[1])"), "abcd", "'data_offsets'"},
        {"unknown_field", entry(good + R"(,"x":1)"), "abcd", "'x' is not of the format"},
        {"entry_not_object", R"({"t":1})", "", "the number 1"},
        {"entry_not_object", R"({"t":null})", "", "null"},
        {"entry_not_object", R"({"t":[[[[[[[[]]]]]]]]})", "", "an array"},
        {"metadata_not_object", R"({"__metadata__":"x"})", "", "the text 'x'"},
        {"metadata_not_object", R"({"__metadata__":null})", "", "null"},
        {"metadata_not_string", R"({"__metadata__":{"k":1}})", "", "the number 1"},
        {"metadata_not_string", R"({"__metadata__":{"k":{}}})", "", "an object"},
        {"metadata_nul", R"({"__metadata__":{"k":"a\u0000b"}})", "", "NUL"},
        {"metadata_nul", R"({"__metadata__":{"a\u0000":"b"}})", "", "NUL"},
        {"name_empty", named(""), "abcd", "empty"},
        {"name_too_long", named(std::string(65537, 'n')), "abcd", "65537 bytes"},
        {"name_control_character", named("a\\nb"), "abcd", "control character 10"},
        {"name_control_character", named("\\u0000"), "abcd", "control character 0"},
        {"name_control_character", named("\x7f"), "abcd", "control character 127"},
        {"dtype_not_string", entry(R"("dtype":1)"), "", "the number 1"},
        {"unknown_dtype", entry(R"("dtype":"f32")"), "", "'f32' is no element type"},
        {"unknown_dtype", entry(R"("dtype":"")"), "", "'' is no element type"},
        {"shape_not_array", shaped("1"), "abcd", "the number 1"},
        {"shape_not_array", shaped("{}"), "abcd", "an object"},
        {"dimension_not_integer", shaped("[1.0]"), "abcd", "'1.0'"},
        {"dimension_not_integer", shaped("[1e0]"), "abcd", "'1e0'"},
        {"dimension_not_integer", shaped("[\"1\"]"), "abcd", "the text '1'"},
        {"dimension_not_integer", shaped("[true]"), "abcd", "a boolean"},
        {"dimension_not_integer", shaped("[[1]]"), "abcd", "an array"},
        {"dimension_negative", shaped("[-1]"), "abcd", "size -1"},
        {"dimension_negative", shaped("[-0]"), "abcd", "negative"},
        {"dimension_too_large", shaped("[9223372036854775808]"), "abcd", "2^63"},
        {"dimension_too_large", shaped("[18446744073709551616]"), "abcd", "2^63"},
        {"rank_above_limit", shaped(ones + "]"), "abcd", "more than 64"},
        {"shape_overflow", shaped("[4294967296,4294967296]"), "abcd", "too many"},
        {"shape_overflow", shaped("[9223372036854775807]"), "abcd", "too many"},
        {"shape_overflow", shaped("[0,4294967296,4294967296]"), "", "too many"},
        {"partial_byte", entry(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])"), "ab",
         "12 bits of F4"},
        {"offsets_not_array", placed("4"), "abcd", "[begin, end]"},
        {"offsets_count", placed("[0]"), "abcd", "1 offsets"},
        {"offsets_count", placed("[]"), "abcd", "0 offsets"},
        {"offsets_count", placed("[0,4,4]"), "abcd", "more than two"},
        {"offset_not_integer", placed("[0,4.0]"), "abcd", "'4.0'"},
        {"offset_not_integer", placed("[null,4]"), "abcd", "null"},
        {"offset_negative", placed("[-4,0]"), "abcd", "offset -4"},
        {"offset_too_large", placed("[0,18446744073709551616]"), "abcd", "64 bits"},
        {"offsets_reversed", placed("[4,0]"), "abcd", "[4, 0]"},
        {"span_beyond_file", placed("[0,4]"), "abc", "the file has 3 bytes of data"},
        {"span_beyond_file", placed("[18446744073709551612,18446744073709551615]"), "abcd",
         "18446744073709551615"},
        {"size_mismatch", placed("[0,8]"), "abcdefgh", "needs 4 bytes of F32, data_offsets give 8"},
        {"overlap", two("[0,4]", "[0,4]"), "abcd", "'b'"},
        {"overlap", two("[0,4]", "[2,6]"), "abcdef", "begin at 2, those before end at 4"},
        {"hole", two("[0,4]", "[5,9]"), "abcdefghi", "begin at 5, those before end at 4"},
        {"hole", placed("[4,8]"), "abcdefgh", "begin at 4, those before end at 0"},
        {"trailing_bytes", placed("[0,4]"), "abcde", "the file has 5"},
        {"trailing_bytes", "{}", "a", "after 0 bytes"},
    };
    const TemporaryDirectory directory;
    const std::string path = (directory / "bad.safetensors").string();
    for (const Fault& fault : faults) {
        CAPTURE(fault.header.substr(0, 200));
        const std::string bytes = file_of(fault.header, fault.data);
        put_file(path, bytes);
        for (bool map : {false, true}) {
            const Refusal r = refusal([&] { (void)Safetensors::open(path, {.map = map}); });
            CHECK(r.code == fault.code);
            CHECK(r.offset <= bytes.size());
            has(r.message, "[read_safetensors] " + path + ": ");
            has(r.message, fault.says);
            has(r.message, "(byte " + std::to_string(r.offset) + ")");
            CHECK(r.message.size() < 600);
        }
    }
}

TEST_CASE("lengths that lie, and the limits") {
    const auto code = [](const std::string& file, const ReadOptions& options = {}) {
        return refusal([&] { (void)parse(file, options); }).code;
    };
    CHECK(code("") == "file_too_short");
    CHECK(code("\2\0\0\0\0\0\0"s) == "file_too_short");
    CHECK(code("\2\0\0\0\0\0\0\0"s) == "header_beyond_file");
    CHECK(code("\3\0\0\0\0\0\0\0{}"s) == "header_beyond_file");
    CHECK(code("\xff\xff\xff\xff\xff\xff\xff\xff{}"s) == "header_beyond_file");
    CHECK(code("\xf8\xff\xff\xff\xff\xff\xff\xff{}"s) == "header_beyond_file");
    CHECK(code(file_of("{" + std::string(99, ' ') + "}"), {.max_header = 100}) ==
          "header_above_limit");
    CHECK(code(reference, {.max_tensors = 6}) == "too_many_tensors");
    CHECK(code(reference, {.max_tensors = 7}) == "accepted");
    // Every cut of a good file is refused.
    for (size_t n = 0; n < reference.size(); ++n) {
        CAPTURE(n);
        CHECK(code(reference.substr(0, n)) != "accepted");
    }
    const std::string flags =
        file_of(R"({"t":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", "\1\2\0"s);
    const Refusal r = refusal([&] { (void)parse(flags).read("t"); });
    CHECK(r.code == "not_a_bool");
    CHECK(r.offset == flags.size() - 2);
}

TEST_CASE("a file that shrinks after it was opened") {
    const TemporaryDirectory directory;
    put_file(directory / "s", reference);
    const Safetensors file = Safetensors::open(directory / "s");
    std::filesystem::resize_file(directory / "s", 470);
    CHECK(refusal([&] { (void)file.read("weight"); }).code == "truncated");
}

TEST_CASE("what cannot be opened or written") {
    const TemporaryDirectory directory;
    has(message_of<IoError>([&] { (void)Safetensors::open(directory / "absent"); }),
        "absent: cannot be opened: No such file or directory; check the path");
    has(message_of<IoError>([&] { (void)Safetensors::open(directory.path()); }),
        "is not a regular file");
    const auto refused = [&](const TensorMap& tensors, const Metadata& metadata = {}) {
        const std::string message =
            message_of<ValueError>([&] { write_safetensors(directory / "w", tensors, metadata); });
        CHECK(directory.files() == 0);
        return message;
    };
    const Tensor x = Tensor::from({1});
    has(refused({{"", x}}), "1 to 65536 bytes");
    has(refused({{"__metadata__", x}}), "__metadata__");
    has(refused({{std::string(65537, 'a'), x}}), "65536");
    has(refused({{"a\nb", x}}), "'a\\x0ab': its name has a control character");
    has(refused({{"\xff", x}}), "'\\xff' is not UTF-8");
    has(refused({{"x", Tensor()}}), "'x' is not defined");
    has(refused({{"x", x}}, {{"k", "\xff"}}), "UTF-8");
    has(refused({{"x", x}}, {{"k", "a\0b"s}}), "NUL");
}
