// Concatenation and its parts' way back, of more than a cache holds too: blocks of rows, on every place of a line.
#include <doctest/doctest.h>

#include "engine/cpu/caches.h"
#include "engine/functions.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "tests/support/bits.h"
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

TEST_CASE("runs that lie otherwise in their lines than their sources") {
    const Restore restore;
    const auto check_rows = [](DType dtype) {
        for (const int64_t columns : {65, 129, 130, 257, 700})
            for (const int64_t shift : {1, 3, 15, 16, 33}) {
                const Tensor x =
                    cast(reshape(Tensor::arange(3 * columns, DType::f64), {3, columns}), dtype);
                std::vector<int64_t> from;
                for (int64_t j = 0; j < columns; ++j)
                    from.push_back((j + columns - shift) % columns);
                CHECK(difference(roll(x, shift, 1), index_select(x, Tensor::from(from), 1)) == "");
            }
    };
    for (Isa isa : available_isas()) {
        set_isa(isa);
        for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) check_rows(dtype);
    }
}

TEST_CASE("borders, block by block or at once, are what their axis' indices say") {
    const Restore restore;
    const auto place = [](int64_t i, int64_t n, PadMode mode) {
        if (mode == PadMode::circular) return ((i % n) + n) % n;
        if (mode == PadMode::edge) return std::clamp<int64_t>(i, 0, n - 1);
        return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
    };
    const auto check_pad = [&](const Tensor& x, const std::vector<int64_t>& before,
                               const std::vector<int64_t>& after) {
        for (PadMode mode : {PadMode::reflect, PadMode::edge, PadMode::circular}) {
            Tensor y = x;
            for (int a = 0; a < x.rank(); ++a) {
                std::vector<int64_t> from;
                for (int64_t i = -before[size_t(a)]; i < x.size(a) + after[size_t(a)]; ++i)
                    from.push_back(place(i, x.size(a), mode));
                y = index_select(y, Tensor::from(from), a);
            }
            CAPTURE(to_string(x.shape()));
            CHECK(difference(pad(x, before, after, mode), y) == "");
        }
        // The border is -1, which nothing inside is.
        const Tensor z = pad(x, before, after, PadMode::constant, -1);
        const std::vector<int64_t> none(before.size(), 0);
        Tensor inside = z;
        for (int a = 0; a < x.rank(); ++a)
            inside = slice(inside, a, before[size_t(a)], before[size_t(a)] + x.size(a));
        CHECK(difference(inside, x) == "");
        CHECK(sum(cast(equal(z, -1), DType::f64)).item<double>() == double(z.count() - x.count()));
    };
    const auto numbers_of = [](const Shape& shape) {
        return cast(reshape(Tensor::arange(count(shape), DType::f64), shape), DType::f32);
    };
    const int64_t many = cpu::caches().l2 / 1024;
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        // Images of more than four times L2; planes of some hundred bytes; an image by itself.
        const Tensor planes = numbers_of({3, 10 * many, 9, 8}),
                     one = numbers_of({1, 10 * many, 60});
        check_pad(planes, {0, 0, 1, 1}, {0, 0, 1, 1});
        check_pad(planes, {0, 0, 3, 0}, {0, 0, 0, 2});
        check_pad(planes, {1, 0, 0, 1}, {2, 0, 0, 0});
        check_pad(planes, {0, 2, 1, 1}, {0, 0, 1, 1});
        check_pad(planes, {0, 0, 8, 0}, {0, 0, 0, 0});
        check_pad(transpose(planes), {0, 0, 2, 1}, {0, 0, 0, 1});
        check_pad(slice(planes, 1, 1, many), {0, 0, 1, 1}, {0, 0, 1, 1});
        check_pad(slice(planes, 3, 0, 8, 2), {0, 0, 1, 1}, {0, 1, 1, 1});
        check_pad(broadcast_to(slice(planes, 0, 1, 2), planes.shape()), {0, 0, 1, 1}, {0, 0, 1, 1});
        check_pad(one, {0, 1, 1}, {0, 1, 1});
        check_pad(one, {0, 0, 5}, {0, 0, 7});
        check_pad(reshape(one, {10 * many, 60}), {3, 1}, {1, 2});
        check_pad(reshape(one, {600 * many}), {9}, {1});
        check_pad(slice(planes, 3, 0, 1), {0, 0, 1, 0}, {0, 0, 1, 0});
        check_pad(cast(one, DType::i32), {0, 1, 1}, {0, 1, 1});
    }
    CHECK(
        pad(Tensor::zeros({2, 0, 3}), std::vector<int64_t>{0, 1, 1}, std::vector<int64_t>{0, 1, 0})
            .shape() == Shape{2, 2, 4});
    CHECK(pad(Tensor::zeros({0, 3}), std::vector<int64_t>{0, 1}, std::vector<int64_t>{2, 0})
              .shape() == Shape{2, 4});
    CHECK(pad(Tensor::scalar(5), {}, {}).item<float>() == 5);
}
