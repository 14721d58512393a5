// A product that is written past the caches, against the same product in pieces that are not.
#include <doctest/doctest.h>

#include <cstring>
#include <iostream>
#include <limits>
#include <vector>

#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_panel.h"
#include "engine/parallel.h"
#include "engine/scratch.h"
#include "tests/support/restore.h"

using namespace mercer;
using cpu::MatrixView;

namespace {

template <class T>
T* numbers(Scratch& scratch, int64_t count, uint64_t state) {
    T* const out = scratch.take<T>(count);
    for (int64_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        out[i] = T(int64_t(state >> 33) % 2001 - 1000) / T(64);
    }
    return out;
}

struct Case {
    int64_t batch, m, n, k, c_row,
        shift;  // c's rows are c_row elements apart, its first `shift` from a line
};

/// Computed at once and in bands of `few` rows; what lies between c's rows stays as it was.
template <class T>
void check(const Case& s, int64_t few) {
    INFO(s.batch, " x ", s.m, " x ", s.n, " x ", s.k, ", rows ", s.c_row, " apart from ", s.shift);
    Scratch scratch;
    const int64_t count = s.batch * s.m * s.c_row + s.shift;
    const T* const a = numbers<T>(scratch, s.batch * s.m * s.k, 1);
    const T* const b = numbers<T>(scratch, s.batch * s.k * s.n, 2);
    std::vector<int64_t> at_a, at_b, at_c;
    for (int64_t e = 0; e < s.batch; ++e) {
        at_a.push_back(e * s.m * s.k);
        at_b.push_back(e * s.k * s.n);
        at_c.push_back(e * s.m * s.c_row);
    }
    const auto filled = [&] {
        T* const c = scratch.take<T>(count);
        for (int64_t i = 0; i < count; ++i) c[i] = T(-3);
        return c;
    };
    T* const whole = filled();
    T* const pieces = filled();
    const Restore restore;
    cpu::set_streams_above(-1);
    cpu::gemm_batched<T>(s.batch, s.m, s.n, s.k, {a, s.k, 1}, at_a.data(), {b, s.n, 1}, at_b.data(),
                         {whole + s.shift, s.c_row, 1}, at_c.data());
    cpu::set_streams_above(std::numeric_limits<int64_t>::max());
    for (int64_t e = 0; e < s.batch; ++e)
        for (int64_t i = 0; i < s.m; i += few)
            cpu::gemm<T>(std::min(few, s.m - i), s.n, s.k, {a + at_a[e] + i * s.k, s.k, 1},
                         {b + at_b[e], s.n, 1},
                         {pieces + s.shift + at_c[e] + i * s.c_row, s.c_row, 1});
    CHECK(std::memcmp(whole, pieces, size_t(count) * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("gemm: a product past the caches has the bits of its pieces", T, float, double) {
    constexpr int64_t line = 64 / sizeof(T);
    if (!cpu::rows_may_stream<T>(cpu::gemm_kernels<T>().nr))
        std::cout << "[reduced] no product goes past the caches on " << name_of(isa()) << "\n";
    const Restore restore;
    for (const int threads : {1, 3}) {
        CAPTURE(threads);
        set_thread_count(threads);
        check<T>({8, 256, 256, 5, 256, 0}, 64);              // many entries, each by one thread
        check<T>({8, 257, 256, 5, 256 + line, line}, 64);    // gaps between rows
        check<T>({8, 250, 270, 5, 17 * line + 256, 0}, 64);  // rows that end within a line
        check<T>({8, 256, 256, 5, 256 + line, 1}, 64);       // rows that begin within one
        check<T>({8, 256, 256, 5, 256 + 1, 0}, 64);          // the first at its beginning
        check<T>({1, 700, 2048, 7, 2048, 0}, 256);           // one, by all threads
        check<T>({1, 64, 1 << 15, 3, 1 << 15, 0}, 16);       // wide
        check<T>({1, 2000, 64, 70, 64, 0}, 60);              // a, too, from memory
        check<T>({1, 1999, 16, 64, 16, 0}, 60);
    }
}

TEST_CASE("gemm: a product past the caches whose sums take several passes") {
    check<double>({1, 1024, 2048, 600, 2048, 0}, 256);
}

TEST_CASE("caches: stores among arithmetic go past them beyond the whole last one") {
    const Restore restore;
    const int64_t last = cpu::caches().last;
    CHECK(last >= cpu::caches().l3);
    CHECK(!cpu::streams_between(last));
    CHECK(cpu::streams_between(last + 1));
    cpu::set_streams_above(-1);
    CHECK(cpu::streams_between(0));
}
