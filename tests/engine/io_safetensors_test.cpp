// safetensors: what is written is what the reference implementation writes, what is read is what was
// written, and what is not the format is refused, each fault by its code.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <ctime>
#include <limits>
#include <random>

#include "engine/error.h"
#include "engine/io/safetensors.h"
#include "tests/support/files.h"

using namespace mercer;
using namespace mercer::io;
using namespace mercer::test;
using namespace std::string_literals;

namespace {

// safetensors 0.8.0 (Rust, through Python) wrote this: save({"weight": [[1.5, -2], [3, 4]] f4,
// "bias": [0.25, -1e300] f8, "step": 7 i8, "mask": [True, False, True], "ids": [1, -2] i4,
// "none": zeros (0, 3) f4, "é\"": [5] f4}, {"note": "a\"b\n"}).
const std::string reference =
    "\xc0\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\":{\"note\":\"a\\\"b\\n\"},\"step\":{"
    "\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},\"bias\":{\"dtype\":\"F64\",\""
    "shape\":[2],\"data_offsets\":[8,24]},\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"da"
    "ta_offsets\":[24,24]},\"weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":"
    "[24,40]},\"\xc3\xa9\\\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[40,44]},"
    "\"ids\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[44,52]},\"mask\":{\"dtype\""
    ":\"BOOL\",\"shape\":[3],\"data_offsets\":[52,55]}}      \x07\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\xd0?\x9cu\x00\x88<\xe4"
    "7\xfe\x00\x00\xc0?\x00\x00\x00\xc0\x00"
    "\x00@@\x00\x00\x80@\x00\x00\xa0@\x01\x00\x00\x00\xfe\xff\xff\xff\x01\x00\x01"s;

Tensor bools(std::vector<int> values, const Shape& shape) {
    Tensor t = Tensor::empty(shape, DType::boolean);
    for (size_t i = 0; i < values.size(); ++i) t.mutable_data<bool>()[i] = values[i] != 0;
    return t;
}

TensorMap reference_tensors() {
    return {{"weight", Tensor::from({1.5f, -2.0f, 3.0f, 4.0f}, {2, 2})},
            {"bias", Tensor::from(std::vector<double>{0.25, -1e300})},
            {"step", Tensor::scalar(7, DType::i64)},
            {"mask", bools({1, 0, 1}, {3})},
            {"ids", Tensor::from(std::vector<int32_t>{1, -2})},
            {"none", Tensor::empty({0, 3})},
            {"\xc3\xa9\"", Tensor::from({5.0f})}};
}

std::string file_of(const std::string& header, const std::string& data = "") {
    std::string file(8, '\0');
    for (size_t i = 0; i < 8; ++i) file[i] = char(uint64_t(header.size()) >> 8 * i & 255);
    return file + header + data;
}

Safetensors parse(const std::string& file, const ReadOptions& options = {}) {
    return Safetensors::parse(bytes_of(file), options);
}

}  // namespace

TEST_CASE("the reference implementation's file, read and written byte for byte") {
    const Safetensors file = parse(reference);
    REQUIRE(file.size() == 7);
    const TensorMap expected = reference_tensors(), got = file.read_all();
    CHECK(got.size() == 7);
    for (const auto& [name, tensor] : expected) {
        CAPTURE(name);
        CHECK(file.contains(name));
        CHECK(same(file.read(name), tensor));
        CHECK(same(got.at(name), tensor));
    }
    CHECK(file.metadata() == Metadata{{"note", "a\"b\n"}});

    const TemporaryDirectory directory;
    write_safetensors(directory / "a.safetensors", expected, {{"note", "a\"b\n"}});
    CHECK(file_bytes(directory / "a.safetensors") == reference);
    CHECK(directory.files() == 1);
}

TEST_CASE("listing reads no data") {
    const Safetensors file = parse(reference);
    std::vector<std::string> names;
    for (size_t i = 0; i < file.size(); ++i) names.emplace_back(file.info(i).name);
    CHECK(names ==
          std::vector<std::string>{"bias", "ids", "mask", "none", "step", "weight", "\xc3\xa9\""});
    const TensorInfo weight = file.info("weight");
    CHECK(weight.element == Element::F32);
    CHECK(weight.shape == std::vector<int64_t>{2, 2});
    CHECK(weight.offset == 8 + 448 + 24);
    CHECK(weight.bytes == 16);
    CHECK(file.info("step").shape.empty());
    CHECK(file.info("none").shape == std::vector<int64_t>{0, 3});
    CHECK(file.read(std::vector<std::string>{"ids", "step"}).size() == 2);
    CHECK_FALSE(file.contains("weigh"));
    const Refusal missing = refusal([&] { (void)file.read("weigh"); });
    CHECK(missing.code == "no_such_tensor");
    has(missing.message, "[read_safetensors] (memory): 'weigh'");
    has(missing.message, "it has 7: 'bias', 'ids', 'mask', 'none', 'step', …");
}

TEST_CASE("every dtype, rank 0 to 8, sizes 0 and 1, views, by copy and by mapping") {
    const TemporaryDirectory directory;
    TensorMap tensors;
    std::mt19937_64 random(1);
    for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean})
        for (int rank = 0; rank <= 8; ++rank)
            for (int64_t odd : {0, 1, 3}) {
                Shape shape = Dims::filled(rank, 2);
                if (rank) shape[int(random() % uint64_t(rank))] = odd;
                Tensor t = Tensor::empty(shape, dtype);
                auto* bytes = static_cast<unsigned char*>(t.raw());
                for (size_t i = 0; i < size_t(t.count()) * size_of(dtype); ++i)
                    bytes[i] = static_cast<unsigned char>(dtype == DType::boolean ? random() & 1
                                                                                  : random());
                const std::string name =
                    std::string(name_of(dtype)) + std::to_string(rank) + "." + std::to_string(odd);
                tensors[name] = t;
                if (rank >= 2) tensors[name + ".t"] = t.transposed();
            }
    const Tensor base = Tensor::arange(24, DType::f64);
    tensors["view"] = base.view({2, 3}, {12, 2}, 1);
    tensors["backwards"] = base.view({4}, {-3}, 20);
    tensors["expanded"] = base.view({3, 2}, {0, 1}, 4);
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
    tensors["special"] = Tensor::from({nan, -nan, inf, -inf, -0.0f, 1e-45f});

    const auto path = directory / "all.safetensors";
    write_safetensors(path, tensors);
    for (bool map : {false, true}) {
        const Safetensors file = Safetensors::open(path, {.map = map});
        REQUIRE(file.size() == tensors.size());
        for (const auto& [name, tensor] : tensors) {
            CAPTURE(name);
            const Tensor t = file.read(name);
            CHECK(same(t, tensor));
            CHECK(t.is_contiguous());
            const bool aligned = reinterpret_cast<uintptr_t>(t.raw()) % size_of(t.dtype()) == 0;
            CHECK(aligned);
        }
    }
}

TEST_CASE("a mapped tensor outlives its file, writing to it leaves the file alone") {
    const TemporaryDirectory directory;
    const auto path = directory / "m.safetensors";
    write_safetensors(path, {{"x", Tensor::from({1, 2, 3})}});
    Tensor x = Safetensors::open(path, {.map = true}).read("x");
    CHECK(x.storage()->release_external != nullptr);  // no copy
    x.fill(9);
    CHECK(x.to_vector<float>() == std::vector<float>{9, 9, 9});
    CHECK(same(Safetensors::open(path).read("x"), Tensor::from({1, 2, 3})));

    const Tensor before = Safetensors::open(path, {.map = true}).read("x");
    const Safetensors open = Safetensors::open(path);
    write_safetensors(path, {{"x", Tensor::from({4, 5, 6})}});
    CHECK(same(before, Tensor::from({1, 2, 3})));
    CHECK(same(open.read("x"), Tensor::from({1, 2, 3})));
    CHECK(same(Safetensors::open(path).read("x"), Tensor::from({4, 5, 6})));
}

TEST_CASE("data that lie badly are copied from a mapping") {
    const TemporaryDirectory directory;
    // The header has an odd length; the reference implementation reads such files too.
    const std::string header =
        R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
    std::string data = "\1........";
    const float values[] = {1.25f, -7};
    std::memcpy(data.data() + 1, values, 8);
    for (const char* pad : {"", " ", "  ", "   ", "    "}) {
        put_file(directory / "odd", file_of(header + pad, data));
        const Safetensors file = Safetensors::open(directory / "odd", {.map = true});
        const Tensor x = file.read("x");
        CHECK(same(x, Tensor::from({1.25f, -7})));
        const bool lies_well = file.info("x").offset % 4 == 0;
        CHECK((x.storage()->release_external != nullptr) == lies_well);
    }
}

TEST_CASE("other element types: listed, refused by name, widened on request") {
    const std::string header = R"({"bf":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
                               R"("h":{"dtype":"F16","shape":[7],"data_offsets":[6,20]},)"
                               R"("i1":{"dtype":"I8","shape":[2],"data_offsets":[20,22]},)"
                               R"("i2":{"dtype":"I16","shape":[1],"data_offsets":[22,24]},)"
                               R"("u1":{"dtype":"U8","shape":[2],"data_offsets":[24,26]},)"
                               R"("u2":{"dtype":"U16","shape":[1],"data_offsets":[26,28]},)"
                               R"("u4":{"dtype":"U32","shape":[1],"data_offsets":[28,32]},)"
                               R"("u8":{"dtype":"U64","shape":[1],"data_offsets":[32,40]},)"
                               R"("f4":{"dtype":"F4","shape":[4],"data_offsets":[40,42]}})";
    const std::string data =
        "\x80\x3f\xc0\xff\x80\x7f"                                  // 1, NaN, ∞
        "\x00\x3e\x00\x80\x01\x00\xff\x03\x00\x7c\xff\x7b\x01\xfe"  // see below
        "\xff\x7f\x00\x80\xff\x80\xff\xff\xff\xff\xff\xff"
        "........\x12\x34"s;
    const std::string bytes = file_of(header, data);  // outlives what reads it
    const Safetensors strict = parse(bytes);
    CHECK(strict.info("bf").element == Element::BF16);
    for (size_t i = 0; i < strict.size(); ++i) {
        const TensorInfo info = strict.info(i);
        if (info.element == Element::BF16) continue;  // which tensors have
        const Refusal r = refusal([&] { (void)strict.read(info.name); });
        CHECK(r.code == "unsupported_dtype");
        has(r.message, "type " + std::string(name_of(info.element)));
        CHECK(r.offset == info.offset);
    }
    has(refusal([&] { (void)strict.read("h"); }).message,
        "ReadOptions::widen converts them to f32");

    const Safetensors wide = parse(bytes, {.widen = true});
    const auto bf = wide.read("bf").to_vector<float>();
    CHECK(bf[0] == 1.0f);
    CHECK(std::isnan(bf[1]));
    CHECK(bf[2] == HUGE_VALF);
    const auto h = wide.read("h").to_vector<float>();
    CHECK(h[0] == 1.5f);
    CHECK(std::bit_cast<uint32_t>(h[1]) == 0x80000000u);
    CHECK(h[2] == 0x1p-24f);
    CHECK(h[3] == 1023 * 0x1p-24f);
    CHECK(h[4] == HUGE_VALF);
    CHECK(h[5] == 65504.0f);
    CHECK(std::bit_cast<uint32_t>(h[6]) == 0xffc02000u);
    CHECK(wide.read("i1").to_vector<int32_t>() == std::vector<int32_t>{-1, 127});
    CHECK(wide.read("i2").to_vector<int32_t>() == std::vector<int32_t>{-32768});
    CHECK(wide.read("u1").to_vector<int32_t>() == std::vector<int32_t>{255, 128});
    CHECK(wide.read("u2").to_vector<int32_t>() == std::vector<int32_t>{65535});
    CHECK(wide.read("u4").dtype() == DType::i64);
    CHECK(wide.read("u4").to_vector<int64_t>() == std::vector<int64_t>{4294967295});
    CHECK(refusal([&] { (void)wide.read("u8"); }).code == "unsupported_dtype");
    CHECK(refusal([&] { (void)wide.read("f4"); }).code == "unsupported_dtype");
}

TEST_CASE("all 65536 halves widen to the value of their bits") {
    std::string data(2 << 16, '\0');
    for (size_t i = 0; i < 65536; ++i) {
        data[2 * i] = char(i & 255);
        data[2 * i + 1] = char(i >> 8);
    }
    const std::string shape = R"(,"shape":[65536],"data_offsets":[0,131072]}})";
    const auto half =
        parse(file_of(R"({"x":{"dtype":"F16")" + shape, data), {.widen = true}).read("x");
    const auto brain =
        parse(file_of(R"({"x":{"dtype":"BF16")" + shape, data), {.widen = true}).read("x");
    int wrong = 0;
    for (int i = 0; i < 65536; ++i) {
        const auto value = [&](int exponent_bits, int fraction_bits) {
            const int e = i >> fraction_bits & ((1 << exponent_bits) - 1);
            const int f = i & ((1 << fraction_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
            const double sign = i >> 15 ? -1 : 1;
            if (e == (1 << exponent_bits) - 1) return f ? double(NAN) : sign * double(HUGE_VAL);
            return e ? sign * std::ldexp(1 + std::ldexp(f, -fraction_bits), e - bias)
                     : sign * std::ldexp(f, 1 - bias - fraction_bits);
        };
        for (const auto& [got, expected] :
             {std::pair{double(half.data<float>()[i]), value(5, 10)},
              std::pair{double(brain.to_vector<float>()[i]), value(8, 7)}})
            wrong += std::isnan(expected) ? !std::isnan(got)
                                          : got != expected || std::signbit(got) != (i >> 15 != 0);
    }
    CHECK(wrong == 0);
}

TEST_CASE("accepted although unusual") {
    CHECK(parse(file_of("{}")).size() == 0);
    CHECK(parse(file_of("{}      ")).size() == 0);
    CHECK(parse(file_of(R"({"__metadata__":{}})")).metadata().empty());
    const Safetensors spaced = parse(file_of(
        "{ \"a\\u0062\" : {\n\"data_offsets\" :\t[ 0 , 8 ], \"shape\":[ 2 ,1 , 1\r],\"dtype\":"
        "\"F32\" } } ",
        "12345678"));
    CHECK(spaced.info("ab").shape == std::vector<int64_t>{2, 1, 1});
    const Safetensors escapes = parse(file_of("{\"__metadata__\"\n:\r{\"\\\"\\\\\"\t:\"\\n\"}}"));
    CHECK(escapes.metadata() == Metadata{{"\"\\", "\n"}});
    const Safetensors any = parse(file_of(
        R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"y":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"x":{"dtype":"U8","shape":[0,7],"data_offsets":[0,0]},"__metadata__":{"\u00e9\ud83d\ude00":"","":"v"}})",
        "abcd"));
    CHECK(any.size() == 3);
    CHECK(any.metadata() == Metadata{{"", "v"}, {"\xc3\xa9\xf0\x9f\x98\x80", ""}});
    // Rank 9 can be listed, not read.
    const std::string bytes =
        file_of(R"({"x":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "a");
    const Safetensors deep = parse(bytes, {.widen = true});
    CHECK(deep.info("x").shape.size() == 9);
    CHECK(refusal([&] { (void)deep.read("x"); }).code == "unsupported_rank");
}

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

TEST_CASE("a million tensors in linear time") {
    // Twice the tensors take about twice the time; 4 leaves room for caches.
    const auto seconds = [](int n) {
        std::string header = "{";
        for (int i = 0; i < n; ++i)
            header +=
                "\"" + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
        header.back() = '}';
        const std::string bytes = file_of(header);
        double best = 1e9;
        for (int round = 0; round < 2; ++round) {
            const std::clock_t start = std::clock();  // of this process: others may be busy
            CHECK(parse(bytes).size() == size_t(n));
            const double took = double(std::clock() - start) / CLOCKS_PER_SEC;
            best = std::min(best, took);
        }
        return best;
    };
    const double half = seconds(500'000), whole = seconds(1'000'000);
    MESSAGE("500 000 tensors: ", half, " s, 1 000 000: ", whole, " s");
    CHECK(whole < 4 * half);
}
