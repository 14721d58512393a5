// Householder reduction's products, and implicit QL on a small tridiagonal matrix.
//   y = A x from the lower triangle: y_i += a_ij x_j and y_j += a_ij x_i with one load of a_ij
// A matrix row is read once per product, n²/2 elements; the sums of a group of rows stay in registers.
#include "engine/cpu/kernels/eigen_lanes.h"
#include "engine/cpu/linalg_table.h"

#define MERCER_UNROLL _Pragma("GCC unroll 8")

namespace mercer::MERCER_ISA {
namespace {

constexpr int group = 8;  // rows whose triangle at the diagonal is done as one
#if MERCER_SIMD == MERCER_SIMD_AVX512
constexpr int together = 8;  // rows whose sums are in registers
#else
constexpr int together = 4;
#endif

/// Columns [0, whole) of rows i …: `sum` goes across, sums_j down, both in ascending order.
template <int rows, class T>
MERCER_INLINE void multiply_rows(int64_t i, int64_t whole, const T* a, int64_t a_row, const T* x,
                                 T* sums, Line<T>* sum) {
    using L = Line<T>;
    L across_sum[rows], factor[rows];
    MERCER_UNROLL for (int r = 0; r < rows; ++r) across_sum[r] = L(T(0)), factor[r] = L(x[i + r]);
    for (int64_t j = 0; j < whole; j += L::width) {
        const L across_x = L::load(x + j);
        L down = L::load(sums + j);
        MERCER_UNROLL for (int r = 0; r < rows; ++r) {
            const L part = L::load(a + (i + r) * a_row + j);
            across_sum[r].add(part, across_x);
            down.add(part, factor[r]);
        }
        down.store(sums + j);
    }
    MERCER_UNROLL for (int r = 0; r < rows; ++r) sum[r] = across_sum[r];
}

// i a multiple of `group`, so that what is left before the diagonal is less than a line. There, sums_j meets the group's rows
// below j first and row j, with a_jj x_j, last.
template <int rows, class T>
MERCER_INLINE void multiply_group(int64_t i, const T* a, int64_t a_row, const T* x, T* sums) {
    using L = Line<T>;
    const int64_t whole = i / L::width * L::width, before = i - whole;
    L sum[rows];
    constexpr int part_rows = rows % together == 0 ? together : 1;
    for (int r = 0; r < rows; r += part_rows)
        multiply_rows<part_rows>(i + r, whole, a, a_row, x, sums, sum + r);
    const L across_x = L::load(x + whole, before + rows, T(0));
    L down = L::load(sums + whole, before, T(0));
    T ends[L::width] = {};
    MERCER_UNROLL for (int r = 0; r < rows; ++r) {
        const T* row = a + (i + r) * a_row;
        const L part = L::load(row + whole, before + r, T(0));
        sum[r].add(part, across_x);
        down.add(part, L(x[i + r]));
        ends[before + r] =
            first_lane(fma(Vec<T>(row[i + r]), Vec<T>(x[i + r]), Vec<T>(sum[r].total())));
    }
    const L end = L::load(ends);
    MERCER_UNROLL for (int w = 0; w < L::registers; ++w) down.part[w] += end.part[w];
    down.store(sums + whole, before + rows);
}

template <class T>
void multiply(int64_t first, int64_t last, const T* a, int64_t a_row, const T* x, T* sums) {
    static_assert(Line<T>::width % group == 0);
    for (int64_t j = 0; j < first; ++j) sums[j] = T(0);
    int64_t i = first;
    for (; i + group <= last; i += group) multiply_group<group>(i, a, a_row, x, sums);
    if (i < last)
        with_constant<group - 1>(last - i, [&](auto rows) MERCER_STEP {
            multiply_group<rows.value>(i, a, a_row, x, sums);
        });
}

template <class T>
void add_rows(int64_t rows, int64_t n, const T* m, int64_t row, const T* factor, T* y) {
    constexpr int lanes = Vec<T>::lanes;
    for_registers<T, 4, 1>(n, [&](int64_t j, auto registers, int count) MERCER_STEP {
        constexpr int width = registers.value;
        Vec<T> sum[width];
        MERCER_UNROLL for (int w = 0; w < width; ++w) sum[w] = load(y + j + w * lanes, count, T(0));
        for (int64_t t = 0; t < rows; ++t) {
            const Vec<T> f(factor[t]);
            MERCER_UNROLL for (int w = 0; w < width; ++w) sum[w] =
                fma(f, load(m + t * row + j + w * lanes, count, T(0)), sum[w]);
        }
        MERCER_UNROLL for (int w = 0; w < width; ++w) store(sum[w], y + j + w * lanes, count);
    });
}

template <class T>
void add_outer(int64_t rows, int64_t n, const T* factor, const T* x, T* m, int64_t row) {
    for (int64_t i = 0; i < rows; ++i) add_rows<T>(1, n, x, 0, factor + i, m + i * row);
}

template <class T>
void rotate(int64_t n, T* x, T* y, T c, T s) {
    for_run<T>(n, [&](int64_t j, int count) MERCER_STEP {
        const Vec<T> p = load(x + j, count, T(0)), q = load(y + j, count, T(0));
        store(fma(Vec<T>(c), p, Vec<T>(s) * q), x + j, count);
        store(fma(Vec<T>(c), q, Vec<T>(-s) * p), y + j, count);
    });
}

template <class T>
T largest(int64_t n, const T* x) {
    Canonical<T, PlainMax> most;
    canonical_for(most, n, [&](Vec<T>& part, int64_t j, int count) MERCER_STEP {
        part = PlainMax::join(part, abs(load(x + j, count, T(0))));
    });
    return most.total();
}

template <class T>
bool falls(int64_t n, const T* x) {
    Vec<T> most(lower_end<T>), least(upper_end<T>);
    for_run<T>(n, [&](int64_t j, int count) MERCER_STEP {
        const Vec<T> v = load(x + j, count, x[0]);
        most = select(v > most, v, most);
        least = select(v < least, v, least);
    });
    const T high = across<MaxOp>(most), low = -across<MinOp>(least);
    if (high != low) return low > high;
    for (int64_t j = 0; j < n; ++j)
        if (x[j] == high || x[j] == -high) return x[j] < T(0);
    return false;
}

template <class T>
struct Turn {
    T c, s, length;
};
/// (c, s) with c g + s f = length, c f = s g; scaled where squares would vanish. length 0 only for f = g = 0.
template <class T>
MERCER_INLINE Turn<T> turn(T f, T g) {
    constexpr T small = sizeof(T) == 4 ? T(1e-30) : T(1e-280),
                big = sizeof(T) == 4 ? T(0x1p60) : T(0x1p500);
    T square = f * f + g * g, scale = T(1);
    if (square < small) {
        f *= big, g *= big, scale = T(1) / big;
        square = f * f + g * g;
        if (square == T(0)) return {T(1), T(0), T(0)};
    }
    const T length = first_lane(sqrt(Vec<T>(square)));
    return {g / length, f / length, length * scale};
}

template <class T>
MERCER_INLINE T size(T x) {
    return x < T(0) ? -x : x;
}

/// Rotations (c, s)_i for i = last − 1 … first in the planes of rows i, i + 1 of z: a row is loaded and stored once.
template <class T>
void apply(int64_t first, int64_t last, const T* c, const T* s, int64_t width, T* z,
           int64_t z_row) {
    for_run<T>(width, [&](int64_t j, int count) MERCER_STEP {
        Vec<T> above = load(z + last * z_row + j, count, T(0));
        for (int64_t i = last - 1; i >= first; --i) {
            const Vec<T> here = load(z + i * z_row + j, count, T(0));
            store(fma(Vec<T>(s[i]), here, Vec<T>(c[i]) * above), z + (i + 1) * z_row + j, count);
            above = fma(Vec<T>(c[i]), here, Vec<T>(-s[i]) * above);
        }
        store(above, z + first * z_row + j, count);
    });
}

// EISPACK's tql2: QL with Wilkinson's shift, a sweep's rotations applied to z at once.
template <class T>
bool ql(int64_t n, T* d, T* e, int64_t width, T* z, int64_t z_row, T* turns) {
    constexpr T eps = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53),
                floor = sizeof(T) == 4 ? T(1e-30) : T(1e-290);
    T *const cs = turns, *const sn = turns + n;
    for (int64_t l = 0; l < n; ++l)
        for (int sweep = 0;; ++sweep) {
            int64_t m = l;
            while (m + 1 < n && size(e[m]) > eps * (size(d[m]) + size(d[m + 1])) + floor) ++m;
            if (m == l) break;
            if (sweep == 60) return false;
            const T half = (d[l + 1] - d[l]) / (T(2) * e[l]),
                    r = first_lane(sqrt(Vec<T>(half * half + T(1))));
            T g = d[m] - d[l] + e[l] / (half < T(0) ? half - r : half + r), s = T(1), c = T(1),
              p = T(0);
            int64_t i = m - 1;
            for (; i >= l; --i) {
                const T f = s * e[i], b = c * e[i];
                const Turn<T> t = turn(f, g);
                if (i + 1 < m) e[i + 1] = t.length;
                if (t.length == T(0)) break;
                s = t.s, c = t.c;
                g = d[i + 1] - p;
                const T change = (d[i] - g) * s + T(2) * c * b;
                p = s * change;
                d[i + 1] = g + p;
                g = c * change - b;
                cs[i] = c, sn[i] = s;
            }
            apply(i + 1, m, cs, sn, width, z, z_row);
            if (m < n - 1) e[m] = T(0);
            if (i >= l) {  // a length vanished: the problem falls apart there
                d[i + 1] -= p;
                continue;
            }
            d[l] -= p;
            e[l] = g;
        }
    return true;
}

template <class T>
constexpr cpu::TridiagonalKernels<T> kernels = {multiply<T>, add_rows<T>, add_outer<T>, rotate<T>,
                                                largest<T>,  falls<T>,    ql<T>};

}  // namespace

extern const cpu::TridiagonalKernels<float> tridiagonal_kernels_f32 = kernels<float>;
extern const cpu::TridiagonalKernels<double> tridiagonal_kernels_f64 = kernels<double>;

}  // namespace mercer::MERCER_ISA
