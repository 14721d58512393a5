// A symmetric matrix as Q T Qᵀ, T tridiagonal, Q a product of Householder's reflections; and rows turned by Qᵀ.
#pragma once

#include <cmath>

#include "engine/cpu/linalg_table.h"
#include "engine/cpu/triangle.h"

namespace mercer {
MERCER_TYPED(cpu::TridiagonalKernels, tridiagonal_kernels)  // engine/cpu/eigen.cpp

namespace cpu {

/// out_t = Σ_j m_tj x_j for `rows` rows of n elements.
template <class T>
void dots(int64_t rows, int64_t n, const T* m, int64_t row, const T* x, T* out) {
    gemm_kernels<T>().multiply_lanes(rows, 1, n, m, row, x, out, 1, false);
}

inline constexpr int64_t direct_order = 40;  // up to which reflections are applied one by one

/// y = a·x for the leading k×k of a symmetric matrix, from its lower triangle. Rows come in strips by size only, their
/// parts of y are added in order; `parts` has room for them.
template <class T>
void symmetric_times(int64_t k, const T* a, int64_t row, const T* x, T* y, T* parts) {
    constexpr int64_t strip = 128, least = 384;
    const TridiagonalKernels<T>& kernels = tridiagonal_kernels<T>();
    if (k < least) return kernels.multiply(0, k, a, row, x, y);
    const int64_t strips = divide_up(k, strip), pairs = divide_up(strips, 2);
    const auto one_strip = [&](int64_t s) {
        kernels.multiply(s * strip, std::min(k, (s + 1) * strip), a, row, x, parts + s * k);
    };
    // A long strip with a short one, so that every piece costs the same and stays in its thread's cache from step to step.
    parallel_each(pairs, divide_up(pairs, thread_count()), [&](int64_t i) {
        one_strip(i);
        if (strips - 1 - i != i) one_strip(strips - 1 - i);
    });
    std::fill_n(y, k, T(0));
    const T one(1);
    for (int64_t s = 0; s < strips; ++s)
        kernels.add_rows(1, std::min(k, (s + 1) * strip), parts + s * k, 0, &one, y);
}

/// d and e (n − 1 elements) of T from the lower triangle of a, rows `apart` elements apart. Reflection k = n − 1 … 1 is I − tau_k v vᵀ, v left in row k's
/// first k elements; Q is their product in this order.
template <class T>
class Reduction {
public:
    Reduction(int64_t n, T* a, int64_t apart, T* d, T* e, T* tau)
        : n_(n),
          apart_(apart),
          a_(a),
          d_(d),
          e_(e),
          tau_(tau),
          panel_(n < 128   ? n
                 : n < 768 ? 16
                           : 32) {
        Scratch scratch;
        row_ = round_up(n, line<T>) + line<T>;
        v_ = scratch.take<T>(3 * panel_ * row_);
        w_ = v_ + panel_ * row_;
        factor_ = scratch.take<T>(2 * panel_);
        parts_ = scratch.take<T>(n < 384 ? 0 : (n / 128 + 1) * n);
        int64_t k = n - 1;
        while (k >= 0) {
            const int64_t count = std::min(panel_, k + 1);
            for (int64_t t = 0; t < count; ++t, --k) step(k, t);
            if (k >= 0) update(k + 1, count);
        }
    }

private:
    /// Row k of a after the panel's first t reflections; its own reflection, v and w.
    void step(int64_t k, int64_t t) {
        T* const x = a_ + k * apart_;
        for (int64_t s = 0; s < t; ++s)
            factor_[s] = -w_[s * row_ + k], factor_[t + s] = -v_[s * row_ + k];
        if (t > 0) {
            kernels_.add_rows(t, k + 1, v_, row_, factor_, x);
            kernels_.add_rows(t, k + 1, w_, row_, factor_ + t, x);
        }
        d_[k] = x[k];
        if (k == 0) return;
        T *const v = v_ + t * row_, *const w = w_ + t * row_;
        // Below it a square may have lost its last bits, and what it came from is not seen beside the matrix's largest.
        constexpr T tiny = sizeof(T) == 4 ? T(1e-30) : T(1e-290);
        const T first = x[k - 1];
        T square = 0;
        dots(1, k - 1, x, 0, x, &square);
        if (!(square > tiny)) {
            tau_[k] = T(0), e_[k - 1] = first;
            std::fill_n(v, k, T(0)), std::fill_n(w, k, T(0));
            return;
        }
        const T length = std::sqrt(square + first * first), end = first > T(0) ? -length : length,
                scale = T(1) / (first - end);
        e_[k - 1] = end;
        const T tau = tau_[k] = (end - first) / end;
        for (int64_t j = 0; j < k - 1; ++j) v[j] = x[j] = x[j] * scale;
        v[k - 1] = x[k - 1] = T(1);
        // w = tau (A v − V Wᵀv − W Vᵀv), and less its part along v.
        symmetric_times(k, a_, apart_, v, w, parts_);
        if (t > 0) {
            dots(t, k, w_, row_, v, factor_);
            dots(t, k, v_, row_, v, factor_ + t);
            for (int64_t s = 0; s < 2 * t; ++s) factor_[s] = -factor_[s];
            kernels_.add_rows(t, k, v_, row_, factor_, w);
            kernels_.add_rows(t, k, w_, row_, factor_ + t, w);
        }
        T along = 0;
        dots(1, k, w, 0, v, &along);
        along *= T(-0.5) * tau * tau;
        for (int64_t j = 0; j < k; ++j) w[j] = tau * w[j] + along * v[j];
    }

    /// The leading m×m, less V Wᵀ + W Vᵀ.
    void update(int64_t m, int64_t count) {
        for (int64_t t = 0; t < count; ++t) std::copy_n(v_ + t * row_, m, w_ + (panel_ + t) * row_);
        const GemmTable<T>& table = gemm_kernels<T>();
        Scratch scratch;
        T* const panels = scratch.take<T>(2 * count * round_up(m, table.nr));
        table.pack_columns(m, 2 * count, w_, row_, 1, panels);
        subtract_panels<T>(m, m, 2 * count, {v_, 1, row_}, panels, {a_, apart_, 1}, true);
    }

    const TridiagonalKernels<T>& kernels_ = tridiagonal_kernels<T>();
    int64_t n_, apart_;
    T *a_, *d_, *e_, *tau_;
    int64_t panel_, row_ = 0;
    T *v_ = nullptr, *w_ = nullptr, *factor_ = nullptr, *parts_ = nullptr;
};

/// Rows z of x (n×n) ← z Qᵀ, Q as Reduction left it: H_1 first. A block of reflections is I + Vᵀ N V, N = −S and S upper
/// triangular (Schreiber and Van Loan 1989): column t of N is −tau_t (N Vv_t; 1).
template <class T>
void turn_back(int64_t n, const T* a, int64_t apart, const T* tau, T* x) {
    const TridiagonalKernels<T>& kernels = tridiagonal_kernels<T>();
    if (n <= direct_order) {
        T factor[direct_order];
        for (int64_t k = 1; k < n; ++k) {
            if (tau[k] == T(0)) continue;
            dots(n, k, x, n, a + k * apart, factor);
            for (int64_t i = 0; i < n; ++i) factor[i] *= -tau[k];
            kernels.add_outer(n, k, factor, a + k * apart, x, n);
        }
        return;
    }
    const int64_t block = n < 512 ? 32 : 64;
    Scratch scratch;
    T *const v = scratch.take<T>(block * n), *const nv = scratch.take<T>(block * n),
             *const xv = scratch.take<T>(block * n), *const gram = scratch.take<T>(block * block),
             *const turned = scratch.take<T>(block * block), *const factor = scratch.take<T>(block);
    for (int64_t low = 1; low < n; low += block) {
        const int64_t count = std::min(block, n - low), length = low + count - 1;
        for (int64_t t = 0; t < count; ++t) {
            std::copy_n(a + (low + t) * apart, low + t, v + t * length);
            std::fill(v + t * length + low + t, v + (t + 1) * length, T(0));
        }
        gemm<T>(count, count, length, {v, length, 1}, {v, 1, length}, {gram, count, 1});
        std::fill_n(turned, count * count, T(0));  // Nᵀ
        for (int64_t t = 0; t < count; ++t) {
            const T minus = -tau[low + t];
            for (int64_t s = 0; s < t; ++s) factor[s] = minus * gram[t * count + s];
            kernels.add_rows(t, t, turned, count, factor, turned + t * count);
            turned[t * count + t] = minus;
        }
        gemm<T>(count, length, count, {turned, 1, count}, {v, length, 1}, {nv, length, 1});
        gemm<T>(n, count, length, {x, n, 1}, {v, 1, length}, {xv, count, 1});
        gemm<T>(n, length, count, {xv, count, 1}, {nv, length, 1}, {x, n, 1}, true);
    }
}

}  // namespace cpu
}  // namespace mercer
