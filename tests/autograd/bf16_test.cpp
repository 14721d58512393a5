// bf16: rounded once by every conversion, moved by what moves elements, refused with a reason by what computes, and
// transparent to gradients.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/io/npy.h"
#include "engine/io/safetensors.h"
#include "engine/random.h"
#include "tests/cases.h"
#include "tests/support/bits.h"
#include "tests/support/files.h"
#include "tests/support/message.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

// The bits nearest to x among all that are finite, ties to even; found by their order, not by the rounding under test.
uint16_t nearest(long double x) {
    const long double size = std::fabs(x);
    const auto value = [](uint32_t bits) {
        return (long double)(std::bit_cast<float>(bits << 16));
    };
    uint32_t low = 0, high = 0x7f80;  // value(low) ≤ size < value(high), where ∞ counts as 2^128
    while (high - low > 1) (value((low + high) / 2) <= size ? low : high) = (low + high) / 2;
    const long double above = high == 0x7f80 ? 0x1p128L : value(high), below = size - value(low),
                      left = above - size;
    const uint32_t bits =
        size == HUGE_VALL || below > left || (below == left && (low & 1)) ? high : low;
    return uint16_t((size == HUGE_VALL ? 0x7f80 : bits) | (std::signbit(x) ? 0x8000 : 0));
}

// Around every number that bf16 rounds one way or the other at.
template <class T>
std::vector<T> hard_numbers() {
    std::vector<T> list;
    for (uint32_t bits = 0; bits < 0x7f80; bits += 3) {
        const double at = std::bit_cast<float>(bits << 16),
                     next = std::bit_cast<float>((bits + 1) << 16),
                     tie = bits + 1 == 0x7f80 ? 0x1.ffp127 : (at + next) / 2;
        for (double x : {at, tie})
            for (double y : {x, std::nextafter(x, 0.0), std::nextafter(x, HUGE_VAL),
                             x * (1 + 0x1p-24), x * (1 - 0x1p-25)}) {
                if constexpr (std::is_integral_v<T>) {
                    if (y < double(std::numeric_limits<T>::max()))
                        for (int64_t d : {-1, 0, 1})
                            if (int64_t(y) < std::numeric_limits<T>::max())
                                list.push_back(T(int64_t(y) + d)),
                                    list.push_back(T(-(int64_t(y) + d)));
                } else {
                    list.push_back(T(y)), list.push_back(T(-y));
                }
            }
    }
    list.push_back(std::numeric_limits<T>::max());
    list.push_back(std::numeric_limits<T>::lowest());
    if constexpr (!std::is_integral_v<T>) list.push_back(T(HUGE_VAL)), list.push_back(T(-HUGE_VAL));
    return list;
}

const uint16_t* bits_of(const Tensor& x) {
    return reinterpret_cast<const uint16_t*>(x.data<BFloat16>());
}

template <class T>
void check_rounding() {
    const std::vector<T> numbers = hard_numbers<T>();
    const Tensor x = Tensor::from(numbers);
    const Restore restore;
    for (Isa isa : available_isas()) {
        set_isa(isa);
        const Tensor y = cast(x, DType::bf16);
        int64_t wrong = 0;
        for (size_t i = 0; i < numbers.size(); ++i)
            wrong += bits_of(y)[i] != nearest((long double)(numbers[i]));
        CHECK_MESSAGE(wrong == 0, name_of(x.dtype()), " on ", name_of(isa), ": ", wrong, " of ",
                      numbers.size());
    }
}

Tensor all_bf16() {
    std::vector<uint16_t> bits(65536);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = uint16_t(i);
    Tensor x = Tensor::empty({65536}, DType::bf16);
    std::memcpy(x.mutable_data<BFloat16>(), bits.data(), 131072);
    return x;
}

}  // namespace

TEST_CASE("every conversion rounds once, to nearest even, on every instruction set") {
    check_rounding<float>();
    check_rounding<double>();
    check_rounding<int32_t>();
    check_rounding<int64_t>();
    CHECK(std::isnan(cast(Tensor::scalar(NAN), DType::bf16).item<float>()));
    // Of this NaN nothing would be left but infinity, were its upper half taken.
    const float faint = std::bit_cast<float>(0x7f800001u);
    CHECK(std::isnan(cast(Tensor::from(std::vector<float>{faint}), DType::bf16).item<float>()));
    CHECK(cast(Tensor::full({2}, 1, DType::boolean), DType::bf16).to_string() == "bf16(2) [1, 1]");
}

TEST_CASE("every bf16 comes back from f32 and f64, and converts as its f32 does") {
    const Tensor x = all_bf16(), wide = cast(x, DType::f32);
    for (size_t i = 0; i < 65536; ++i) {
        const float got = wide.data<float>()[i];
        const uint32_t bits = std::bit_cast<uint32_t>(got);
        if (!std::isnan(got)) REQUIRE(bits == uint32_t(i) << 16);
    }
    for (DType t : {DType::f64, DType::i32, DType::i64, DType::boolean})
        CHECK(difference(cast(x, t), cast(wide, t)) == "");
    for (DType t : {DType::f32, DType::f64})
        CHECK(difference(cast(cast(cast(x, t), DType::bf16), DType::f32), wide) == "");
}

TEST_CASE("every operation moves bf16 as it moves f32, or refuses it") {
    std::set<std::string> moved;
    size_t refused = 0;
    for (const std::vector<cases::Case>* list : {&cases::small(), &cases::large()})
        for (const cases::Case& c : *list) {
            std::vector<Var> stored, wide;
            for (const Tensor& t : cases::make_inputs(c, DType::f32)) {
                // Converted where it lies: strides and offsets stay as the case wants them.
                Tensor y = Tensor::empty({int64_t(t.storage()->bytes / 4)}, DType::bf16);
                const Tensor all = t.view(y.shape(), {1}, 0);
                cast(all, DType::bf16).copy_to(y);
                stored.push_back(Var(y.view(t.shape(), t.strides(), t.offset())));
                wide.push_back(Var(cast(y, DType::f32).view(t.shape(), t.strides(), t.offset())));
            }
            try {
                const Tensor got = c.f(stored).value();
                CHECK_MESSAGE(
                    difference(cast(got, DType::f64), cast(c.f(wide).value(), DType::f64)) == "",
                    c.name);
                moved.insert(c.name.substr(0, c.name.find(' ')));
            } catch (const DTypeError& error) {
                ++refused;
                CHECK_MESSAGE(std::string(error.what()).find("cast") != std::string::npos,
                              error.what());
            }
        }
    for (const char* name : {"cast", "reshape", "transpose", "slice", "unslice", "concat", "stack",
                             "pad", "roll", "tile", "repeat", "where", "masked_fill", "gather",
                             "scatter", "index_select", "embedding", "tril", "triu"})
        CHECK_MESSAGE(moved.contains(name), std::string(name), " refuses bf16");
    for (const char* name :
         {"add", "exp", "matmul", "softmax", "sum", "argmax", "sort", "cumsum", "cummax", "equal",
          "count_nonzero", "segment_sum", "scatter_add", "layer_norm", "searchsorted", "norm_p"})
        CHECK_MESSAGE(!moved.contains(name), std::string(name), " computes with bf16");
    MESSAGE(moved.size() << " operations move bf16, " << refused << " cases refuse it");
}

TEST_CASE("what refuses says which operation, and what to do") {
    const Tensor x = cast(Tensor::from({1, 2}), DType::bf16);
    CHECK(message_of([&] { equal(x, x); }) ==
          "[equal] bf16 is for storage; use cast, to f32 or f64");
    CHECK(message_of([&] { count_nonzero(x); }) ==
          "[count_nonzero] bf16 is for storage; use cast, to f32 or f64");
    CHECK(message_of([&] { x + x; }) == "[add] works on f32, f64, i32 and i64, got bf16; use cast");
    CHECK(message_of([&] { x.data<float>(); }) ==
          "[data] the tensor holds bf16, asked for f32; use cast");
    Tape tape;
    CHECK(message_of([&] { tape.watch(x); }) ==
          "[watch] only f32 and f64 have gradients, got bf16");
}

TEST_CASE("made, filled, copied, printed") {
    Tensor x = Tensor::full({3, 5}, 0.1, DType::bf16);
    CHECK(x.storage()->bytes == 30);
    CHECK(x.to_vector<float>()[14] == 0x1.9ap-4f);
    CHECK(Tensor::eye(2, -1, DType::bf16).to_string() == "bf16(2,2) [[1, 0], [0, 1]]");
    CHECK(Tensor::arange(3, DType::bf16, 0.5).to_vector<float>() ==
          std::vector<float>{0.5f, 1.5f, 2.5f});
    CHECK(Tensor::full({1 << 15}, -2, DType::bf16).to_vector<int32_t>()[(1 << 15) - 1] == -2);
    Tensor part = slice(transpose(x), 0, 1, 4, 2);
    part.fill(7);
    CHECK(sum(cast(x, DType::f32)).item<float>() == doctest::Approx(9 * 0.10009765625 + 42));
    CHECK(Tensor::full({}, 1e300, DType::bf16).item<double>() == HUGE_VAL);
    const Tensor far = randn(Key{3, 1}, {70, 130}), near = cast(far, DType::bf16);
    CHECK(difference(cast(transpose(near).clone(), DType::f32),
                     cast(transpose(cast(near, DType::f32)).clone(), DType::f32)) == "");
}

TEST_CASE("gradients pass the rounding, and what is moved while it is stored") {
    const Tensor a = randn(Key{1, 1}, {4, 6}), u = randn(Key{1, 2}, {6, 3});
    const auto gradient = [&](bool stored) {
        Tape tape;
        const Var x = tape.watch(a);
        const Var s = stored ? cast(x, DType::bf16) : x;
        const Var moved = slice(transpose(concat({s, flip(s, 1)}, 0)), 1, 1, 7, 2);
        const Var y = cast(moved, DType::f32);
        return tape.gradient(sum(y * Var(u)) + sum(cast(s, DType::f32)), {x})[0];
    };
    CHECK(difference(gradient(true), gradient(false)) == "");
    Tape tape;
    const Var x = tape.watch(a), s = cast(x, DType::bf16);
    CHECK(tape.gradient(sum(cast(s, DType::f32)), {s})[0].dtype() == DType::f32);
}

TEST_CASE("a cast to integers or bool has no derivative") {
    for (DType t : {DType::i32, DType::i64, DType::boolean}) {
        Tape tape;
        const Var x = tape.watch(Tensor::scalar(2.5)), y = cast(cast(x, t), DType::f32) * 1.5;
        CHECK(y.is_constant());
        CHECK(tape.gradient(y + x, {x})[0].item<float>() == 1);
    }
}

TEST_CASE("safetensors hold bf16 as it is, mapped or copied; npy has no name for it") {
    const test::TemporaryDirectory directory;
    const Tensor x = all_bf16();
    io::write_safetensors(directory / "x", {{"x", x}, {"e", Tensor::empty({0, 3}, DType::bf16)}});
    for (bool map : {false, true}) {
        const io::Safetensors file = io::Safetensors::open(directory / "x", {.map = map});
        const Tensor y = file.read("x");
        CHECK(y.dtype() == DType::bf16);
        CHECK(std::memcmp(y.raw(), x.raw(), 131072) == 0);
        CHECK(file.read("e").shape() == Shape{0, 3});
    }
    CHECK(message_of([&] { io::write_npy(directory / "x.npy", x); }) ==
          "[write_npy] NumPy has no bf16; use cast, or write safetensors");
    CHECK(!std::filesystem::exists(directory / "x.npy"));
}
