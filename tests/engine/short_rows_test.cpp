// Short rows that are reduced together, a register's lanes of them at a time: the bits of each by itself. What they should
// be is in tests/cases/reductions.cpp and statistics.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/edge.h"
#include "tests/support/every_isa.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {

struct Reduction {
    std::string name;
    std::function<Tensor(const Tensor&)> f;
    bool floating = false;
};
const std::vector<Reduction> reductions{
    {"sum", [](const Tensor& x) { return sum(x, {1}); }},
    {"prod", [](const Tensor& x) { return prod(x, {1}); }},
    {"max", [](const Tensor& x) { return max(x, {1}); }},
    {"min", [](const Tensor& x) { return min(x, {1}); }},
    {"argmax", [](const Tensor& x) { return argmax(x, 1); }},
    {"argmin", [](const Tensor& x) { return argmin(x, 1); }},
    {"any", [](const Tensor& x) { return any(x, {1}); }},
    {"all", [](const Tensor& x) { return all(x, {1}); }},
    {"count_nonzero", [](const Tensor& x) { return count_nonzero(x, {1}); }},
    {"norm 1", [](const Tensor& x) { return norm_p(x, std::array{1}, 1); }, true},
    {"norm 2", [](const Tensor& x) { return norm_p(x, std::array{1}, 2); }, true},
    {"var", [](const Tensor& x) { return var(x, {1}); }, true},
};

/// Many are equal, of both signs of zero too; a few are infinite or NaN, if they may be.
Tensor numbers(int64_t rows, int64_t n, DType dtype, bool all_finite = false) {
    const Tensor x = floor(randn(Key{9, uint64_t(n)}, {rows, n}, DType::f64) * 3.0);
    if (!is_floating(dtype) || all_finite) return cast(x, dtype);
    const auto put = [&](const Tensor& where_it_is, double value, const Tensor& other) {
        return where(where_it_is, Tensor::scalar(value, DType::f64), other);
    };
    const Tensor rare = put(equal(x, 7.0), std::numeric_limits<double>::infinity(),
                            put(equal(x, -8.0), std::nan(""), x));
    return cast(put(equal(x, 2.0), -0.0, rare), dtype);
}

void check(const Tensor& x, DType dtype) {
    for (const Reduction& r : reductions) {
        if (r.floating && !is_floating(dtype)) continue;
        std::vector<Tensor> each;
        for (int64_t i = 0; i < x.size(0); ++i)
            each.push_back(r.f(slice(x, 0, i, i + 1).contiguous()));
        const std::string found = difference(r.f(x), concat(each, 0));
        CHECK_MESSAGE(found == "", r.name, " of ", x.size(1), " ", name_of(dtype), ", ", x.size(0),
                      " rows: ", found);
    }
}

}  // namespace

TEST_CASE("short rows that come together are reduced as each for itself") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (int64_t n = 1; n <= 18; ++n)
            for (const int64_t count : {3, 37, 64}) {
                const Tensor all = numbers(count, n + 9, dtype);
                for (const int64_t apart : {n, n + 1, n + 9, int64_t{0}, -n}) {
                    CAPTURE(apart);
                    const int64_t first = apart < 0 ? (count - 1) * n : 0;
                    const Tensor x = all.view({count, n}, {apart, 1}, first);
                    on_every_isa([&] { check(x, dtype); });
                }
            }
}

TEST_CASE("planes of few elements that are reduced together are as each for itself") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (const int64_t side : {2, 3, 7, 15, 17})
            for (const int64_t n : {1, 2, 5, 16, 70, 200}) {
                // Rows are moved by more bytes than they have, but none beyond the tensor.
                const Tensor planes = numbers(150, n * side, dtype);
                const size_t bytes = size_t(planes.count()) * size_of(dtype);
                const AtTheEdge<char> edge(bytes);
                std::memcpy(edge.begin(), planes.raw(), bytes);
                const Tensor x = Tensor::wrap(edge.begin(), {150, n, side}, dtype, {});
                on_every_isa([&] { check(x, dtype); });
                for (const bool all_of : {false, true}) {
                    const auto f = [&](const Tensor& t) {
                        const Tensor set = greater(t, Tensor::zeros({}, dtype));
                        return all_of ? all(set, {1}) : any(set, {1});
                    };
                    std::vector<Tensor> each;
                    for (int64_t i = 0; i < 150; ++i) each.push_back(f(slice(x, 0, i, i + 1)));
                    CHECK(difference(f(x), concat(each, 0)) == "");
                }
            }
}

TEST_CASE("few planes are reduced as they are among many") {
    const std::pair<int64_t, int64_t> sizes[] = {{1, 1},    {9, 1},  {60, 1}, {600, 1},
                                                 {1000, 1}, {1, 5},  {2, 3},  {5, 2},
                                                 {9, 7},    {20, 3}, {3, 40}, {200, 4}};
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (const bool all_finite : {false, true})
            for (const int64_t count : {1, 2, 16, 63, 64})
                for (const auto& [n, side] : sizes) {
                    const Tensor many = reshape(numbers(count + 130, n * side, dtype, all_finite),
                                                {count + 130, n, side}),
                                 few = slice(many, 0, 0, count).contiguous();
                    on_every_isa([&] {
                        for (const Reduction& r : reductions) {
                            if (r.floating && !is_floating(dtype)) continue;
                            CHECK_MESSAGE(difference(r.f(few), slice(r.f(many), 0, 0, count)) == "",
                                          r.name, " of ", to_string(dtype, few.shape()));
                        }
                    });
                }
}

TEST_CASE("few elements are reduced along axes that are no neighbours as many are") {
    const Tensor many = reshape(numbers(4, 300 * 5, DType::f32, true), {4, 300, 5}),
                 few = slice(many, 1, 0, 7).contiguous();
    on_every_isa([&] {
        for (const bool keep : {false, true}) {
            const int axis = keep ? 1 : 0;
            const auto first = [&](const Tensor& y) { return slice(y, axis, 0, 7); };
            CHECK(difference(sum(few, {0, 2}, keep), first(sum(many, {0, 2}, keep))) == "");
            CHECK(difference(max(few, {0, 2}, keep), first(max(many, {0, 2}, keep))) == "");
        }
    });
}

TEST_CASE("short rows of bools are counted to the edge of memory") {
    for (int64_t n = 1; n <= 70; ++n)
        for (const int64_t count : {1, 2, 37})
            for (const int64_t step : {n, n + 3, int64_t{0}}) {
                const int64_t size = (count - 1) * step + n;
                const AtTheEdge<bool> edge{size_t(size)};
                for (int64_t i = 0; i < size; ++i) edge.begin()[i] = (i * i + n) % (n % 5 + 2) != 0;
                const Tensor x = Tensor::wrap(edge.begin(), {size}, DType::boolean, {})
                                     .view({count, n}, {step, 1}, 0);
                std::vector<int64_t> hits(size_t(count), 0);
                for (int64_t k = 0; k < count; ++k)
                    hits[size_t(k)] =
                        std::count(edge.begin() + k * step, edge.begin() + k * step + n, true);
                CAPTURE(n);
                CAPTURE(step);
                on_every_isa([&] {
                    const std::vector<int64_t> found = count_nonzero(x, std::array{1})
                                                           .to_vector<int64_t>(),
                                               some = any(x, std::array{1}).to_vector<int64_t>(),
                                               every = all(x, std::array{1}).to_vector<int64_t>();
                    CHECK(found == hits);
                    for (size_t k = 0; k < hits.size(); ++k) {
                        CHECK(some[k] == (hits[k] > 0));
                        CHECK(every[k] == (hits[k] == n));
                    }
                });
            }
}

TEST_CASE("elements of a vector are picked by any index, and bad places are named") {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::bf16})
        for (const int64_t size : {1, 70, 3000, 300000}) {  // the last is beyond any first cache
            const Tensor x = cast(randn({1, 2}, {size}) * 9.0, dtype);
            const std::vector<double> from = cast(x, DType::f64).to_vector<double>();
            const auto check = [&](const Tensor& index) {
                std::vector<double> expected;
                for (const int64_t i : index.to_vector<int64_t>())
                    expected.push_back(from[size_t(i)]);
                for (const Tensor& y : {index_select(x, index, 0), gather(x, index, 0)}) {
                    CHECK(y.dtype() == dtype);
                    CHECK(cast(y, DType::f64).to_vector<double>() == expected);
                }
            };
            check(Tensor::zeros({0}, DType::i64));
            for (const int64_t n : {1, 2048, 2049, 5000}) {
                CAPTURE(size);
                CAPTURE(n);
                const Tensor at = cast(floor(uniform({3, 4}, {n}) * double(size)), DType::i64);
                check(at);
                check(slice(at, 0, 0, n, 2));
                check(flip(at, 0));
                check(broadcast_to(slice(at, 0, n - 1, n), {n}));
                for (const int64_t bad : {int64_t{0}, n / 2, n - 1})
                    for (const int64_t id : {int64_t{-1}, size}) {
                        Tensor wrong = at.clone();
                        wrong.mutable_data<int64_t>()[bad] = id;
                        CHECK(message_of<ValueError>([&] { gather(x, wrong, 0); }) ==
                              "[gather] index " + std::to_string(id) + " is outside [0, " +
                                  std::to_string(size) + ") along axis 0");
                    }
            }
        }
}

TEST_CASE("elements of short rows are gathered, each from its own row, and bad places are named") {
    for (const int64_t n : {1, 3, 4, 31, 64, 65})
        for (const int64_t size : {4, 70}) {
            const int64_t rows = 5000;
            const Tensor x = randn({1, 2}, {rows, size}),
                         at = cast(floor(uniform({3, 4}, {rows, n}) * double(size)), DType::i64);
            const std::vector<float> got = gather(x, at, 1).to_vector<float>();
            const int64_t* const place = at.data<int64_t>();
            bool right = true;
            for (int64_t i = 0; i < rows * n; ++i)
                right = right && got[size_t(i)] == x.data<float>()[i / n * size + place[i]];
            CAPTURE(n);
            CHECK(right);
            for (const int64_t bad : {int64_t{0}, rows * n / 2 + 1, rows * n - 1}) {
                Tensor wrong = at.clone();
                wrong.mutable_data<int64_t>()[bad] = size;
                CHECK(message_of<ValueError>([&] { gather(x, wrong, 1); }) ==
                      "[gather] index " + std::to_string(size) + " is outside [0, " +
                          std::to_string(size) + ") along axis 1");
            }
        }
}
