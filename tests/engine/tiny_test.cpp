// Batches of tiny matrices, many at a time in the lanes: the bits of each matrix by itself.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {

Tensor turned(const Tensor& x) { return permute(x, std::vector<int>{0, 2, 1}); }
Tensor entry(const Tensor& x, int64_t i) {
    return reshape(slice(x, 0, i, i + 1), {x.size(-2), x.size(-1)});
}

/// f of a batch against f of each of its entries.
void check(const std::string& name, const std::function<Tensor(const Tensor&, const Tensor&)>& f,
           const Tensor& a, const Tensor& b) {
    const Tensor all = f(a, b);
    std::string wrong;
    for (int64_t i = 0; i < a.size(0) && wrong.empty(); ++i)
        wrong = difference(entry(all, i), f(entry(a, i), b.rank() == 3 ? entry(b, i) : b));
    CHECK_MESSAGE(wrong.empty(), name << " " << to_string(a.dtype(), a.shape()) << " "
                                      << to_string(b.shape()) << ": " << wrong);
}

const std::function<Tensor(const Tensor&, const Tensor&)> product =
    [](const Tensor& a, const Tensor& b) { return matmul(a, b); };

}  // namespace

TEST_CASE("products of tiny matrices are those of each") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t m : {1, 2, 3, 5, 8})
            for (const int64_t n : {1, 2, 4, 7})
                for (const int64_t k : {1, 2, 3, 4, 8})
                    for (const int64_t batch : {16, 67}) {
                        if (k == 8 && (m == 1 || n == 1))
                            continue;  // may be summed in lanes (gemm.h)
                        const Tensor a = randn({1, uint64_t(m)}, {batch, m, k}, dtype),
                                     b = randn({2, uint64_t(n)}, {batch, k, n}, dtype),
                                     at = turned(turned(a).contiguous()),
                                     bt = turned(turned(b).contiguous());
                        check("a·b", product, a, b);
                        check("aᵀ in memory", product, at, b);
                        check("bᵀ in memory", product, a, bt);
                        check("one b", product, at, entry(b, 1));
                        check("every second", product, slice(a, 0, 0, batch, 2),
                              slice(b, 0, 0, batch, 2));
                        check("part of wider rows", product, a,
                              slice(randn({5, 6}, {batch, k, n + 3}, dtype), 2, 1, n + 1));
                    }
}

TEST_CASE("factors and solutions of tiny matrices are those of each") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t n : {1, 2, 3, 4, 5, 8, 11, 13, 16})
            for (const int64_t k : {1, 3, 8}) {
                const int64_t batch = 77;
                Tensor a = randn({1, uint64_t(n)}, {batch, n, n}, dtype);
                a = where(greater(a, Tensor::full({}, 1.0, dtype)), Tensor::full({}, 2.0, dtype),
                          a);  // pivots alike
                const Tensor b = randn({2, uint64_t(n)}, {batch, n, k}, dtype),
                             spd = matmul(a, turned(a)) + Tensor::eye(n, n, dtype) * 0.5;
                check(
                    "cholesky", [](const Tensor& x, const Tensor&) { return cholesky(x); }, spd, b);
                check(
                    "inverse", [](const Tensor& x, const Tensor&) { return inverse(x); }, a, b);
                check(
                    "solve", [](const Tensor& x, const Tensor& y) { return solve(x, y); }, a, b);
                for (const bool lower : {false, true})
                    for (const bool transposed : {false, true}) {
                        const auto f = [&](const Tensor& x, const Tensor& y) {
                            return triangular_solve(x, y, lower, transposed);
                        };
                        check("triangular", f, spd, b);
                        check("triangular, turned in memory", f, turned(spd), b);
                    }
            }
}

TEST_CASE("one matrix for many right sides") {
    const Tensor t = Tensor::eye(3, 3) * 2.0, b = randn({1, 2}, {50, 3, 2});
    CHECK(difference(triangular_solve(t, b), b / 2.0) == "");
    CHECK(difference(solve(t, b), b / 2.0) == "");
    for (const Shape& batch : {Shape{20, 1}, Shape{5, 4, 1}, Shape{1, 20}}) {
        const Tensor many = randn({5, 6}, {20, 3, 3}), right = randn({7, 8}, {20, 3, 2}),
                     x = triangular_solve(reshape(many, joined(batch, {3, 3})),
                                          reshape(right, joined(batch, {3, 2})));
        CHECK(difference(reshape(x, {20, 3, 2}), triangular_solve(many, right)) == "");
    }
    const Tensor grid = randn({1, 2}, {4, 25, 3, 2});
    CHECK(difference(triangular_solve(
                         Tensor::eye(3, 3) * broadcast_to(Tensor::full({}, 2.0), {25, 1, 1}), grid),
                     grid / 2.0) == "");
}

TEST_CASE("products summed down columns have the bits of those along rows") {
    const auto sum_of = [](const char* equation, const Tensor& x, const Tensor& y) {
        return einsum(equation, std::vector<Tensor>{x, y});
    };
    on_every_isa([&] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t k : {1, 7, 15, 16, 50})
                for (const int64_t columns : {3, 16, 31, 700}) {
                    const Tensor x = randn({2, 1}, {3, k, columns}, dtype),
                                 y = randn({2, 2}, {3, k, columns}, dtype);
                    const Tensor along =
                        sum_of("bji,bji->bj", turned(x).clone(), turned(y).clone());
                    CHECK(difference(sum_of("bij,bij->bj", x, y), along) == "");
                }
    });
}

TEST_CASE("the matrix that fails is named, and the others did not matter") {
    for (const int64_t n : {2, 5, 16}) {
        Tensor a = broadcast_to(Tensor::eye(n, n), {100, n, n}).clone();
        a.mutable_data<float>()[(70 * n + 1) * n + 1] = 0;
        a.mutable_data<float>()[(71 * n) * n] = NAN;
        const Tensor b = Tensor::ones({100, n, 1});
        for (const auto& f : {std::function<Tensor()>([&] { return solve(a, b); }),
                              std::function<Tensor()>([&] { return inverse(a); }),
                              std::function<Tensor()>([&] { return cholesky(a); })})
            CHECK(message_of<NumericalError>(f).find("matrix 70 of the batch") !=
                  std::string::npos);
    }
}
