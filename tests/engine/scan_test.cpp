// Scans by other ways through memory: the same bits. Values and derivatives are in tests/cases/scans.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/restore.h"

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
    // All of the columns go past them; a part of them does not.
    const Restore restore;
    for (const DType dtype : {DType::f32, DType::f64}) {
        // Rows of whole lines.
        const int64_t inner = dtype == DType::f32 ? 8192 : 4096;
        const Tensor a = randn(Key{5, 1}, {96, inner}, dtype) * 0.5,
                     b = randn(Key{5, 2}, {96, inner}, dtype);
        cpu::set_streams_above(3 * 300 * 96 * int64_t(size_of(dtype)));
        const auto part = [](const Tensor& x) { return slice(x, 1, 1000, 1300).contiguous(); };
        CHECK(same_bits(part(cumsum(b, 0)), cumsum(part(b), 0)));
        for (const bool reverse : {false, true}) {
            const Tensor all = linear_recurrence(a, b, 0, reverse);
            CHECK(same_bits(part(all), linear_recurrence(part(a), part(b), 0, reverse)));
            CHECK(same_bits(transpose(linear_recurrence(transpose(a), transpose(b), 1, reverse)),
                            all));
            const Tensor at = transpose(a).contiguous(), bt = transpose(b).contiguous();
            CHECK(same_bits(transpose(linear_recurrence(at, bt, 1, reverse)), all));
        }
        CHECK(same_bits(cumsum(transpose(b), 1), cumsum(transpose(b).contiguous(), 1)));
    }
}

TEST_CASE("rows that lie side by side are scanned as rows of their own") {
    const Restore restore;
    set_thread_count(2);
    for (const Shape& shape : {Shape{64, 130}, Shape{1000, 67}, Shape{16500, 70}, Shape{2, 33, 90}})
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            for (const bool reverse : {false, true})
                for (const int64_t above : {int64_t{0}, int64_t{1} << 40}) {
                    if (shape[0] > 10000 && (dtype == DType::i32 || dtype == DType::f64)) continue;
                    cpu::set_streams_above(above);
                    const int axis = shape.rank() - 1;
                    const Tensor x = cast(floor(randn(Key{8, 1}, shape, DType::f64) * 9.0), dtype);
                    const Tensor beside = transpose(x), apart = beside.contiguous();
                    CAPTURE(to_string(shape));
                    CAPTURE(std::string(name_of(dtype)));
                    CAPTURE(reverse);
                    CAPTURE(above);
                    for (const bool exclusive : {false, true}) {
                        CHECK(same_bits(cumsum(beside, axis, exclusive, reverse),
                                        cumsum(apart, axis, exclusive, reverse)));
                        CHECK(same_bits(cumprod(beside, axis, exclusive, reverse),
                                        cumprod(apart, axis, exclusive, reverse)));
                    }
                    for (const auto run : {cummax, cummin}) {
                        const auto [y, at] = run(beside, axis, reverse);
                        const auto [expected, there] = run(apart, axis, reverse);
                        CHECK(same_bits(y, expected));
                        CHECK(same_bits(at, there));
                    }
                    if (is_floating(dtype))
                        CHECK(
                            same_bits(linear_recurrence(transpose(x * 0.1), beside, axis, reverse),
                                      linear_recurrence(apart * 0.1, apart, axis, reverse)));
                }
    // NaN stays, and the last of equals, −0 and 0 too, is where an extremum stands.
    for (const DType dtype : {DType::f32, DType::f64}) {
        Tensor x = floor(randn(Key{8, 2}, {300, 80}, dtype) * 3.0);
        x = where(equal(x, 4.0), Tensor::scalar(NAN, dtype), where(equal(x, 1.0), -(x * 0.0), x));
        const Tensor beside = transpose(x), apart = beside.contiguous();
        for (const bool reverse : {false, true}) {
            CHECK(same_bits(cummax(beside, 1, reverse).second, cummax(apart, 1, reverse).second));
            CHECK(same_bits(cummin(beside, 1, reverse).first, cummin(apart, 1, reverse).first));
            CHECK(same_bits(cumsum(beside, 1, true, reverse), cumsum(apart, 1, true, reverse)));
        }
    }
}

TEST_CASE("recurrences of short rows are those of columns") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t n : {2, 3, 4, 8, 16, 17})
            for (const bool reverse : {false, true}) {
                const Tensor a = randn(Key{6, 1}, {77, n}, dtype),
                             b = randn(Key{6, 2}, {77, n}, dtype);
                CHECK(same_bits(linear_recurrence(a, b, 1, reverse),
                                transpose(linear_recurrence(transpose(a).contiguous(),
                                                            transpose(b).contiguous(), 0, reverse))
                                    .contiguous()));
            }
}

TEST_CASE("cummax and cummin, and where they stand: rows and columns of many lengths") {
    struct Case {
        Shape shape;
        int axis;
    };
    for (const auto& [shape, axis] :
         {Case{{3, 5000}, 1}, Case{{40, 5000}, 1}, Case{{90, 1100}, 1}, Case{{700, 8}, 1},
          Case{{700, 16}, 1}, Case{{700, 4}, 1}, Case{{90, 17}, 1}, Case{{5000, 1}, 0},
          Case{{5000, 3}, 0}, Case{{7, 300, 5}, 1}, Case{{5000, 1024}, 0}})
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            for (const bool largest : {true, false})
                for (const bool reverse : {true, false}) {
                    if (shape[0] * shape.back() > 1 << 20 && dtype != DType::f32) continue;
                    Tensor x = floor(randn(Key{7, 1}, shape, DType::f64) * 40.0);
                    if (dtype == DType::f32 || dtype == DType::f64)
                        x = where(equal(x, 101.0), Tensor::scalar(NAN, DType::f64), x);
                    x = cast(x, dtype);
                    const auto [y, at] =
                        largest ? cummax(x, axis, reverse) : cummin(x, axis, reverse);
                    const Tensor in = cast(x, DType::f64), out = cast(y, DType::f64);
                    const double *p = in.data<double>(), *q = out.data<double>();
                    const int64_t *place = at.data<int64_t>(), n = shape[axis];
                    int64_t inner = 1, wrong = 0;
                    for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
                    for (int64_t line = 0; line < x.count() / n; ++line) {
                        const int64_t first = line / inner * n * inner + line % inner;
                        int64_t best = -1;
                        for (int64_t i = 0; i < n; ++i) {
                            const int64_t t = reverse ? n - 1 - i : i;
                            const double v = p[first + t * inner],
                                         b = best < 0 ? v : p[first + best * inner];
                            // NaN is beyond all; of equals the last.
                            if (v != v || (b == b && (largest ? v >= b : v <= b))) best = t;
                            const double expected = p[first + best * inner],
                                         got = q[first + t * inner];
                            wrong += place[first + t * inner] != best ||
                                     !(got == expected || (got != got && expected != expected));
                        }
                    }
                    INFO(to_string(shape), " along ", axis, largest ? " largest" : " smallest",
                         reverse ? " reverse " : " ", std::string(name_of(dtype)));
                    CHECK(wrong == 0);
                }
}
