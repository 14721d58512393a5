// safetensors: what is written is what the reference implementation writes, and what is read is what was
// written (io_safetensors_refusal_test.cpp: what is refused).
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <ctime>
#include <limits>
#include <random>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/io/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/safetensors_files.h"

using namespace mercer;
using namespace mercer::io;
using namespace mercer::test;

namespace {

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
                if (rank >= 2) tensors[name + ".t"] = transpose(t);
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

TEST_CASE("a million tensors in linear time") {
    // Four times the tensors take about four times the time, and not sixteen; 10 leaves room for caches and neighbours.
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
    const double quarter = seconds(250'000), whole = seconds(1'000'000);
    MESSAGE("250 000 tensors: ", quarter, " s, 1 000 000: ", whole, " s");
    CHECK(whole < 10 * quarter);
}
