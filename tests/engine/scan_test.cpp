// Scans by other ways through memory: the same bits. Values and derivatives are in tests/cases/scans.cpp.
#include <doctest/doctest.h>

#include <cstring>

#include "engine/functions.h"
#include "engine/random.h"

using namespace mercer;

namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
    const Tensor x = a.contiguous(), y = b.contiguous();
    return x.shape() == y.shape() && x.dtype() == y.dtype() &&
           std::memcmp(x.raw(), y.raw(), size_t(x.count()) * size_of(x.dtype())) == 0;
}

}  // namespace

TEST_CASE("short rows that come together are scanned as each for itself") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (const int64_t n : {1, 2, 5, 8, 15, 16, 17, 40})
            for (const bool exclusive : {false, true}) {
                const Tensor x = cast(randn(Key{4, uint64_t(n)}, {37, n}, DType::f64) * 3.0, dtype),
                             zero = is_floating(dtype) ? -Tensor::zeros({37, n}, dtype) : x;
                for (const Tensor& rows : {x, zero}) {
                    CAPTURE(n);
                    // Backwards, rows of less than a block go another way.
                    const Tensor back = flip(rows, {1}).contiguous();
                    CHECK(same_bits(cumsum(rows, 1, exclusive),
                                    flip(cumsum(back, 1, exclusive, true), {1})));
                    CHECK(same_bits(cumprod(rows, 1, exclusive),
                                    flip(cumprod(back, 1, exclusive, true), {1})));
                }
            }
}

TEST_CASE("results that go past the caches are those of their parts") {
    // 16 MiB and more go past them; a part of the columns does not.
    for (const DType dtype : {DType::f32, DType::f64}) {
        const int64_t inner = dtype == DType::f32 ? 8192 : 4096;
        const Tensor a = randn(Key{5, 1}, {520, inner}, dtype) * 0.5,
                     b = randn(Key{5, 2}, {520, inner}, dtype);
        const auto part = [](const Tensor& x) { return slice(x, 1, 1000, 1300).contiguous(); };
        CHECK(same_bits(part(cumsum(b, 0)), cumsum(part(b), 0)));
        for (const bool reverse : {false, true}) {
            const Tensor all = linear_recurrence(a, b, 0, reverse);
            CHECK(same_bits(part(all), linear_recurrence(part(a), part(b), 0, reverse)));
            CHECK(same_bits(transpose(linear_recurrence(transpose(a), transpose(b), 1, reverse)),
                            all));
        }
        CHECK(same_bits(cumsum(transpose(b), 1), cumsum(transpose(b).contiguous(), 1)));
    }
}
