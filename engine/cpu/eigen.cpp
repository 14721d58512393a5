#include <atomic>
#include <numeric>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/factor.h"
#include "engine/cpu/instantiate.h"
#include "engine/cpu/tridiagonal.h"

namespace mercer {

MERCER_DISPATCH_TYPED(cpu::TridiagonalKernels, tridiagonal_kernels)
MERCER_TYPED(cpu::SecularKernels, secular_kernels)
MERCER_DISPATCH_TYPED(cpu::SecularKernels, secular_kernels)

namespace cpu {
namespace {

/// A tridiagonal matrix is two of half its size beside each other, plus |e| (1, ±1)ᵀ(1, ±1) where they meet (Cuppen 1981);
/// deflation and order as in LAPACK's laed2. Eigenvectors are rows of x; those of a piece are zero outside its columns.
template <class T>
class Conquest {
public:
    Conquest(int64_t n, T* d, T* e, T* x)
        : n_(n), d_(d), e_(e), x_(x), order_(scratch_.take<int64_t>(n)) {}

    /// d becomes the eigenvalues, in order()'s order ascending.
    bool run() {
        int64_t pieces = 1;
        while (n_ / pieces > leaf) pieces *= 2;
        const auto bound = [&](int64_t i) { return i * n_ / pieces; };
        for (int64_t i = 1; i < pieces; ++i)
            for (const int64_t at : {bound(i) - 1, bound(i)}) d_[at] -= std::abs(e_[bound(i) - 1]);
        std::atomic<bool> converged{true};
        parallel_each(pieces, grain_for(leaf * leaf * leaf), [&](int64_t i) {
            if (!solve(bound(i), bound(i + 1))) converged = false;
        });
        for (; pieces > 1 && converged; pieces /= 2) {
            const int64_t size = 2 * n_ / pieces;
            parallel_each(pieces / 2, grain_for(size * size * (10 + size / 64)), [&](int64_t i) {
                merge(bound(2 * i), bound(2 * i + 1), bound(2 * i + 2));
            });
        }
        return converged;
    }
    const int64_t* order() const { return order_; }

private:
    static constexpr int64_t leaf = 16;

    /// order[0, m) sorts d.
    static void sort(int64_t* order, int64_t m, const T* d) {
        std::sort(order, order + m,
                  [d](int64_t i, int64_t j) { return d[i] < d[j] || (d[i] == d[j] && i < j); });
    }

    bool solve(int64_t first, int64_t last) {
        const int64_t m = last - first;
        T* const x = x_ + first * n_;
        std::fill_n(x, m * n_, T(0));
        for (int64_t i = 0; i < m; ++i) x[i * n_ + first + i] = T(1);
        Scratch scratch;
        if (!tridiagonal_kernels<T>().ql(m, d_ + first, e_ + first, m, x + first, n_,
                                         scratch.take<T>(2 * m)))
            return false;
        std::iota(order_ + first, order_ + last, int64_t{0});
        sort(order_ + first, m, d_ + first);
        return true;
    }

    enum Kind : char { top, both, bottom };
    struct Kept {
        int64_t count;
        int64_t *row, *gone;  // rows of poles that stay, ascending, and of the others
        Kind* kind;           // of each row: where it is not zero
    };

    /// What z hardly meets is an eigenvector as it is; of two poles as good as equal, a turn makes one such.
    Kept deflate(int64_t m, int64_t middle, T rho, T* d, T* z, const int64_t* sorted, T* x,
                 Scratch& scratch) const {
        T largest = 0;
        for (int64_t i = 0; i < m; ++i)
            largest = std::max({largest, std::abs(d[i]), std::abs(z[i])});
        const T tolerance = largest * (sizeof(T) == 4 ? T(8 * 0x1p-24) : T(8 * 0x1p-53));
        Kept kept{0, scratch.take<int64_t>(m), scratch.take<int64_t>(m), scratch.take<Kind>(m)};
        for (int64_t i = 0; i < m; ++i) kept.kind[i] = i < middle ? top : bottom;
        int64_t gone = 0, open = -1;
        for (int64_t s = 0; s < m; ++s) {
            const int64_t i = sorted[s];
            if (rho * std::abs(z[i]) <= tolerance) {
                kept.gone[gone++] = i;
                continue;
            }
            if (open >= 0) {
                const T length = std::sqrt(z[i] * z[i] + z[open] * z[open]), c = z[i] / length,
                        s_ = -z[open] / length, apart = d[i] - d[open];
                if (std::abs(apart * c * s_) <= tolerance) {
                    z[i] = length, z[open] = T(0);
                    if (kept.kind[i] != kept.kind[open]) kept.kind[i] = both;
                    tridiagonal_kernels<T>().rotate(m, x + open * n_, x + i * n_, c, s_);
                    const T low = d[open];
                    d[open] = low * c * c + d[i] * s_ * s_;
                    d[i] = low * s_ * s_ + d[i] * c * c;
                    kept.gone[gone++] = open;
                } else {
                    kept.row[kept.count++] = open;
                }
            }
            open = i;
        }
        if (open >= 0) kept.row[kept.count++] = open;
        return kept;
    }

    void merge(int64_t first, int64_t half, int64_t last) {
        const int64_t m = last - first, middle = half - first, lower = m - middle;
        T *const d = d_ + first, *const x = x_ + first * n_ + first;
        int64_t* const order = order_ + first;
        const T side = e_[half - 1], rho = 2 * std::abs(side);
        Scratch scratch;
        T* const z = scratch.take<T>(m);
        for (int64_t i = 0; i < m; ++i)
            z[i] = T(0.70710678118654752440) *
                   (i < middle ? x[i * n_ + middle - 1]
                               : std::copysign(T(1), side) * x[i * n_ + middle]);
        int64_t* const sorted = scratch.take<int64_t>(m);
        for (int64_t i = middle; i < m; ++i) order[i] += middle;
        const auto less = [d](int64_t i, int64_t j) { return d[i] < d[j]; };
        std::merge(order, order + middle, order + middle, order + m, sorted, less);
        const Kept kept = deflate(m, middle, rho, d, z, sorted, x, scratch);
        const int64_t k = kept.count;
        std::copy_n(sorted, m, order);
        if (k == 0) return sort(order, m, d);

        const SecularKernels<T>& kernels = secular_kernels<T>();
        T *const poles = scratch.take<T>(k + 1), *const parts = scratch.take<T>(k + 1),
                 *const squares = scratch.take<T>(k + 1), *const near = scratch.take<T>(k),
                 *const by = scratch.take<T>(k), *const right = scratch.take<T>(k);
        T sum = 0;
        for (int64_t i = 0; i < k; ++i) {
            poles[i] = d[kept.row[i]], parts[i] = z[kept.row[i]];
            squares[i] = parts[i] * parts[i];
            sum += squares[i];
        }
        poles[k] = poles[k - 1], squares[k] = T(0);
        constexpr int64_t chunk = 32;
        const auto in_chunks = [&](int64_t cost, auto body) {
            parallel_for(
                divide_up(k, chunk), grain_for(chunk * k * cost / 4),
                [&](int64_t begin, int64_t end) { body(begin * chunk, std::min(k, end * chunk)); });
        };
        in_chunks(10, [&](int64_t begin, int64_t end) {
            kernels.roots(begin, end, k, poles, squares, 1 / rho, 2 * rho * sum, near, by);
        });
        in_chunks(2, [&](int64_t begin, int64_t end) {
            kernels.exact(begin, end, k, poles, parts, near, by, right);
        });

        // Rows of the upper piece first, then those of both, then of the lower: each half of the columns meets only its own.
        int64_t* const place = scratch.take<int64_t>(k);
        int64_t bounds[4] = {0, 0, 0, 0}, next = 0;
        for (const Kind kind : {top, both, bottom}) {
            for (int64_t i = 0; i < k; ++i)
                if (kept.kind[kept.row[i]] == kind) place[next++] = i;
            bounds[kind + 1] = next;
        }
        T *const pole_at = scratch.take<T>(k), *const part_at = scratch.take<T>(k);
        for (int64_t p = 0; p < k; ++p) pole_at[p] = poles[place[p]], part_at[p] = right[place[p]];
        T* const u = scratch.take<T>(k * k);
        in_chunks(3, [&](int64_t begin, int64_t end) {
            kernels.vectors(begin, end, k, pole_at, part_at, near, by, u + begin * k, k);
        });
        const int64_t uppers = bounds[both + 1], lowers = k - bounds[top + 1];
        T *const above = scratch.take<T>(uppers * middle),
                 *const below = scratch.take<T>(lowers * lower),
                 *const rest = scratch.take<T>((m - k) * m), *const values = scratch.take<T>(m);
        const auto from = [&](int64_t p) { return x + kept.row[place[p]] * n_; };
        for (int64_t p = 0; p < uppers; ++p) std::copy_n(from(p), middle, above + p * middle);
        for (int64_t p = 0; p < lowers; ++p)
            std::copy_n(from(k - lowers + p) + middle, lower, below + p * lower);
        sort(kept.gone, m - k, d);
        for (int64_t i = 0; i < m - k; ++i) {
            std::copy_n(x + kept.gone[i] * n_, m, rest + i * m);
            values[k + i] = d[kept.gone[i]];
        }
        const auto product = [&](int64_t columns, int64_t rows, const T* left, const T* of, T* to) {
            if (rows > 0)
                return gemm<T>(k, columns, rows, {left, k, 1}, {of, columns, 1}, {to, n_, 1});
            for (int64_t i = 0; i < k; ++i) std::fill_n(to + i * n_, columns, T(0));
        };
        product(middle, uppers, u, above, x);
        product(lower, lowers, u + k - lowers, below, x + middle);
        for (int64_t i = 0; i < m - k; ++i) std::copy_n(rest + i * m, m, x + (k + i) * n_);
        for (int64_t i = 0; i < k; ++i) values[i] = near[i] + by[i];
        std::copy_n(values, m, d);
        std::iota(sorted, sorted + m, int64_t{0});
        std::merge(sorted, sorted + k, sorted + k, sorted + m, order, less);
    }

    Scratch scratch_;
    int64_t n_;
    T *d_, *e_, *x_;
    int64_t* order_;
};

/// A power of two that brings the largest element of the lower triangle near 1, if it is far from there, and its inverse.
template <class T>
std::pair<T, T> scale_of(int64_t n, const T* a) {
    T largest = 0;
    for (int64_t i = 0; i < n; ++i)
        largest = std::max(largest, tridiagonal_kernels<T>().largest(i + 1, a + i * n));
    int exponent = 0;
    std::frexp(largest, &exponent);
    if (std::abs(exponent) < 10 || largest == T(0)) return {T(1), T(1)};
    constexpr int most = std::numeric_limits<T>::max_exponent - 4;
    exponent = std::clamp(exponent, -most, most);
    return {std::ldexp(T(1), -exponent), std::ldexp(T(1), exponent)};
}

}  // namespace

template <class T>
bool eigh(int64_t n, const T* a, T* values, T* vectors) {
    const auto [scale, back] = scale_of(n, a);
    // Rows 2^n bytes apart would share few sets of the caches.
    const int64_t apart = n < 128 ? n : round_up(n, line<T>) + line<T>;
    Scratch scratch;
    T *const d = scratch.take<T>(n), *const e = scratch.take<T>(n), *const tau = scratch.take<T>(n),
             *const x = scratch.take<T>(n * n), *const lower = scratch.take<T>(n * apart);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) lower[i * apart + j] = scale * a[i * n + j];
    Reduction<T>(n, lower, apart, d, e, tau);
    Conquest<T> conquest(n, d, e, x);
    if (!conquest.run()) return false;
    turn_back(n, lower, apart, tau, x);
    constexpr int64_t block = 16;
    parallel_for(divide_up(n, block), grain_for(block * n / 2), [&](int64_t begin, int64_t end) {
        Scratch own;
        T* const rows = own.take<T>(block * n);
        for (; begin < end; ++begin) {
            const int64_t first = begin * block, count = std::min(block, n - first);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t from = conquest.order()[first + i];
                values[first + i] = d[from] * back;
                const T* row = x + from * n;
                const T sign = tridiagonal_kernels<T>().falls(n, row) ? T(-1) : T(1);
                for (int64_t j = 0; j < n; ++j) rows[i * n + j] = sign * row[j];
            }
            copy_block<T>(n, count, {rows, 1, n}, {vectors + first, n, 1});
        }
    });
    return true;
}

MERCER_F32_F64(eigh)

}  // namespace cpu
}  // namespace mercer
