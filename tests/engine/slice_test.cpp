// Concatenation and its parts' way back, of more than a cache holds too: blocks of rows, on every place of a line.
#include <doctest/doctest.h>

#include "engine/cpu/caches.h"
#include "engine/functions.h"
#include "engine/parallel.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

/// Element (i, j) is 10⁴·(i mod 100) + j.
template <class T>
T value(int64_t i, int64_t j) {
    return T(10000 * (i % 100) + j);
}
template <class T>
Tensor numbers(int64_t rows, int64_t columns, int64_t first) {
    std::vector<T> x;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) x.push_back(value<T>(i, first + j));
    return Tensor::from(x, {rows, columns});
}

template <class T>
void check(int64_t rows) {
    CAPTURE(rows);
    // Parts of 5, 0, 8 and 1 columns; the transpose of the last is dense the other way.
    const Tensor parts[] = {numbers<T>(rows, 5, 0), numbers<T>(rows, 0, 5), numbers<T>(rows, 8, 5),
                            transpose(transpose(numbers<T>(rows, 1, 13)).clone())};
    CHECK(concat(parts, 1).template to_vector<T>() ==
          numbers<T>(rows, 14, 0).template to_vector<T>());

    // Columns 6, 4, 2 of 7; all others are 0.
    const auto y = unslice(numbers<T>(rows, 3, 0), {rows, 7}, 1, 6, -2).template to_vector<T>();
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < 7; ++j)
            wrong +=
                y[size_t(i * 7 + j)] != (j % 2 == 0 && j > 0 ? value<T>(i, (6 - j) / 2) : T(0));
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("parts of rows are written together, block by block, and land where they belong") {
    const Restore restore;
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        for (const int64_t rows : {int64_t{1}, int64_t{9}, cpu::caches().l2 / 20 + 3}) {
            check<float>(rows);
            check<double>(rows);
            check<int32_t>(rows);
        }
    }
}

TEST_CASE("and along the first axis, whatever their sizes") {
    const auto x = [](const Shape& shape, int64_t first) {
        return reshape(Tensor::arange(count(shape), DType::f64, double(first)), shape);
    };
    for (const int64_t rows : {int64_t{3}, cpu::caches().l2 / 8}) {
        CAPTURE(rows);
        CHECK(concat({x({2, 3}, 0), x({0, 3}, 6), x({rows, 3}, 6)}, 0).to_vector<double>() ==
              x({rows + 2, 3}, 0).to_vector<double>());
        CHECK(
            concat({x({rows}, 0), x({1}, rows), x({2 * rows}, rows + 1)}, 0).to_vector<double>() ==
            x({3 * rows + 1}, 0).to_vector<double>());
    }
    using Numbers = std::vector<double>;
    CHECK(unslice(x({2}, 1), {10}, 0, 0, 2).to_vector<double>() ==
          Numbers{1, 0, 2, 0, 0, 0, 0, 0, 0, 0});
    CHECK(unslice(x({5}, 1), {10}, 0, 9, -2).to_vector<double>() ==
          Numbers{0, 5, 0, 4, 0, 3, 0, 2, 0, 1});
    CHECK(unslice(x({2, 2}, 1), {4, 2}, 0, 3, -2).to_vector<double>() ==
          Numbers{0, 0, 3, 4, 0, 0, 1, 2});
}

TEST_CASE("parts without rows, and rows without parts") {
    CHECK(concat({Tensor::zeros({0, 3}), Tensor::zeros({0, 2})}, 1).shape() == Shape{0, 5});
    CHECK(concat({Tensor::zeros({4, 0}), Tensor::zeros({4, 0})}, 1).shape() == Shape{4, 0});
    CHECK(unslice(Tensor::zeros({0, 2}), {0, 5}, 1, 0, 2).shape() == Shape{0, 5});
    CHECK(max(abs(unslice(Tensor::zeros({3, 0}), {3, 5}, 1, 0, 2))).item<float>() == 0);
}
