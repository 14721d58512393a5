// Tensors as values and views; typed errors with shapes.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/every_isa.h"
#include "tests/support/message.h"

using namespace mercer;

TEST_CASE("making, reading, printing") {
    const Tensor t = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
    CHECK(t.to_string() == "f32(2,3) [[1, 2, 3], [4, 5, 6]]");
    CHECK(Tensor::arange(4, DType::i64).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3});
    CHECK(Tensor::scalar(2.5, DType::f64).item<double>() == 2.5);
    CHECK(Tensor::full({2}, 1, DType::boolean).to_vector<int32_t>() == std::vector<int32_t>{1, 1});
    CHECK(Tensor::zeros({0, 3}).count() == 0);
    CHECK(reinterpret_cast<uintptr_t>(t.raw()) % 64 == 0);
    CHECK(!Tensor().defined());
}

TEST_CASE("views share memory, clones do not") {
    Tensor t = Tensor::arange(6);
    const Tensor m = reshape(t, {2, 3});
    Tensor column = slice(m, 1, 1, 2);
    column.fill(9);
    CHECK(t.to_vector<float>() == std::vector<float>{0, 9, 2, 3, 9, 5});
    CHECK(transpose(m).to_vector<float>() == std::vector<float>{0, 3, 9, 9, 2, 5});
    CHECK(transpose(m).storage() == t.storage());
    CHECK(!(m.clone().storage() == t.storage()));
    CHECK(!(transpose(m).contiguous().storage() == t.storage()));
    CHECK(slice(t, 0, 0, 0).count() == 0);
    CHECK(slice(t, 0, -2, 100).to_vector<float>() == std::vector<float>{9, 5});
}

TEST_CASE("a reduction over nothing is a value of its own") {
    const Tensor x = Tensor::scalar(3);
    Tensor s = sum(x);
    s.fill(1);
    CHECK(x.item<float>() == 3);
}

TEST_CASE("in-place writes refuse what would surprise") {
    Tensor wide = broadcast_to(Tensor::zeros({1}), {3});
    CHECK_THROWS_AS(wide.fill(1), InPlaceError);
    CHECK_THROWS_AS(wide.mutable_data<float>(), InPlaceError);
    Tensor t = Tensor::arange(4);
    const uint32_t version = t.version();
    t.fill(2);
    CHECK(t.version() > version);
    Tensor same = Tensor::arange(4);
    Tensor back = slice(same, 0, -1, std::numeric_limits<int64_t>::min(), -1);
    same.copy_to(back);  // overlapping: as if through a copy
    CHECK(same.to_vector<float>() == std::vector<float>{3, 2, 1, 0});
    Tensor out = Tensor::zeros({2, 2});
    CHECK_THROWS_AS(matmul_into(out, out, out), InPlaceError);
}

TEST_CASE("external memory is wrapped without a copy and given back once") {
    std::vector<float> mine{1, 2, 3, 4};
    int released = 0;
    {
        const Tensor t = Tensor::wrap(mine.data(), {2, 2}, DType::f32, [&] { ++released; });
        const Tensor view = transpose(t);
        CHECK(view.data<float>() == mine.data());
        CHECK(sum(view).item<float>() == 10);
    }
    CHECK(released == 1);
    CHECK(message_of<ShapeError>([&] {
              Tensor::wrap(mine.data(), {int64_t{1} << 61, 2}, DType::f64, [&] { ++released; });
          }) == "[wrap] too many bytes in (2305843009213693952,2)");
    CHECK(released == 1);
}

TEST_CASE("casts saturate") {
    const Tensor t = Tensor::from(std::vector<double>{
        1.9, -1.9, 1e20, -1e20, std::numeric_limits<double>::quiet_NaN(), 2147483647.0, 0});
    CHECK(cast(t, DType::i32).to_vector<int32_t>() ==
          std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX, 0});
    CHECK(cast(t, DType::i64).to_vector<int64_t>() ==
          std::vector<int64_t>{1, -1, INT64_MAX, INT64_MIN, 0, 2147483647, 0});
    CHECK(cast(t, DType::boolean).to_vector<int32_t>() ==
          std::vector<int32_t>{1, 1, 1, 1, 1, 1, 0});
    CHECK(cast(Tensor::from(std::vector<int64_t>{int64_t{1} << 40}), DType::i32).item<int32_t>() ==
          INT32_MAX);
}

// Large enough to go past the caches, and some of it not.
TEST_CASE("large copies, turned and repeated") {
    for (DType dtype : {DType::f32, DType::i64, DType::boolean})
        for (const Shape& shape : {Shape{2048, 2112}, Shape{2061, 2051}}) {
            const Tensor x = Tensor::arange(count(shape), DType::f64),
                         y = x - floor(x / 1021) * 1021;
            const Tensor wide = reshape(cast(y, dtype), shape), turned = transpose(wide).clone();
            CHECK(all(equal(transpose(turned), wide)).item<bool>());
            const Tensor row = slice(wide, 1, 7, 8), repeated = broadcast_to(row, shape).clone();
            CHECK(all(equal(repeated, row)).item<bool>());
            CHECK(all(equal(Tensor::full(shape, 1, dtype), 1)).item<bool>());
        }
}

TEST_CASE("errors name the operation, the shapes and the fix") {
    CHECK(message_of<ShapeError>([] {
              matmul(Tensor::zeros({8, 64}), Tensor::zeros({32, 16}));
          }) == "[matmul] inner dimensions differ: lhs (8,64) vs rhs (32,16)");
    CHECK(message_of<ShapeError>([] {
              add(Tensor::zeros({2, 3}), Tensor::zeros({4}));
          }).find("(2,3) with (4)") != std::string::npos);
    CHECK(message_of<DTypeError>([] {
              add(Tensor::zeros({2}), Tensor::zeros({2}, DType::f64));
          }).find("use cast") != std::string::npos);
    CHECK_THROWS_AS(div(Tensor::zeros({2}, DType::i64), Tensor::zeros({2}, DType::i64)),
                    DTypeError);
    CHECK_THROWS_AS(reshape(Tensor::zeros({6}), {4, -1}), ShapeError);
    CHECK_THROWS_AS(reshape(Tensor::zeros({6}), {-1, -1}), ShapeError);
    CHECK_THROWS_AS(permute(Tensor::zeros({2, 3}), {0, 0}), ShapeError);
    CHECK_THROWS_AS(transpose(Tensor::zeros({2})), ShapeError);
    CHECK_THROWS_AS(concat({Tensor::zeros({2, 3}), Tensor::zeros({3, 3})}, 1), ShapeError);
    CHECK_THROWS_AS(concat({}, 0), ShapeError);
    CHECK_THROWS_AS(slice(Tensor::zeros({3}), 0, 0, 3, 0), ValueError);
    CHECK_THROWS_AS(slice(Tensor::zeros({3}), 2, 0, 3), ShapeError);
    CHECK_THROWS_AS(unslice(Tensor::zeros({3}), {5}, 0, 3, 1), ShapeError);
    CHECK_THROWS_AS(gather(Tensor::zeros({3}), Tensor::from(std::vector<int64_t>{3}), 0),
                    ValueError);
    CHECK_THROWS_AS(gather(Tensor::zeros({3}), Tensor::zeros({1}), 0), DTypeError);
    for (const int64_t wrong : {3, -1}) {  // among good ones, each row by its own
        const Tensor index = Tensor::from(std::vector<int64_t>{0, 1, 2, 0, wrong, 1}, {2, 3});
        CHECK_THROWS_AS(gather(Tensor::zeros({2, 3}), index, 1), ValueError);
    }
    CHECK_THROWS_AS(where(Tensor::zeros({3}), Tensor::zeros({3}), Tensor::zeros({3})), DTypeError);
    CHECK_THROWS_AS(sum(Tensor::zeros({3}), {0, 0}), ShapeError);
    CHECK_THROWS_AS(max(Tensor::zeros({0})), ValueError);
    CHECK_THROWS_AS(broadcast_to(Tensor::zeros({3}), {4}), ShapeError);
    CHECK_THROWS_AS(Tensor::zeros({3}).item<float>(), ShapeError);
    CHECK_THROWS_AS(Tensor::zeros({3}).data<double>(), DTypeError);
    CHECK_THROWS_AS(Tensor::empty({-1}), ShapeError);
    CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 40, int64_t{1} << 40}), ShapeError);
    CHECK_THROWS_AS(Shape(std::vector<int64_t>(9, 1)), ShapeError);
}

TEST_CASE("rows that fall on the same cache sets are turned as others are") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32})
        for (const int64_t rows : {16, 20, 33, 48, 64, 100})
            for (const int64_t columns : {512, 1024, 1536, 520, 4096}) {
                const Tensor x = reshape(Tensor::arange(rows * columns, dtype), {columns, rows});
                const int64_t bytes = 2 * rows * columns * int64_t(size_of(dtype));
                CAPTURE(rows);
                CAPTURE(columns);
                on_every_isa([&] {
                    for (const int64_t above : {int64_t{0}, bytes, int64_t{1} << 40}) {
                        cpu::set_streams_above(above);
                        const Tensor y = cast(transpose(x).contiguous(), DType::f64);
                        const double* p = y.data<double>();
                        int64_t wrong = 0;
                        for (int64_t i = 0; i < rows; ++i)
                            for (int64_t j = 0; j < columns; ++j)
                                wrong += p[i * columns + j] != double(j * rows + i);
                        CHECK(wrong == 0);
                    }
                });
            }
}

TEST_CASE("reductions over no axis take as many axes as there may be") {
    const Tensor x = Tensor::full({1, 2, 1, 1, 1, 1, 1, 2}, 0.5, DType::f64);
    for (const Tensor& y :
         {logsumexp(x, {}), prod(x, {}), norm_p(x, std::initializer_list<int>{}), sum(x, {})})
        CHECK((y.shape() == x.shape() && all(equal(y, x)).item<bool>()));
}

TEST_CASE("einsum says which operands leave too many axes") {
    const Tensor x = Tensor::ones({2, 1, 2, 1, 2});
    const std::vector<Tensor> apart{x, x, x, x};
    CHECK_THROWS_WITH_AS(einsum("abcde,fghij,abcde,fghij->", apart),
                         "[einsum] 'abcde,fghij,abcde,fghij->': the first 2 operands leave the "
                         "axes 'abcdefghij', more "
                         "than 8; put operands that share letters next to each other",
                         ValueError);
    CHECK(einsum("abcde,abcde,fghij,fghij->", apart).item<float>() == 64);
}

TEST_CASE("einsum gives dense results, whatever the order of its letters") {
    const auto dense = [](const char* equation, const std::vector<Tensor>& x) {
        CAPTURE(equation);
        CHECK(einsum(equation, x).is_contiguous());
    };
    const Tensor x = reshape(Tensor::arange(27, DType::f32), {3, 3, 3});
    dense("ijk->kji", {x});
    dense("iij->ij", {x});
    dense("bij,bjk->kib", {x, x});
    dense("bthd,bshd->bhts", {Tensor::zeros({2, 3, 4, 5}), Tensor::zeros({2, 2, 4, 5})});
}

TEST_CASE("every element is repeated so many times") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean})
        for (const int64_t times : {1, 2, 3, 4, 5, 8, 9})
            for (const int64_t n : {1, 7, 16, 101}) {
                const Tensor x = cast(Tensor::arange(n, DType::f64) - 3.0, dtype),
                             y = cast(repeat(x, times), DType::f64), from = cast(x, DType::f64);
                REQUIRE(y.shape() == Shape{n * times});
                int64_t wrong = 0;
                for (int64_t i = 0; i < n * times; ++i)
                    wrong += y.data<double>()[i] != from.data<double>()[i / times];
                CAPTURE(times);
                CAPTURE(n);
                CHECK(wrong == 0);
            }
}

TEST_CASE("a wrong index is found wherever it stands") {
    for (const auto& [shape, axis] :
         {std::pair(Shape{3, 4500}, 0), {Shape{3, 4500}, 1}, {Shape{4500, 3}, 1}})
        for (const int64_t at : {0, 1, 2047, 2048, 4499, 4500, 9000, 13499})
            for (const bool above : {false, true}) {
                const Tensor x = Tensor::zeros(shape);
                const int64_t wrong = above ? shape[axis] : -1;
                std::vector<int64_t> ids(size_t(x.count()), 2);
                ids[size_t(at)] = wrong;
                const Tensor index = Tensor::from(ids, shape);
                const auto found = [&](auto call) {
                    try {
                        call();
                    } catch (const ValueError& error) {
                        return std::string(error.what())
                                   .find("index " + std::to_string(wrong) + " is outside [0, ") !=
                               std::string::npos;
                    }
                    return false;
                };
                CAPTURE(axis);
                CAPTURE(at);
                CAPTURE(wrong);
                CHECK(found([&] { gather(x, index, axis); }));
                CHECK(found([&] { gather(x, transpose(transpose(index).contiguous()), axis); }));
                CHECK(found([&] { scatter(x, index, x, axis); }));
                CHECK(found([&] { scatter_add(x, index, axis, shape[axis]); }));
            }
}

TEST_CASE("many short lines are scattered in order, whatever batches they fall into") {
    constexpr int64_t lines = 3001, n = 3, size = 10;
    std::vector<int64_t> ids;
    std::vector<double> x, put(lines * size, -1), added(lines * size);
    for (int64_t k = 0; k < lines * n; ++k) {
        ids.push_back((k * k * 31 + k / 7) % (size / 2));
        x.push_back(double(k + 1));
        const size_t at = size_t(k / n * size + ids.back());
        put[at] = x.back(), added[at] += x.back();
    }
    const Tensor source = Tensor::from(x, {lines, n}), index = Tensor::from(ids, {lines, n});
    CHECK(scatter_add(source, index, 1, size).to_vector<double>() == added);
    CHECK(scatter(Tensor::full({lines, size}, -1, DType::f64), index, source, 1)
              .to_vector<double>() == put);
}

TEST_CASE("conventions: empty reductions, filtered rows, NaN") {
    constexpr float inf = std::numeric_limits<float>::infinity(),
                    nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(sum(Tensor::zeros({0})).item<float>() == 0);
    CHECK(std::isnan(mean(Tensor::zeros({0})).item<float>()));
    CHECK(softmax(Tensor::from({-inf, -inf, -inf})).to_vector<float>() ==
          std::vector<float>{0, 0, 0});
    CHECK(softmax(Tensor::from({-inf, 0, -inf})).to_vector<float>() == std::vector<float>{0, 1, 0});
    CHECK(std::isnan(softmax(Tensor::from({nan, 0})).to_vector<float>()[1]));
    CHECK(std::isnan(max(Tensor::from({1, nan, 2})).item<float>()));
    CHECK(std::isnan(maximum(Tensor::from({1}), Tensor::from({nan})).item<float>()));
    CHECK(std::isnan(relu(Tensor::from({nan})).item<float>()));
    CHECK(where(Tensor::full({1}, 0, DType::boolean), Tensor::from({nan}), Tensor::from({1}))
              .item<float>() == 1);
}

TEST_CASE("linspace meets both ends, eye has ones on its diagonal") {
    for (int64_t n : {2, 7, 1000}) {
        const auto x = Tensor::linspace(-0.1, 0.7, n, DType::f64).to_vector<double>();
        CHECK(x.front() == -0.1);
        CHECK(x.back() == 0.7);
        for (size_t i = 1; i < x.size(); ++i)
            CHECK(x[i] - x[i - 1] == doctest::Approx(0.8 / double(n - 1)).epsilon(1e-9));
    }
    CHECK(Tensor::linspace(3, 5, 1).to_vector<double>() == std::vector<double>{3});
    CHECK(Tensor::linspace(3, 5, 0).count() == 0);
    const auto least = Tensor::linspace(0, 7 * 5e-324, 8, DType::f64).to_vector<double>();
    for (size_t i = 0; i < 8; ++i) CHECK(least[i] == double(i) * 5e-324);
    CHECK(Tensor::linspace(-1.5e308, 1.5e308, 3, DType::f64).to_vector<double>() ==
          std::vector<double>{-1.5e308, 0, 1.5e308});
    CHECK_THROWS_AS(Tensor::linspace(0, 1, 3, DType::i64), DTypeError);
    CHECK(Tensor::eye(2, 3, DType::i32).to_vector<double>() ==
          std::vector<double>{1, 0, 0, 0, 1, 0});
    CHECK(Tensor::eye(2).to_vector<double>() == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("searching and running extrema name what does not fit, and place NaN last") {
    const Tensor b = Tensor::from({1, 2, 2, 3}), x = Tensor::from({2, 0, NAN});
    CHECK(searchsorted(b, x).to_vector<int64_t>() == std::vector<int64_t>{1, 0, 4});
    CHECK(searchsorted(b, x, true).to_vector<int64_t>() == std::vector<int64_t>{3, 0, 4});
    CHECK(searchsorted(Tensor::zeros({0}), x).to_vector<int64_t>() ==
          std::vector<int64_t>{0, 0, 0});
    CHECK(message_of<DTypeError>([&] { searchsorted(b, cast(x, DType::f64)); }) ==
          "[searchsorted] dtypes differ: boundaries f32(4) vs x f64(3); use cast on one");
    CHECK(message_of<ShapeError>([&] {
              searchsorted(Tensor::zeros({2, 4}), Tensor::zeros({3, 5}));
          }) ==
          "[searchsorted] boundaries (2,4) must have one axis, or the axes of x (3,5) before the "
          "last");
    const auto [top, at] = cummax(Tensor::from({1, 3, 3, 2, NAN, 5}), 0);
    CHECK(at.to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 2, 4, 4});
    CHECK(std::isnan(top.to_vector<float>()[5]));
    CHECK(message_of<DTypeError>([&] { cummin(greater(b, 1.0), 0); }) ==
          "[cummin] works on numbers, got bool; use cast");
}

TEST_CASE_TEMPLATE("topk is the head of argsort, NaN, infinities and ties included", T, float,
                   double, int32_t, int64_t) {
    constexpr bool floating = std::is_floating_point_v<T>;
    std::mt19937_64 random(5);
    for (int round = 0; round < 400; ++round) {
        const int64_t n = 1 + int64_t(random() % (round % 3 ? 1500 : 100));
        const int64_t k = round % 5 ? 1 + int64_t(random() % uint64_t(n / 9 + 1)) : 1;
        std::vector<T> x(static_cast<size_t>(n));
        for (T& v : x) {
            const int64_t any = int64_t(random() % 1000000) - 500000;
            if (round % 4 == 0) v = T(any % 3);  // ties
            if (round % 4 == 1) v = T(floating ? double(any) / 7 : double(any));
            if (round % 4 == 2) v = any % 16 ? T(any % 50) : std::numeric_limits<T>::lowest();
            if (round % 4 == 3) v = T(-(any < 0 ? any : -any));  // one sign
            if constexpr (floating) {
                if (round % 8 >= 4 && any % (round % 3 ? 2 : 40) == 0) v = T(NAN);
                if (round % 8 == 2 && any % 5 == 0) v = any % 2 ? T(INFINITY) : -T(INFINITY);
                if (round % 8 == 0 && v == 0) v = any % 2 ? T(0) : -T(0);
            }
        }
        const Tensor t = Tensor::from(x);
        for (bool largest : {true, false}) {
            const auto [values, indices] = topk(t, k, 0, largest);
            auto order = argsort(t, 0, largest).template to_vector<int64_t>();
            order.resize(size_t(k));
            CAPTURE(round);
            CHECK(indices.template to_vector<int64_t>() == order);
            const auto got = values.template to_vector<T>();
            bool alike = true;
            for (size_t i = 0; i < got.size(); ++i) {
                const T want = x[size_t(order[i])];
                alike = alike && (got[i] == want || (got[i] != got[i] && want != want));
            }
            CHECK(alike);
        }
    }
}

TEST_CASE("copies past the caches, of matrices turned over, are those that are not") {
    const Restore restore;
    for (const Shape& shape : {Shape{64, 128}, Shape{2, 4096}, Shape{4, 4096}, Shape{8, 4099},
                               Shape{4096, 4}, Shape{128, 80}})
        for (const DType dtype : {DType::f32, DType::f64}) {
            const Tensor x = transpose(reshape(Tensor::arange(shape[0] * shape[1], dtype), shape));
            cpu::set_streams_above(restore.streams_above);
            const Tensor expected = x.contiguous();
            CHECK(all(equal(expected, x)).item<bool>());
            on_every_isa([&] {
                cpu::set_streams_above(-1);
                CHECK(all(equal(x.contiguous(), expected)).item<bool>());
            });
        }
}

TEST_CASE("a large transposed tensor is converted as a small one is") {
    const Tensor x = randn(Key{4, 2}, {70, 90}) * 100.0;
    for (DType dtype : {DType::f64, DType::i64, DType::bf16}) {
        const Tensor all = cast(permute(x, {1, 0}), dtype);
        CHECK(all.shape() == Shape{90, 70});
        for (int64_t row : {0, 17, 89}) {
            const Tensor line = slice(all, 0, row, row + 1), of = slice(x, 1, row, row + 1);
            CHECK(cast(line, DType::f64).to_vector<double>() ==
                  cast(cast(of, dtype), DType::f64).to_vector<double>());
        }
    }
}
