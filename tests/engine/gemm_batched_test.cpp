// Batches, epilogues and OpenBLAS against the sums that gemm promises.
#include "engine/cpu/gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/functions.h"
#include "engine/isa.h"
#include "tests/engine/gemm_promise.h"

namespace mercer {
const cpu::PointwiseKernels& gelu_kernels();  // engine/ops/pointwise.cpp
}

TEST_CASE_TEMPLATE("gemm_batched: offsets, broadcast operands, many small and few large", T, float,
                   double) {
    for (const auto& shape : {std::array<int64_t, 4>{0, 3, 3, 3},
                              {5, 7, 9, 4},
                              {200, 16, 16, 16},
                              {3, 70, 90, 300},
                              {2, 130, 128, 257},
                              {8, 100, 100, 8},
                              {40, 1, 64, 64},
                              {6, 64, 1, 50},
                              {7, 3, 4, 5},
                              {12, 8, 8, 8},
                              {5, 66, 3, 66},
                              {9, 20, 2, 70},
                              {60, 100, 90, 40},
                              {8, 200, 256, 64}})
        for (const auto& [lb, lc] : {std::pair(Layout::padded_columns, Layout::rows),
                                     std::pair(Layout::rows, Layout::rows),
                                     std::pair(Layout::padded_columns, Layout::columns)}) {
            const int64_t batch = shape[0], m = shape[1], n = shape[2], k = shape[3];
            CAPTURE(batch);
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            Numbers numbers{uint64_t(batch + m)};
            Matrix<T> a(m, k, Layout::rows, batch), b(k, n, lb, batch), c(m, n, lc, batch);
            a.fill(numbers), b.fill(numbers), c.fill(numbers);
            std::vector<int64_t> at_a, at_b, at_c;
            for (int64_t i = 0; i < batch; ++i) {
                at_a.push_back(i * a.size());
                at_b.push_back(i % 3 * b.size() * (batch > 2));  // broadcast
                at_c.push_back((batch - 1 - i) * c.size());
            }
            for (bool accumulate : {false, true}) {
                Matrix<T> expected = c;
                for (int64_t i = 0; i < batch; ++i)
                    promised<T>(m, n, k, {a.memory.data() + at_a[size_t(i)], a.row, a.col},
                                {b.memory.data() + at_b[size_t(i)], b.row, b.col},
                                {expected.memory.data() + at_c[size_t(i)], c.row, c.col},
                                accumulate);
                on_every_isa([&] {
                    Matrix<T> actual = c;
                    cpu::gemm_batched<T>(batch, m, n, k, a.in(), at_a.data(), b.in(), at_b.data(),
                                         actual.out(), at_c.data(), accumulate);
                    CHECK(same_bits(actual.memory, expected.memory));
                });
            }
        }
}

TEST_CASE_TEMPLATE("gemm: the epilogue gives the bits of its steps", T, float, double) {
    const DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
    const auto tensor = [&](const Matrix<T>& x) {
        Tensor t = Tensor::empty({x.m, x.n}, dtype);
        for (int64_t i = 0; i < x.m; ++i)
            for (int64_t j = 0; j < x.n; ++j)
                static_cast<T*>(t.raw())[i * x.n + j] = x.memory[size_t(i * x.row + j * x.col)];
        return t;
    };
    uint64_t seed = 0;
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 40, 5},
                                  {40, 1, 5},
                                  {7, 17, 0},
                                  {33, 45, 20},
                                  {300, 290, 100},
                                  {900, 60, 50},
                                  {150, 400, 1100}})
        for (Layout layout : {Layout::rows, Layout::columns, Layout::both}) {
            Numbers numbers{++seed};
            Matrix<T> a(m, k, Layout::rows), b(k, n, Layout::padded_rows), c(m, n, layout),
                bias(1, n, Layout::both);
            a.fill(numbers), b.fill(numbers), bias.fill(numbers);
            for (T& x : a.memory) x /= T(64);
            cpu::gemm(m, n, k, a.in(), b.in(), c.out());
            const Tensor steps = gelu(tensor(c) + tensor(bias));
            on_every_isa([&] {
                Matrix<T> actual = c;
                cpu::Epilogue<T> after{bias.memory.data(), bias.col, &gelu_kernels()};
                cpu::gemm(m, n, k, a.in(), b.in(), actual.out(), false, after);
                const Tensor fused = tensor(actual);
                CHECK(std::memcmp(fused.raw(), steps.raw(), size_t(m * n) * sizeof(T)) == 0);
            });
        }
}

TEST_CASE_TEMPLATE("gemm_openblas agrees within rounding", T, float, double) {
    for (int l = 0; l < layouts; ++l)
        for (const auto& [m, n, k] :
             {std::array<int64_t, 3>{1, 1, 1}, {1, 9, 30}, {9, 1, 30}, {20, 30, 0}, {45, 37, 70}})
            for (bool accumulate : {false, true}) {
                Numbers numbers{uint64_t(m + l)};
                Matrix<T> a(m, k, Layout(l)), b(k, n, Layout((l + 1) % layouts)),
                    c(m, n, Layout((l + 2) % layouts));
                a.fill(numbers), b.fill(numbers), c.fill(numbers);
                Matrix<T> ours = c, theirs = c;
                cpu::gemm(m, n, k, a.in(), b.in(), ours.out(), accumulate);
                cpu::gemm_openblas<T>(m, n, k, a.in(), b.in(), theirs.out(), accumulate);
                T largest = 1;
                for (const Matrix<T>* x : {&a, &b})
                    for (T v : x->memory) largest = std::max(largest, std::abs(v));
                const T bound =
                    T(k + 1) * largest * largest * T(k + 1) * std::numeric_limits<T>::epsilon();
                for (size_t i = 0; i < c.memory.size(); ++i)
                    CHECK(std::abs(ours.memory[i] - theirs.memory[i]) <= bound);
            }
}

// Run twice: as it is, and with MERCER_GEMM=openblas.
TEST_CASE("gemm: the environment") {
    const char* chosen = std::getenv("MERCER_GEMM");
    CHECK(cpu::gemm_by_openblas() == (chosen && std::string(chosen) == "openblas"));
    Numbers numbers{1};
    for (int64_t n : {70, 24}) {
        Matrix<float> a(n, n, Layout::rows), b(n, n, Layout::rows), ours(n, n, Layout::rows),
            entry = ours, theirs = ours;
        a.fill(numbers), b.fill(numbers);
        cpu::gemm(n, n, n, a.in(), b.in(), ours.out());
        cpu::gemm_batched<float>(1, n, n, n, a.in(), nullptr, b.in(), nullptr, entry.out(),
                                 nullptr);
        if (cpu::gemm_by_openblas())
            cpu::gemm_openblas<float>(n, n, n, a.in(), b.in(), theirs.out());
        else
            promised(n, n, n, a.in(), b.in(), theirs.out(), false);
        CHECK(same_bits(ours.memory, theirs.memory));
        CHECK(same_bits(entry.memory, theirs.memory));
    }
}
