// npy: files that NumPy wrote, byte for byte the same written, and each fault refused by its code.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/io/npy.h"
#include "tests/support/files.h"

using namespace mercer;
using namespace mercer::io;
using namespace mercer::test;
using namespace std::string_literals;

namespace {

// Written by NumPy 2.4.6 (numpy.lib.format.write_array).
const std::string f4 =  // [[1, 2, 3], [4, 5, 6]]
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }    "
    "                                                      \x0a\x00\x00\x80?\x00\x00\x00@\x00"
    "\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xc0@"s;
const std::string f8_fortran =  // the same
    "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }     "
    "                                                      \x0a\x00\x00\x00\x00\x00\x00\xf0"
    "?\x00\x00\x00\x00\x00\x00\x10@\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\x14"
    "@\x00\x00\x00\x00\x00\x00\x08@\x00\x00\x00\x00\x00\x00\x18@"s;
const std::string i4_big_endian_v2 =  // [1, -2, 3]
    "\x93NUMPY\x02\x00t\x00\x00\x00{'descr': '>i4', 'fortran_order': False, 'shape': (3,),"
    " }                                                          \x0a\x00\x00\x00\x01\xff\xff"
    "\xff\xfe\x00\x00\x00\x03"s;
const std::string b1_scalar_v3 =  // True
    "\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '|b1', 'fortran_order': False, 'shape': (), }"
    "                                                            \x0a\x01"s;
const std::string f2 =  // [1.5, -0.0, 2⁻²⁴, ∞, 65504]
    "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }      "
    "                                                      \x0a\x00>\x00\x80\x01\x00\x00|\xff"
    "{"s;
const std::string i8 =  // [[[-1]]]
    "\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1, 1), } "
    "                                                      \x0a\xff\xff\xff\xff\xff\xff\xff"
    "\xff"s;

std::string file_of(const std::string& header, const std::string& data = "", int version = 1) {
    std::string file = "\x93NUMPY"s + char(version) + '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += char(header.size() >> 8 * i & 255);
    return file + header + data;
}
Tensor parse(const std::string& file, const ReadOptions& options = {}) {
    return parse_npy(bytes_of(file), options);
}
std::string described(const std::string& descr) {
    return "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }\n";
}
std::string shaped(const std::string& shape) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

}  // namespace

TEST_CASE("NumPy's files are read") {
    const Tensor matrix = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
    CHECK(same(parse(f4), matrix));
    const Tensor fortran = parse(f8_fortran);
    CHECK(fortran.strides() == Strides{1, 2});
    CHECK(same(fortran, Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3})));
    CHECK(same(parse(i4_big_endian_v2), Tensor::from(std::vector<int32_t>{1, -2, 3})));
    CHECK(same(parse(b1_scalar_v3), Tensor::full({}, 1, DType::boolean)));
    CHECK(same(parse(i8), Tensor::full({1, 1, 1}, -1, DType::i64)));

    const Refusal r = refusal([] { (void)parse(f2); });
    CHECK(r.code == "unsupported_dtype");
    has(r.message, "type F16; ReadOptions::widen converts them to f32");
    const auto half = parse(f2, {.widen = true}).to_vector<float>();
    CHECK(half == std::vector<float>{1.5f, -0.0f, 0x1p-24f, HUGE_VALF, 65504});
}

TEST_CASE("what is written is what NumPy writes") {
    const TemporaryDirectory directory;
    const auto written = [&](const Tensor& t) {
        write_npy(directory / "a.npy", t);
        return file_bytes(directory / "a.npy");
    };
    CHECK(written(Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3})) == f4);
    CHECK(written(Tensor::full({1, 1, 1}, -1, DType::i64)) == i8);
    CHECK(written(transpose(Tensor::from({1, 4, 2, 5, 3, 6}, {3, 2}))) == f4);
}

TEST_CASE("every dtype and rank comes back, by copy and by mapping") {
    const TemporaryDirectory directory;
    std::mt19937_64 random(2);
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
                const auto path = directory / "t.npy";
                write_npy(path, t);
                CHECK(same(read_npy(path), t));
                const Tensor mapped = read_npy(path, {.map = true});
                CHECK(same(mapped, t));
                CHECK((mapped.storage()->release_external != nullptr) == (t.count() > 0));
                const NpyInfo info = npy_info(path);
                CHECK(info.shape == std::vector<int64_t>(shape.begin(), shape.end()));
                CHECK(info.offset % 64 == 0);
                CHECK(info.bytes == size_t(t.count()) * size_of(dtype));
            }
    put_file(directory / "f.npy", f8_fortran);
    CHECK(same(read_npy(directory / "f.npy", {.map = true}), parse(f8_fortran)));
}

TEST_CASE("narrow and big-endian types") {
    const auto read = [](const std::string& type, const std::string& data) {
        return parse(file_of(described("'" + type + "'"), data), {.widen = true});
    };
    CHECK(read("|i1", "\xff").item<int>() == -1);
    CHECK(read("|u1", "\xff").item<int>() == 255);
    CHECK(read("<i2", "\x00\x80"s).item<int>() == -32768);
    CHECK(read(">i2", "\x80\x00"s).item<int>() == -32768);
    CHECK(read(">u2", "\x01\x02").item<int>() == 258);
    CHECK(read(">u4", "\xff\x00\x00\x01"s).item<int64_t>() == 0xff000001);
    CHECK(read(">f2", "\x3e\x00"s).item<double>() == 1.5);
    CHECK(read(">f4", "\x3f\xc0\x00\x00"s).item<double>() == 1.5);
    CHECK(read(">f8", "\xbf\xf8\x00\x00\x00\x00\x00\x00"s).item<double>() == -1.5);
    CHECK(read(">i8", "\xff\xff\xff\xff\xff\xff\xff\xfe").item<int64_t>() == -2);
    CHECK(read(">b1", "\x01").dtype() == DType::boolean);
}

TEST_CASE("accepted although unusual") {
    const std::string data = "\0\0\x80?"s;
    for (const char* header :
         {"{'shape': (1,), 'descr': '<f4', 'fortran_order': False}",
          "{\"shape\":(1,),\"descr\":\"<f4\",\"fortran_order\":True,}\n",
          " { 'shape' : ( 1 , ) , 'descr' : '<f4' , 'fortran_order' : False , } \n ",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1L,), }\n",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }\n",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1,), }\n",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n"})
        for (int version : {1, 2, 3}) {
            CAPTURE(header);
            CHECK(parse(file_of(header, data, version)).item<float>() == 1.0f);
        }
    CHECK(parse(file_of(shaped("(0,)"))).shape() == Shape{0});
    const std::string wide = shaped("(1,)") + std::string(70'000, ' ') + "\n";
    CHECK(parse(file_of(wide, data, 2)).item<float>() == 1.0f);
}

TEST_CASE("every rejection has its code, names the file and says where") {
    struct Fault {
        std::string code, bytes, says;
    };
    const std::string one = "abcd";
    std::string ones = "(1";
    for (int i = 0; i < 64; ++i) ones += ", 1";
    const auto faulty = [&](const std::string& header) { return file_of(header, one); };
    const Fault faults[] = {
        {"file_too_short", "", "0 bytes"},
        {"file_too_short", "\x93NUMPY\1\0\0"s, "9 bytes"},
        {"file_too_short", "\x93NUMPY\2\0\0\0"s, "within the header's length"},
        {"bad_magic", "\x92NUMPY\1\0\0\0"s, "does not begin as an npy file"},
        {"bad_magic", "PK\3\4............", "does not begin as an npy file"},
        {"bad_version", "\x93NUMPY\4\0\0\0\0\0"s, "version 4.0"},
        {"bad_version", "\x93NUMPY\0\0\0\0\0\0"s, "version 0.0"},
        {"bad_version", "\x93NUMPY\1\1\0\0\0\0"s, "version 1.1"},
        {"header_beyond_file", "\x93NUMPY\1\0\3\0{}"s, "length, 3"},
        {"header_beyond_file", "\x93NUMPY\2\0\xff\xff\xff\xff{}"s, "length, 4294967295"},
        {"header_above_limit", file_of(std::string((1 << 20) + 1, ' '), "", 2), "1048577"},
        {"header_not_object", faulty(""), "the dict"},
        {"header_not_object", faulty("[]"), "the dict"},
        {"nul_padding", faulty(shaped("(1,)") + '\0'), "spaces and a newline"},
        {"trailing_text", faulty(shaped("(1,)") + "x"), "spaces and a newline"},
        {"invalid_syntax", faulty("{"), "a key in quotes"},
        {"invalid_syntax", faulty("{descr: '<f4'}"), "a key in quotes, found 'descr"},
        {"invalid_syntax", faulty("{'descr' '<f4'}"), "':'"},
        {"invalid_syntax", faulty("{'descr': '<f4' 'shape': ()}"), "',' or '}'"},
        {"invalid_syntax", faulty("{'descr"), "a key in quotes"},
        {"invalid_syntax", faulty(shaped("(1 2)")), "',' or ')'"},
        {"dimension_not_integer", faulty(shaped("(1,")), "found ', }"},
        {"unknown_field", faulty("{'Descr': '<f4'}"), "keys are descr, fortran_order and shape"},
        {"duplicate_field", faulty("{'shape': (1,), 'shape': (1,)}"), "'shape' (byte"},
        {"missing_field", faulty("{}"), "'descr' is missing"},
        {"missing_field", faulty("{'descr': '<f4', 'shape': (1,)}"), "'fortran_order' is missing"},
        {"missing_field", faulty("{'descr': '<f4', 'fortran_order': False}"), "'shape' is missing"},
        {"dtype_not_string", faulty(described("None")), "an element type in quotes"},
        {"structured_dtype", faulty(described("[('a', '<f4')]")), "each of its fields"},
        {"structured_dtype", faulty(described("('<f4', (2,))")), "each of its fields"},
        {"object_dtype", faulty(described("'|O'")), "Python objects"},
        {"object_dtype", faulty(described("'O'")), "Python objects"},
        {"unknown_dtype", faulty(described("''")), "''"},
        {"unknown_dtype", faulty(described("'<'")), "'<'"},
        {"unknown_dtype", faulty(described("'f4'")), "'f4'"},
        {"unknown_dtype", faulty(described("'|f4'")), "'|f4'"},
        {"unknown_dtype", faulty(described("'=f4'")), "'=f4'"},
        {"unknown_dtype", faulty(described("'<f16'")), "'<f16'"},
        {"unknown_dtype", faulty(described("'<U5'")), "'<U5'"},
        {"unknown_dtype", faulty(described("'<M8[ns]'")), "'<M8[ns]'"},
        {"unsupported_dtype", file_of(described("'<u8'"), "abcdefgh"), "type U64"},
        {"unsupported_dtype", file_of(described("'<c8'"), "abcdefgh"), "type C64"},
        {"unsupported_dtype", file_of(described("'|u1'"), "a"), "widen"},
        {"order_not_bool", faulty("{'fortran_order': 0}"), "True or False"},
        {"order_not_bool", faulty("{'fortran_order': 'False'}"), "True or False"},
        {"shape_not_array", faulty(shaped("1")), "a tuple"},
        {"shape_not_array", faulty(shaped("[1]")), "a tuple"},
        {"shape_not_array", faulty(shaped("(1)")), "a tuple of one is (n,)"},
        {"dimension_not_integer", faulty(shaped("(1.0,)")), "'1.0,)"},
        {"dimension_not_integer", faulty(shaped("(,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("(1,,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("(01,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("(0x1,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("(1_0,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("(+1,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("(True,)")), "a whole number"},
        {"dimension_not_integer", faulty(shaped("((1,),)")), "a whole number"},
        // a locale that groups digits made this of 2621401
        {"truncated", faulty(shaped("(2,621, 401)")), "needs 1992168 bytes"},
        {"dimension_negative", faulty(shaped("(-1,)")), "negative"},
        {"dimension_too_large", faulty(shaped("(9223372036854775808,)")), "2^63"},
        {"rank_above_limit", faulty(shaped(ones + ")")), "64 sizes"},
        {"shape_overflow", faulty(shaped("(4294967296, 4294967296)")), "64 bits"},
        {"shape_overflow", faulty(shaped("(0, 4294967296, 4294967296)")), "64 bits"},
        {"truncated", file_of(shaped("(2,)"), "abcdefg"), "needs 8 bytes of data, the file has 7"},
        {"truncated", file_of(shaped("(1000000000000,)")), "needs 4000000000000"},
        {"trailing_bytes", file_of(shaped("(1,)"), "abcde"), "the file has 5"},
        {"unsupported_rank", file_of(shaped("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), one), "rank 9"},
        {"not_a_bool", file_of(described("'|b1'"), "\2"), "byte 2"},
    };
    const TemporaryDirectory directory;
    const std::string path = (directory / "bad.npy").string();
    for (const Fault& fault : faults) {
        CAPTURE(fault.bytes.substr(0, 200));
        put_file(path, fault.bytes);
        for (bool map : {false, true}) {
            const Refusal r = refusal([&] { (void)read_npy(path, {.map = map}); });
            CHECK(r.code == fault.code);
            CHECK(r.offset <= fault.bytes.size());
            has(r.message, "[read_npy] " + path + ": ");
            has(r.message, fault.says);
            CHECK(r.message.size() < 600);
        }
    }
    for (const std::string& file : {f4, f8_fortran, i4_big_endian_v2, b1_scalar_v3})
        for (size_t n = 0; n < file.size(); ++n)
            CHECK(refusal([&] { (void)parse(file.substr(0, n)); }).code != "accepted");
    has(message_of<ValueError>([&] { write_npy(path, Tensor()); }), "not defined");
}
