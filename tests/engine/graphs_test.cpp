// Segments and sparse products beside the table of cases: what is wrong is named, and patterns go there and back.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/cpu/caches.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

Tensor ids(const std::vector<int64_t>& list) { return Tensor::from(list, {int64_t(list.size())}); }

template <class Error, class F>
void says(const std::string& text, F f) {
    try {
        f();
        FAIL_CHECK("nothing thrown; expected " << text);
    } catch (const Error& e) {
        CHECK_MESSAGE(std::string(e.what()).find(text) != std::string::npos, e.what());
    }
}

}  // namespace

TEST_CASE("what is wrong with segments is named") {
    const Tensor x = randn(Key{1, 1}, {4, 3});
    says<ValueError>(
        "[segment_sum] offsets must go from 0 to the number of rows, 4; they go from 0 to 3", [&] {
            segment_sum(x, ids({0, 2, 3}));
        });
    says<ValueError>("offsets must ascend, but offsets[2] = 1 comes after 3", [&] {
        segment_max(x, ids({0, 3, 1, 4}));
    });
    says<ShapeError>("offsets must have one entry more", [&] { segment_softmax(x, ids({})); });
    says<DTypeError>("[segment_mean] works on f32 and f64, got i64", [&] {
        segment_mean(cast(x, DType::i64), ids({0, 4}));
    });
    says<DTypeError>("offsets must be i64, got f32", [&] { segment_sum(x, Tensor::from({0, 4})); });
    says<ShapeError>("[unsorted_segment_sum] ids (3) must have one entry for each row of x (4,3)",
                     [&] {
                         unsorted_segment_sum(x, ids({0, 1, 0}), 2);
                     });
    says<ValueError>("[unsorted_segment_max] ids[2] = 2 is outside [0, 2)", [&] {
        unsorted_segment_max(x, ids({0, 1, 2, 0}), 2);
    });
    says<ValueError>("[unsorted_segment_softmax] ids[1] = -1 is outside [0, 2)", [&] {
        unsorted_segment_softmax(x, ids({0, -1, 1, 0}), 2);
    });
    says<ValueError>("[coo_to_csr] rows[1] = 3 is outside [0, 2)", [] {
        coo_to_csr(ids({0, 3}), ids({0, 1}), 2);
    });
    says<ValueError>("[coo_to_csr] columns[1] = -7 is outside", [] {
        coo_to_csr(ids({0, 1}), ids({0, -7}), 2);
    });
    says<ShapeError>("[coo_to_csr] rows (1) and columns (2) must have the same size", [] {
        coo_to_csr(ids({0}), ids({0, 1}), 2);
    });
    says<ValueError>("[csr_transpose] the number of columns is -2", [] {
        csr_transpose(ids({0, 0}), ids({}), -2);
    });
    says<ValueError>("the number of segments is -1", [&] {
        unsorted_segment_min(x, ids({0, 0, 0, 0}), -1);
    });
}

TEST_CASE("more segments than there is room for are refused, whatever their size wraps to") {
    const Tensor x = Tensor::ones({2, 4}), at = ids({0, 1});
    for (int64_t n : {int64_t{1} << 59, int64_t{1} << 60, int64_t{1} << 61, INT64_MAX}) {
        CHECK_THROWS_AS(unsorted_segment_softmax(x, at, n), ShapeError);
        CHECK_THROWS_AS(unsorted_segment_sum(x, at, n), ShapeError);
        CHECK_THROWS_AS(coo_to_csr(at, at, n), Error);
        CHECK_THROWS_AS(csr_transpose(ids({0, 2}), at, n), Error);
    }
}

TEST_CASE("what is wrong with a sparse product is named") {
    const Tensor x = randn(Key{1, 1}, {4, 3}), v = randn(Key{1, 2}, {3}), at = ids({0, 1, 3});
    says<ValueError>("[spmm] columns[1] = 4 is outside [0, 4)", [&] {
        spmm(at, ids({0, 4, 1}), v, x);
    });
    says<ShapeError>("[spmm] values (3) and columns (2) must have the same size", [&] {
        spmm(ids({0, 1, 2}), ids({0, 1}), v, x);
    });
    says<DTypeError>("[spmm] values and dense must be both f32 or both f64", [&] {
        spmm(at, ids({0, 1, 2}), cast(v, DType::f64), x);
    });
    says<ShapeError>(
        "[sddmm] a is (4,3), b (4,3); they must have as many columns, and a a row for each of the "
        "2 rows",
        [&] {
            sddmm(at, ids({0, 1, 2}), x, x);
        });
    // Of a transpose all or nothing.
    const Tensor columns = ids({0, 1, 2});
    const auto [offsets, rows, order] = csr_transpose(at, columns, 4);
    says<ShapeError>("[spmm] transposed_offsets must have shape (5), got none",
                     [&] { spmm(at, columns, v, x, {}, rows, order); });
    says<ShapeError>("[spmm] transposed_order must have shape (3), got none",
                     [&] { spmm(at, columns, v, x, offsets, rows); });
    says<ShapeError>("[sddmm] transposed_rows must have shape (3), got (2)", [&] {
        sddmm(at, columns, slice(x, 0, 0, 2), x, offsets, ids({0, 1}), order);
    });
    says<DTypeError>("[spmm] transposed_offsets must be i64",
                     [&] { spmm(at, columns, v, x, cast(offsets, DType::f64), rows, order); });
    says<DTypeError>("[sddmm] transposed_order must be i64", [&] {
        sddmm(at, columns, slice(x, 0, 0, 2), x, offsets, rows, cast(order, DType::i32));
    });
    says<ValueError>("[csr_transpose] columns[0] = 5", [&] {
        csr_transpose(at, ids({5, 1, 2}), 3);
    });
}

TEST_CASE("an empty segment's gradient is none, in the second order too") {
    Tape tape;
    const Var x = tape.watch(randn(Key{1, 1}, {3, 2}, DType::f64));
    const Var y = segment_max(x, ids({0, 0, 2, 3, 3}), -5);
    CHECK(y.value().to_vector<double>()[0] == -5);
    const auto g = tape.gradient(sum(square(y)), {x}, CreateGraph{});
    const auto second = tape.gradient(sum(square(g[0])), {x});
    for (double s : second[0].to_vector<double>()) CHECK(std::isfinite(s));
}

TEST_CASE("a segment whose extremum is NaN hands its gradient to the NaNs") {
    Tape tape;
    const Var x = tape.watch(Tensor::from(std::vector<double>{1, NAN, 2, NAN, 3}, {5, 1}));
    const Var most = segment_max(x, ids({0, 1, 4, 5}));
    const auto [dx] = tape.gradient(most, {x}, {.cotangents = {Tensor::ones({3, 1}, DType::f64)}});
    CHECK(dx.to_vector<double>() == std::vector<double>{1, .5, 0, .5, 1});
}

TEST_CASE("a segment of minus infinity only becomes zeros") {
    const float inf = std::numeric_limits<float>::infinity();
    const Tensor x = Tensor::from({-inf, -inf, 1, -inf}, {4});
    CHECK(segment_softmax(x, ids({0, 2, 4})).to_vector<float>() == std::vector<float>{0, 0, 1, 0});
    const Tensor two = Tensor::from({-inf, 1, -inf, 1}, {2, 2});
    CHECK(segment_softmax(two, ids({0, 2})).to_vector<float>() ==
          std::vector<float>{0, 0.5, 0, 0.5});
}

TEST_CASE("segments of single elements, of every length, are reduced as rows by themselves") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        std::vector<int64_t> offsets{0};
        for (int64_t n = 0; n <= 80; ++n) offsets.push_back(offsets.back() + n);
        const Tensor x = randn(Key{2, 1}, {offsets.back()}, dtype);
        on_every_isa([&] {
            const Tensor sums = segment_sum(x, ids(offsets)),
                         tops = segment_max(x, ids(offsets), -9);
            for (int64_t n = 1; n <= 80; ++n) {
                const Tensor row = slice(x, 0, offsets[size_t(n)], offsets[size_t(n) + 1]);
                CAPTURE(n);
                CHECK(difference(slice(sums, 0, n, n + 1), sum(row, {0}, true)) == "");
                CHECK(difference(slice(tops, 0, n, n + 1), max(row, {0}, true)) == "");
            }
        });
    }
}

TEST_CASE("extrema of zeros of both signs are the same zeros on every instruction set") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        std::vector<int64_t> offsets{0};
        for (int64_t n = 0; n <= 80; ++n) offsets.push_back(offsets.back() + n);
        const Tensor x = randn(Key{2, 2}, {offsets.back()}, dtype) * 0.0;
        std::vector<Tensor> tops, lows;
        on_every_isa([&] {
            tops.push_back(segment_max(x, ids(offsets)));
            lows.push_back(segment_min(x, ids(offsets)));
            CHECK(difference(tops.back(), tops[0]) == "");
            CHECK(difference(lows.back(), lows[0]) == "");
        });
    }
}

namespace {

Tensor same_by_threads(const std::function<Tensor()>& f) {
    const int before = thread_count();
    set_thread_count(1);
    const Tensor one = f();
    set_thread_count(3);
    CHECK(difference(f(), one) == "");
    set_thread_count(before);
    return one;
}

}  // namespace

TEST_CASE(
    "a segment of single elements is its elements reduced alone, to the last bit, however long") {
    // Lengths in no order, and some groups of them short: registers hold as many segments as they have lanes.
    for (DType dtype : {DType::f32, DType::f64})
        for (int64_t longest : {3, 15, 20, 40, 70, 300}) {
            std::vector<int64_t> at{0};
            for (int64_t s = 0; s < 131; ++s) at.push_back(at.back() + s * s * 37 % (longest + 1));
            const int64_t e = at.back();
            std::vector<double> values = randn(Key{1, 1}, {e}, DType::f64).to_vector<double>();
            for (int64_t k = 0; k < e; ++k)
                if (k % 101 == 50) values[size_t(k)] = std::nan("");
            for (size_t s = 3; s + 1 < at.size(); s += 7)  // whose sum is not −0
                std::fill(values.begin() + at[s], values.begin() + at[s + 1], -0.0);
            const Tensor x = cast(Tensor::from(values, {e}), dtype);
            const Tensor results[] = {segment_sum(x, ids(at)), segment_mean(x, ids(at)),
                                      segment_max(x, ids(at), 7), segment_min(x, ids(at), 7)};
            std::vector<Tensor> alone[4];
            for (size_t s = 0; s + 1 < at.size(); ++s) {
                const Tensor part = slice(x, 0, at[s], at[s + 1]);
                const bool some = part.count() > 0;
                const Tensor zero = Tensor::zeros({}, dtype), seven = zero + 7;
                alone[0].push_back(some ? sum(part) : zero);
                alone[1].push_back(some ? mean(part) : zero);
                alone[2].push_back(some ? max(part) : seven);
                alone[3].push_back(some ? min(part) : seven);
            }
            for (int k = 0; k < 4; ++k)
                CHECK_MESSAGE(difference(results[k], stack(alone[k], 0)) == "",
                              "result " << k << " of segments up to " << longest);
        }
}

namespace {

/// softmax(x), and the gradient of Σ g·softmax(x).
template <class F>
std::array<Tensor, 2> with_gradient(const Tensor& x, const Tensor& g, F softmax) {
    Tape tape;
    const Var v = tape.watch(x);
    const Var y = softmax(v);
    return {y.value(), tape.gradient(sum(y * g), {v})[0]};
}

/// Segments of 0 to `longest` rows, in no order.
void check_softmax(DType dtype, int64_t longest, int64_t width) {
    std::vector<int64_t> at{0};
    for (int64_t s = 0; s < 43; ++s) at.push_back(at.back() + s * s * 37 % (longest + 1));
    const int64_t e = at.back();
    const Shape shape = width == 1 ? Shape{e} : Shape{e, width};
    const Tensor x = randn(Key{1, 1}, shape, dtype) * 3, g = randn(Key{1, 2}, shape, dtype),
                 offsets = ids(at);
    const auto result = [&] {
        return with_gradient(x, g, [&](const Var& v) { return segment_softmax(v, offsets); });
    };
    cpu::set_streams_above(int64_t{1} << 60);
    const auto first = result();
    std::vector<Tensor> alone[2];
    for (size_t s = 0; s + 1 < at.size(); ++s) {
        if (at[s] == at[s + 1]) continue;
        const auto part = [&](const Tensor& t) {
            return cast(slice(t, 0, at[s], at[s + 1]), DType::f64);
        };
        const auto rows =
            with_gradient(part(x), part(g), [](const Var& v) { return softmax(v, 0); });
        for (size_t k = 0; k < 2; ++k) alone[k].push_back(rows[k]);
    }
    const double unit = dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
    for (size_t k = 0; k < 2; ++k)
        CHECK(max(abs(cast(first[k], DType::f64) - concat(alone[k], 0))).item<double>() <
              32 * unit);
    for (int64_t above : {int64_t{1} << 60, int64_t{0}}) {
        cpu::set_streams_above(above);
        on_every_isa([&] {
            const auto again = result();
            for (size_t k = 0; k < 2; ++k) CHECK(difference(again[k], first[k]) == "");
        });
    }
}

}  // namespace

TEST_CASE("the softmax of a segment, and its gradient, are those of its rows alone, however many") {
    const Restore restore;
    for (DType dtype : {DType::f32, DType::f64})
        for (int64_t longest : {3, 15, 30, 60, 300})
            for (int64_t width : {1, 5, 64, 83, 128}) {
                CAPTURE(longest);
                CAPTURE(width);
                check_softmax(dtype, longest, width);
            }
}

TEST_CASE("many rows by number in no order, in parts: empty ones, infinities, NaN, any width") {
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (int64_t width : {1, 2, 3, 8, 20}) {
        const int64_t e = 40000, n = 700;
        const Tensor at = cast(uniform(Key{1, 1}, {e}, DType::f64, 0, double(n) - 1), DType::i64),
                     base = randn(Key{1, 2}, {e, width}, DType::f64);
        std::vector<double> x = base.to_vector<double>();
        const std::vector<int64_t> id = at.to_vector<int64_t>();
        for (int64_t k = 0; k < e; ++k)
            for (int64_t c = 0; c < width; ++c) {
                double& v = x[size_t(k * width + c)];
                if (id[size_t(k)] == 5) v = -inf;  // the last number, 699, has no row
                if (id[size_t(k)] == 6 && k % 3 == 0) v = std::nan("");
            }
        const Tensor rows = Tensor::from(x, {e, width});
        std::vector<double> top(size_t(n * width), -inf), sum(top.size(), 0), z(top.size(), 0);
        const auto place = [&](int64_t i) {
            return size_t(id[size_t(i / width)] * width + i % width);
        };
        for (int64_t i = 0; i < e * width; ++i) {
            double& t = top[place(i)];
            if (!(x[size_t(i)] <= t) && !std::isnan(t)) t = x[size_t(i)];
            sum[place(i)] += x[size_t(i)];
        }
        for (int64_t i = 0; i < e * width; ++i)
            z[place(i)] += std::exp(x[size_t(i)] - top[place(i)]);
        const auto near = [](double a, double b) {
            return std::isnan(b) ? std::isnan(a) : a == b || std::abs(a - b) < 1e-12;
        };
        const auto most = same_by_threads([&] {
                              return unsorted_segment_max(rows, at, n, 7);
                          }).to_vector<double>(),
                   least = same_by_threads([&] {
                               return unsorted_segment_min(-rows, at, n, 7);
                           }).to_vector<double>(),
                   total = same_by_threads([&] {
                               return unsorted_segment_sum(rows, at, n);
                           }).to_vector<double>(),
                   soft = same_by_threads([&] {
                              return unsorted_segment_softmax(rows, at, n);
                          }).to_vector<double>();
        int64_t wrong = 0;
        for (int64_t i = 0; i < n * width; ++i) {
            const bool empty = i / width == n - 1;
            wrong += !near(most[size_t(i)], empty ? 7 : top[size_t(i)]);
            wrong += !near(least[size_t(i)], empty ? 7 : -top[size_t(i)]);
            wrong += !near(total[size_t(i)], sum[size_t(i)]);
        }
        for (int64_t i = 0; i < e * width; ++i) {
            const double t = top[place(i)],
                         want = t == -inf ? 0 : std::exp(x[size_t(i)] - t) / z[place(i)];
            wrong += !near(soft[size_t(i)], want);
        }
        CHECK_MESSAGE(wrong == 0, "width " << width);
    }
}

TEST_CASE(
    "a pattern transposed twice is itself, sorted; the sort is stable on any number of threads") {
    const int64_t e = 300000, n = 1000;
    const Tensor rows = cast(uniform(Key{1, 1}, {e}, DType::f64, 0, double(n)), DType::i64),
                 columns = cast(uniform(Key{1, 2}, {e}, DType::f64, 0, double(n)), DType::i64);
    const auto one = coo_to_csr(rows, columns, n);
    const int before = thread_count();
    set_thread_count(1);
    const auto again = coo_to_csr(rows, columns, n);
    set_thread_count(before);
    for (size_t k = 0; k < 3; ++k) CHECK(difference(one[k], again[k]) == "");
    const Tensor place = index_select(rows, one[2], 0);
    const int64_t *r = place.data<int64_t>(), *order = one[2].data<int64_t>();
    for (int64_t k = 1; k < e; ++k)
        if (r[k] < r[k - 1] || (r[k] == r[k - 1] && order[k] < order[k - 1]))
            FAIL("out of order at " << k);
    const auto turned = csr_transpose(one[0], one[1], n),
               back = csr_transpose(turned[0], turned[1], n);
    CHECK(difference(back[0], one[0]) == "");
    const auto twice = csr_transpose(back[0], back[1], n);
    for (size_t k = 0; k < 2; ++k) CHECK(difference(twice[k], turned[k]) == "");
}

TEST_CASE("a wrong column is found in every part of a sparse product") {
    constexpr int64_t edges = 9001, m = 4;  // parts of 4096
    const Tensor at = ids({0, 3000, 3000, 6001, edges}), v = randn(Key{1, 1}, {edges});
    for (int64_t width : {1, 3}) {
        const Tensor x = randn(Key{1, 2}, {m, width});
        for (int64_t wrong : {int64_t{0}, int64_t{4095}, int64_t{6000}, edges - 1})
            for (int64_t id : {int64_t{-1}, m}) {
                std::vector<int64_t> list(edges);
                for (int64_t k = 0; k < edges; ++k) list[size_t(k)] = k % m;
                list[size_t(wrong)] = id;
                const std::string what = "columns[" + std::to_string(wrong) +
                                         "] = " + std::to_string(id) + " is outside [0, 4)";
                const Tensor columns = Tensor::from(list, {edges});
                says<ValueError>("[spmm] " + what, [&] { spmm(at, columns, v, x); });
                says<ValueError>("[sddmm] " + what, [&] { sddmm(at, columns, x, x); });
            }
    }
}
