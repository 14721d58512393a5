// Arithmetic of integers: a plain loop's results on every instruction set, wrapping around at the ends; what has no meaning
// for them is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/error.h"
#include "engine/functions.h"
#include "tests/support/bits.h"
#include "tests/support/message.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

template <class T>
std::vector<T> numbers(size_t n, uint64_t seed) {
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const T ends[] = {low, T(low + 1), -1, 0, 1, T(high - 1), high};
    std::mt19937_64 random(seed);
    std::vector<T> x(n);
    for (size_t i = 0; i < n; ++i)
        x[i] = random() % 3 ? T(random() >> (random() % 60)) : ends[random() % 7];
    return x;
}

template <class T>
T wrapped(__int128 x) {
    return T(std::make_unsigned_t<T>(x));
}

template <class T, class F, class G>
void check(const char* name, F operation, G by_hand) {
    const Restore restore;
    for (size_t n : {1, 7, 16, 33, 40000}) {
        const std::vector<T> a = numbers<T>(n, n), b = numbers<T>(n, n + 1);
        std::vector<T> expected(n);
        for (size_t i = 0; i < n; ++i) expected[i] = by_hand(a[i], b[i]);
        // Side by side in one tensor: strided operands.
        std::vector<T> both;
        for (size_t i = 0; i < n; ++i) both.push_back(a[i]), both.push_back(b[i]);
        const Tensor x = Tensor::from(a), y = Tensor::from(b),
                     z = Tensor::from(both, {int64_t(n), 2});
        for (Isa isa : available_isas()) {
            set_isa(isa);
            CHECK_MESSAGE(difference(operation(x, y), Tensor::from(expected)) == "", name, " ",
                          name_of(x.dtype()), " on ", name_of(isa), ", ", n);
            const Tensor strided = operation(slice(z, 1, 0, 1), slice(z, 1, 1, 2));
            CHECK_MESSAGE(difference(reshape(strided, {int64_t(n)}), Tensor::from(expected)) == "",
                          name, " strided");
        }
    }
}

template <class T>
void check_all() {
    using Wide = __int128;
    const auto binary = [](const char* name, auto operation, auto f) {
        check<T>(name, operation, [f](T a, T b) { return wrapped<T>(f(Wide(a), Wide(b))); });
    };
    const auto unary = [&](const char* name, auto operation, auto f) {
        binary(
            name, [operation](const Tensor& a, const Tensor&) { return operation(a); },
            [f](Wide a, Wide) { return f(a); });
    };
    binary(
        "add", [](const Tensor& a, const Tensor& b) { return a + b; },
        [](Wide a, Wide b) { return a + b; });
    binary(
        "sub", [](const Tensor& a, const Tensor& b) { return a - b; },
        [](Wide a, Wide b) { return a - b; });
    binary(
        "mul", [](const Tensor& a, const Tensor& b) { return a * b; },
        [](Wide a, Wide b) { return a * b; });
    binary(
        "maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
        [](Wide a, Wide b) { return a < b ? b : a; });
    binary(
        "minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
        [](Wide a, Wide b) { return a < b ? a : b; });
    unary(
        "neg", [](const Tensor& a) { return -a; }, [](Wide a) { return -a; });
    unary(
        "square", [](const Tensor& a) { return square(a); }, [](Wide a) { return a * a; });
    unary(
        "abs", [](const Tensor& a) { return abs(a); }, [](Wide a) { return a < 0 ? -a : a; });
    unary(
        "sign", [](const Tensor& a) { return sign(a); },
        [](Wide a) { return Wide((a > 0) - (a < 0)); });
    unary(
        "clamp", [](const Tensor& a) { return clamp(a, -5, 100); },
        [](Wide a) { return a < -5    ? Wide(-5)
                            : a > 100 ? Wide(100)
                                      : a; });
}

}  // namespace

TEST_CASE("i32: as by hand") { check_all<int32_t>(); }
TEST_CASE("i64: as by hand") { check_all<int64_t>(); }

TEST_CASE("broadcast, with numbers, in place of what dies") {
    const Tensor ids = Tensor::arange(6, DType::i64), rows = reshape(ids, {2, 3}),
                 column = reshape(Tensor::arange(2, DType::i64), {2, 1});
    CHECK((rows * 10.0 + column).to_vector<int64_t>() ==
          std::vector<int64_t>{0, 10, 20, 31, 41, 51});
    CHECK((1.0 - ids).to_vector<int64_t>()[5] == -4);
    CHECK(((ids + ids) * ids - 3.0).to_vector<int64_t>()[4] == 29);
    CHECK((Tensor::zeros({0, 3}, DType::i32) + Tensor::zeros({3}, DType::i32)).shape() ==
          Shape{0, 3});
}

TEST_CASE("what is no integer is refused") {
    const Tensor x = Tensor::arange(3, DType::i64), y = Tensor::arange(3, DType::i32),
                 b = equal(x, 1.0);
    CHECK(message_of<ValueError>([&] { x + 0.5; }) ==
          "[add] 0.5 is no i64; use cast on the tensor");
    CHECK(message_of<ValueError>([&] {
              y * 1e10;
          }).starts_with("[mul] 1e+10 is no i32"));
    CHECK(message_of<DTypeError>([&] { x / x; }) ==
          "[div] works on f32 and f64, got i64; use cast");
    CHECK(message_of<DTypeError>([&] { exp(x); }) ==
          "[exp] works on f32 and f64, got i64; use cast");
    CHECK(message_of<DTypeError>([&] { b + b; }) ==
          "[add] works on f32, f64, i32 and i64, got bool; use cast");
    CHECK(message_of<DTypeError>([&] { x + y; }).find("dtypes differ") != std::string::npos);
}
