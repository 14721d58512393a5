// Rows joined by number in tables beyond the cache, whose ids are looked at some rows before they are used.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

constexpr int64_t beyond = (1 << 17) + 1;  // elements of a table

std::vector<int64_t> random_ids(int64_t n, int64_t size) {
    std::mt19937_64 random(7);
    std::vector<int64_t> list(static_cast<size_t>(n));
    for (int64_t& id : list) id = int64_t(random() % uint64_t(size));
    if (n) list[0] = size - 1;
    return list;
}

/// Whole numbers, so that sums are exact in any order.
template <class T>
void joins(int64_t n, int64_t width) {
    const int64_t size = beyond / width + 1;
    const std::vector<int64_t> id = random_ids(n, size);
    const Tensor x = floor(uniform(Key{1, 1}, {n, width}, dtype_of<T>, -100, 100)),
                 ids = Tensor::from(id, {n});
    std::vector<T> sum(size_t(size * width)), most(sum.size(), -7), least(sum.size(), -7);
    std::vector<char> met(static_cast<size_t>(size));
    for (int64_t j = 0; j < n; ++j) {
        const int64_t s = id[size_t(j)];
        for (int64_t c = 0; c < width; ++c) {
            const T v = x.data<T>()[j * width + c];
            T &m = most[size_t(s * width + c)], &l = least[size_t(s * width + c)];
            sum[size_t(s * width + c)] += v;
            m = met[size_t(s)] ? std::max(m, v) : v;
            l = met[size_t(s)] ? std::min(l, v) : v;
        }
        met[size_t(s)] = 1;
    }
    CAPTURE(n);
    CAPTURE(width);
    CHECK(scatter_add(x, reshape(ids, {n, 1}), 0, size).template to_vector<T>() == sum);
    CHECK(unsorted_segment_max(x, ids, size, -7).template to_vector<T>() == most);
    CHECK(unsorted_segment_min(x, ids, size, -7).template to_vector<T>() == least);
}

}  // namespace

TEST_CASE("rows joined in a table beyond the cache: every width, whole blocks and what is left") {
    for (int64_t width : {1, 2, 3, 4, 8})
        for (int64_t n :
             {int64_t{1}, int64_t{63}, int64_t{64}, int64_t{65}, int64_t{127}, int64_t{128},
              int64_t{129}, int64_t{1000}, 4 * (beyond / width + 1) + 77}) {
            joins<float>(n, width);
            joins<double>(n, width);
        }
}

TEST_CASE("the bits of sums do not depend on the number of threads") {
    const int64_t n = 4 * beyond + 5;
    const Tensor x = randn(Key{1, 1}, {n}), ids = Tensor::from(random_ids(n, beyond), {n});
    const int threads = thread_count();
    set_thread_count(1);
    const Tensor one = scatter_add(x, ids, 0, beyond);
    set_thread_count(3);
    CHECK(difference(one, scatter_add(x, ids, 0, beyond)) == "");
    set_thread_count(threads);
}

TEST_CASE("a NaN stays its segment's extremum, whatever comes before or after") {
    for (const int64_t size : {int64_t{10}, beyond}) {
        std::vector<double> x(1000, 1);
        std::vector<int64_t> id = random_ids(1000, size);
        id[10] = id[200] = id[900] = 3;
        x[200] = NAN, x[10] = 5, x[900] = -5;
        const Tensor rows = Tensor::from(x, {1000}), ids = Tensor::from(id, {1000});
        CHECK(std::isnan(unsorted_segment_max(rows, ids, size).to_vector<double>()[3]));
        CHECK(std::isnan(unsorted_segment_min(rows, ids, size).to_vector<double>()[3]));
    }
}

TEST_CASE("an id outside is named, wherever it stands, and nothing written there") {
    const int64_t n = 4 * beyond, half = n / 2;
    const Tensor x = Tensor::ones({n});
    for (const int64_t size : {beyond - 1, beyond}) {
        const Tensor base = Tensor::zeros({size});
        std::vector<int64_t> id = random_ids(n, size);
        for (int64_t place : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{127}, int64_t{128},
                              half - 129, half - 128, half - 65, half - 64, half - 1, half,
                              half + 63, half + 64, n - 129, n - 128, n - 65, n - 64, n - 1})
            for (int64_t wrong : {int64_t{-1}, size, INT64_MIN, INT64_MAX}) {
                const int64_t was = std::exchange(id[size_t(place)], wrong);
                const Tensor ids = Tensor::from(id, {n});
                const std::string text = " index " + std::to_string(wrong) + " is outside [0, " +
                                         std::to_string(size) + ") along axis 0";
                CAPTURE(place);
                CHECK_THROWS_WITH_AS(scatter_add(x, ids, 0, size), ("[scatter_add]" + text).c_str(),
                                     ValueError);
                CHECK_THROWS_WITH_AS(scatter(base, ids, x, 0), ("[scatter]" + text).c_str(),
                                     ValueError);
                id[size_t(place)] = was;
            }
    }
}
