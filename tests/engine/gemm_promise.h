// The sums that gemm promises, by their words, and matrices of every layout to try them on.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "engine/cpu/gemm.h"
#include "tests/support/every_isa.h"

using namespace mercer;
using cpu::MatrixView;

namespace {

struct Numbers {
    uint64_t state;
    uint64_t next() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 33;
    }
    template <class T>
    T value() {
        const uint64_t x = next();
        if (x % 31 == 0) return T(0) * T(x & 32 ? -1 : 1);
        return T(int64_t(x % 20001) - 10000) / T(1 + x % 997);
    }
};

enum class Layout { rows, columns, padded_rows, padded_columns, both };
constexpr int layouts = 5;

template <class T>
struct Matrix {
    std::vector<T> memory;
    int64_t m, n, row, col;
    Matrix(int64_t m, int64_t n, Layout layout, int64_t batch = 1) : m(m), n(n) {
        switch (layout) {
            case Layout::rows: row = n, col = 1; break;
            case Layout::columns: row = 1, col = m; break;
            case Layout::padded_rows: row = n + 5, col = 1; break;
            case Layout::padded_columns: row = 1, col = m + 3; break;
            case Layout::both: row = 3 * n + 2, col = 3; break;
        }
        memory.assign(size_t(batch * size() + 1), T(0));
    }
    int64_t size() const { return m * row + n * col + 1; }
    void fill(Numbers& numbers) {
        for (T& x : memory) x = numbers.value<T>();
    }
    MatrixView<const T> in() const { return {memory.data(), row, col}; }
    MatrixView<T> out() { return {memory.data(), row, col}; }
};

template <class T>
void chain(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
           MatrixView<T> c, bool accumulate) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            T& out = c.data[i * c.row + j * c.col];
            T sum = accumulate ? out : T(0);
            for (int64_t p = 0; p < k; ++p)
                sum = std::fma(a.data[i * a.row + p * a.col], b.data[p * b.row + j * b.col], sum);
            out = sum;
        }
}

/// The second order, by its words.
template <class T>
void lanes(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
           MatrixView<T> c, bool accumulate) {
    constexpr int64_t l = 64 / sizeof(T);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            T sum[l] = {};
            for (int64_t p = 0; p < (k + l - 1) / l * l; ++p)
                sum[p % l] = std::fma(p < k ? a.data[i * a.row + p * a.col] : T(0),
                                      p < k ? b.data[p * b.row + j * b.col] : T(0), sum[p % l]);
            for (int64_t h = l / 2; h >= 1; h /= 2)
                for (int64_t x = 0; x < h; ++x) sum[x] = sum[x] + sum[x + h];
            T& out = c.data[i * c.row + j * c.col];
            out = accumulate ? out + sum[0] : sum[0];
        }
}

/// The third.
template <class T>
void strands(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
             MatrixView<T> c, bool accumulate) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            T sum[4] = {};
            for (int64_t p = 0; p < k; ++p)
                sum[p % 4] = std::fma(a.data[i * a.row + p * a.col], b.data[p * b.row + j * b.col],
                                      sum[p % 4]);
            const T all = (sum[0] + sum[2]) + (sum[1] + sum[3]);
            T& out = c.data[i * c.row + j * c.col];
            out = accumulate ? out + all : all;
        }
}

/// The order that the shape and the layouts choose.
template <class T>
void promised(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
              MatrixView<T> c, bool accumulate) {
    const cpu::Order order = cpu::order_by_shape(m, n, k, a, b);
    (order == cpu::Order::lanes     ? lanes<T>
     : order == cpu::Order::strands ? strands<T>
                                    : chain<T>)(m, n, k, a, b, c, accumulate);
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T>
void check(int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, bool accumulate,
           uint64_t seed) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(int(la));
    CAPTURE(int(lb));
    CAPTURE(int(lc));
    CAPTURE(accumulate);
    Numbers numbers{seed};
    Matrix<T> a(m, k, la), b(k, n, lb), c(m, n, lc);
    a.fill(numbers), b.fill(numbers), c.fill(numbers);
    Matrix<T> expected = c;
    promised(m, n, k, a.in(), b.in(), expected.out(), accumulate);
    on_every_isa([&] {
        Matrix<T> actual = c;  // what lies between the rows must stay as it is, too
        cpu::gemm(m, n, k, a.in(), b.in(), actual.out(), accumulate);
        CHECK(same_bits(actual.memory, expected.memory));
    });
}

}  // namespace
