// argmax and argmin down columns, of rows near and far apart, against a plain search, and along rows against columns;
// counts down few columns.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/functions.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

/// The first of the largest (smallest), or the first NaN.
int64_t found(const std::vector<double>& x, int64_t rows, int64_t cols, int64_t c, bool largest) {
    int64_t best = 0;
    for (int64_t i = 1; i < rows; ++i) {
        const double v = x[size_t(i * cols + c)], b = x[size_t(best * cols + c)];
        if (largest ? v > b : v < b) best = i;
        if (std::isnan(v) && !std::isnan(b)) best = i;
    }
    return best;
}

/// Many are equal, some 0, some NaN, if they may be.
std::vector<double> numbers(int64_t rows, int64_t cols, DType dtype) {
    std::vector<double> x;
    uint64_t state = uint64_t(rows * cols);
    for (int64_t i = 0; i < rows * cols; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const auto value = int64_t(state >> 40) % 7 - 3;
        x.push_back(is_floating(dtype) && (state >> 33) % 29 == 0 ? double(NAN) : double(value));
    }
    return x;
}

void check_columns(const std::vector<double>& x, int64_t rows, int64_t cols, DType dtype) {
    const Tensor t = cast(Tensor::from(x, {rows, cols}), dtype);
    for (const bool largest : {true, false}) {
        const Tensor at = (largest ? argmax(t, 0) : argmin(t, 0)).contiguous();
        int64_t wrong = 0;
        for (int64_t c = 0; c < cols; ++c)
            wrong += at.data<int64_t>()[c] != found(x, rows, cols, c, largest);
        INFO(rows, " x ", cols, largest ? " largest" : " smallest");
        CHECK(wrong == 0);
    }
}

}  // namespace

TEST_CASE("argmax and argmin of columns: the first of equals, and NaN before all") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (const int64_t rows : {1, 2, 4, 5, 6, 9, 12, 16, 17, 21})
            for (const int64_t cols : {5, 700, 1500, 3001})
                check_columns(numbers(rows, cols, dtype), rows, cols, dtype);
}

TEST_CASE("few columns of many rows: argmax, argmin, any, all and count_nonzero") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            for (const int64_t cols : {2, 3, 7, 8, 15, 20, 31, 32, 33})
                for (const int64_t rows : {15, 17, 64, 129, 300, 1111}) {
                    std::vector<double> x = numbers(rows, cols, dtype);
                    check_columns(x, rows, cols, dtype);
                    // No NaN, and one of the largest anywhere.
                    for (double& v : x)
                        if (std::isnan(v)) v = -3;
                    for (int64_t c = 0; c < cols; ++c)
                        x[size_t(c * 37 % rows * cols + c)] = c % 2 ? 4 : -4;
                    check_columns(x, rows, cols, dtype);
                    // Nothing is as good as the zeros that registers may be filled up with.
                    for (const double away : {-10.0, 10.0}) {
                        std::vector<double> far = x;
                        for (double& v : far) v += away;
                        check_columns(far, rows, cols, dtype);
                    }
                    // One column has only zeros, one none.
                    for (int64_t i = 0; i < rows; ++i)
                        x[size_t(i * cols)] = 0, x[size_t(i * cols + 1)] = 5;
                    const Tensor t = cast(Tensor::from(x, {rows, cols}), dtype);
                    const Tensor hits = count_nonzero(t, {0}), some = any(t, {0}),
                                 full = all(t, {0}), bools = cast(t, DType::boolean);
                    CHECK(all(equal(count_nonzero(bools, {0}), hits)).item<bool>());
                    for (int64_t c = 0; c < cols; ++c) {
                        int64_t n = 0;
                        for (int64_t i = 0; i < rows; ++i) n += x[size_t(i * cols + c)] != 0;
                        CHECK(hits.data<int64_t>()[c] == n);
                        CHECK(some.data<bool>()[c] == (n > 0));
                        CHECK(full.data<bool>()[c] == (n == rows));
                    }
                }
    });
}

TEST_CASE("argmax and argmin of rows: the first of equals, and NaN before all") {
    // One element stands out, or several alike, or NaN, at every place of rows of some registers.
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            for (const int64_t n : {1, 2, 3, 15, 16, 17, 31, 33, 49, 63, 64, 65, 127, 129, 196}) {
                std::vector<double> x(size_t(n * n), 0.0);
                for (int64_t k = 0; k < n; ++k)
                    for (const int64_t i : {k, k + 1, k + 17, k + 90})
                        if (i < n) x[size_t(k * n + i)] = k % 3 ? 1 : -1;
                if (is_floating(dtype))
                    for (int64_t k = 0; k < n; k += 5) {
                        x[size_t(k * n + (k + n / 2) % n)] = NAN;
                        x[size_t(k * n + n - 1)] = NAN;
                    }
                const Tensor rows = cast(Tensor::from(x, {n, n}), dtype),
                             columns = transpose(rows).contiguous();
                CHECK(all(equal(argmax(rows, 1), argmax(columns, 0))).item<bool>());
                CHECK(all(equal(argmin(rows, 1), argmin(columns, 0))).item<bool>());
            }
    });
}
