// Products, factors and solutions of tiny matrices, a register's lanes of them at a time: the formulas of gemm.h and
// factor_kernels.cpp, element by element in the same order, so the same bits.
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/linalg_table.h"

namespace mercer::MERCER_ISA {
namespace {

/// A register's matrices in a tile.
template <class T>
struct Matrices {
    using V = Vec<std::remove_const_t<T>>;
    T* p;
    int64_t row, col;
    int count;
    MERCER_INLINE V operator()(int64_t i, int64_t j) const {
        return load(p + i * row + j * col, count, typename V::Scalar(1));
    }
    MERCER_INLINE void set(int64_t i, int64_t j, V v) const {
        store(v, p + i * row + j * col, count);
    }
};

template <class T>
MERCER_INLINE bool all_of(Mask<T> good, int count) {
    T lane[Vec<T>::lanes];
    select(good, Vec<T>(T(1)), Vec<T>(T(0))).store(lane);
    for (int r = 0; r < count; ++r)
        if (lane[r] == T(0)) return false;
    return true;
}

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c, int64_t columns) {
    for_run<T>(columns, [&](int64_t at, int count) MERCER_STEP {
        const Matrices<const T> x{a + at, k * columns, columns, count},
            y{b + at, n * columns, columns, count};
        const Matrices<T> z{c + at, n * columns, columns, count};
        with_constant<cpu::tiny_steps>(k, [&](auto depth) MERCER_STEP {
            for (int64_t j = 0; j < n; ++j) {
                Vec<T> column[depth.value];
                for (int p = 0; p < depth.value; ++p) column[p] = y(p, j);
                for (int64_t i = 0; i < m; ++i) {
                    Vec<T> sum(T(0));
                    for (int p = 0; p < depth.value; ++p) sum = fma(x(i, p), column[p], sum);
                    z.set(i, j, sum);
                }
            }
        });
    });
}

template <class T>
void dots(int64_t k, int64_t lanes, int64_t columns, const T* x, const T* y, int64_t row, T* sums) {
    for (int64_t p = 0; p < k; ++p, x += row, y += row)
        for_run<T>(columns, [&](int64_t at, int count) MERCER_STEP {
            T* const to = sums + p % lanes * columns + at;
            const Vec<T> u = load(x + at, count, T(1)), v = load(y + at, count, T(1));
            store(fma(u, v, load(to, count, T(1))), to, count);
        });
    while (lanes /= 2)
        for_run<T>(lanes * columns, [&](int64_t at, int count) MERCER_STEP {
            const Vec<T> far = load(sums + lanes * columns + at, count, T(1));
            store(load(sums + at, count, T(1)) + far, sums + at, count);
        });
}

template <class T>
bool cholesky(int64_t n, const T* a, T* lower, int64_t columns) {
    bool good = true;
    for_run<T>(columns, [&](int64_t at, int count) MERCER_STEP {
        const Matrices<const T> x{a + at, n * columns, columns, count};
        const Matrices<T> l{lower + at, n * columns, columns, count};
        for (int64_t j = 0; j < n; ++j) {
            Vec<T> root(T(1));
            for (int64_t i = 0; i < n; ++i) {
                if (i < j) {
                    l.set(i, j, Vec<T>(T(0)));
                    continue;
                }
                Vec<T> sum = x(i, j);
                for (int64_t k = 0; k < j; ++k) sum = fma(l(j, k), -l(i, k), sum);
                if (i == j) {
                    good = good && all_of<T>(sum > Vec<T>(T(0)) && sum < infinity<T>(), count);
                    root = sqrt(sum);
                }
                l.set(i, j, sum / root);
            }
        }
    });
    return good;
}

/// x ← T⁻¹x of one register's matrices.
template <class T>
MERCER_INLINE void substitute(int64_t n, int64_t k, const Matrices<const T>& t, bool lower,
                              bool unit, const Matrices<T>& x) {
    for (int64_t c = 0; c < k; ++c)
        for (int64_t s = 0; s < n; ++s) {  // in the order of solving
            const int64_t i = lower ? s : n - 1 - s;
            Vec<T> sum = x(i, c);
            for (int64_t r = 0; r < s; ++r) {
                const int64_t j = lower ? r : n - 1 - r;
                sum = fma(t(i, j), -x(j, c), sum);
            }
            x.set(i, c, unit ? sum : sum / t(i, i));
        }
}

template <class T>
void solve_triangular(int64_t n, int64_t k, const T* t, bool lower, T* x, int64_t columns) {
    for_run<T>(columns, [&](int64_t at, int count) MERCER_STEP {
        substitute<T>(n, k, {t + at, n * columns, columns, count}, lower, false,
                      {x + at, k * columns, columns, count});
    });
}

/// Rows i and j change places where `where` says so.
template <class T>
MERCER_INLINE void exchange(const Matrices<T>& x, int64_t width, int64_t i, int64_t j,
                            Mask<T> where) {
    for (int64_t c = 0; c < width; ++c) {
        const Vec<T> one = x(i, c), other = x(j, c);
        x.set(i, c, select(where, other, one));
        x.set(j, c, select(where, one, other));
    }
}

template <class T>
bool solve(int64_t n, int64_t k, T* a, T* b, int64_t columns) {
    bool good = true;
    for_run<T>(columns, [&](int64_t at, int count) MERCER_STEP {
        const Matrices<T> l{a + at, n * columns, columns, count},
            x{b + at, k * columns, columns, count};
        for (int64_t j = 0; j < n; ++j) {
            Vec<T> best(T(-1)), place(T(0));
            for (int64_t i = 0; i < n; ++i) {
                Vec<T> sum = l(i, j);
                for (int64_t p = 0; p < i && p < j; ++p) sum = fma(-l(p, j), l(i, p), sum);
                l.set(i, j, sum);
                if (i < j) continue;
                const Mask<T> larger = abs(sum) > best;
                best = select(larger, abs(sum), best);
                place = select(larger, Vec<T>(T(i)), place);
            }
            good = good && all_of<T>(best > Vec<T>(T(0)), count);
            for (int64_t i = j + 1; i < n; ++i) {
                const Mask<T> here = place == Vec<T>(T(i));
                if (!any(here)) continue;
                exchange(l, n, i, j, here);
                exchange(x, k, i, j, here);
            }
            const Vec<T> pivot = l(j, j);
            for (int64_t i = j + 1; i < n; ++i) l.set(i, j, l(i, j) / pivot);
        }
        const Matrices<const T> lu{l.p, l.row, l.col, count};
        substitute<T>(n, k, lu, true, true, x);
        substitute<T>(n, k, lu, false, false, x);
    });
    return good;
}

template <class T>
constexpr cpu::TinyKernels<T> kernels = {multiply<T>, dots<T>, cholesky<T>, solve_triangular<T>,
                                         solve<T>};

}  // namespace

extern const cpu::TinyKernels<float> tiny_kernels_f32 = kernels<float>;
extern const cpu::TinyKernels<double> tiny_kernels_f64 = kernels<double>;

}  // namespace mercer::MERCER_ISA
