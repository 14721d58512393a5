// Triangular substitution, Cholesky and LU on one block.
//   b_i ← (b_i − Σ_{j<i} t_ij b_j) / t_ii;   u_ij = (a_ij − Σ_{k<i} u_ki u_kj) / u_ii;   l_ij = (a_ij − Σ_{k<j} l_ik u_kj) / u_jj
// Every element is one chain of fma in ascending k on every instruction set, then a division. Groups of rows stay in
// registers while the rows above them go by, as in a product.
#include "engine/cpu/kernels/row.h"
#include "engine/cpu/linalg_table.h"

#define MERCER_UNROLL _Pragma("GCC unroll 8")

namespace mercer::MERCER_ISA {
namespace {

#if MERCER_SIMD == MERCER_SIMD_AVX512
constexpr int group = 8, strip = 2;  // rows, and registers across: those of a product's panel
#elif MERCER_SIMD == MERCER_SIMD_AVX2
constexpr int group = 4, strip = 2;
#elif MERCER_SIMD == MERCER_SIMD_NEON
constexpr int group = 8, strip = 3;
#else
constexpr int group = 4, strip = 3;
#endif

/// Rows of registers in memory, of each of which `count` elements are there.
template <class T>
struct Part {
    T* at;
    int64_t row;
    int count;
    MERCER_INLINE Vec<T> load(int64_t i, int w) const {
        return MERCER_ISA::load(at + i * row + w * Vec<T>::lanes, count, T(1));
    }
    MERCER_INLINE void store(int64_t i, int w, Vec<T> v) const {
        MERCER_ISA::store(v, at + i * row + w * Vec<T>::lanes, count);
    }
};

/// sum_r −= Σ_j t(r, j) b_j for j in [from, to); row r of t at t + r·t_row.
template <int rows, int width, class T>
MERCER_INLINE void subtract(Vec<T> (&sum)[rows][width], const T* t, int64_t t_row, int64_t t_col,
                            Part<T> b, int64_t from, int64_t to) {
    for (int64_t j = from; j < to; ++j) {
        Vec<T> x[width];
        for (int w = 0; w < width; ++w) x[w] = -b.load(j, w);
        MERCER_UNROLL for (int r = 0; r < rows; ++r) {
            const Vec<T> factor(t[r * t_row + j * t_col]);
            MERCER_UNROLL for (int w = 0; w < width; ++w) sum[r][w] = fma(factor, x[w], sum[r][w]);
        }
    }
}

template <int rows, int width, class T>
MERCER_INLINE void load_rows(Vec<T> (&sum)[rows][width], Part<T> b, int64_t i) {
    MERCER_UNROLL for (int r = 0; r < rows; ++r) MERCER_UNROLL for (int w = 0; w < width; ++w)
        sum[r][w] = b.load(i + r, w);
}

template <int rows, int width, class T>
MERCER_INLINE void solve_rows(int64_t i, const T* t, int64_t t_row, int64_t t_col, bool unit,
                              Part<T> b) {
    Vec<T> sum[rows][width];
    load_rows(sum, b, i);
    subtract(sum, t + i * t_row, t_row, t_col, b, 0, i);
    MERCER_UNROLL for (int r = 0; r < rows; ++r) {
        const T divisor = t[(i + r) * (t_row + t_col)];
        Vec<T> minus[width];
        MERCER_UNROLL for (int w = 0; w < width; ++w) {
            if (!unit) sum[r][w] = sum[r][w] / Vec<T>(divisor);
            b.store(i + r, w, sum[r][w]);
            minus[w] = -sum[r][w];
        }
        MERCER_UNROLL for (int s = r + 1; s < rows; ++s) {
            const Vec<T> factor(t[(i + s) * t_row + (i + r) * t_col]);
            MERCER_UNROLL for (int w = 0; w < width; ++w) sum[s][w] =
                fma(factor, minus[w], sum[s][w]);
        }
    }
}

// A group of rows everywhere before the next one: while it waits for the divisions of one panel, it works on another.
template <class T>
void substitute(int64_t rows, int64_t n, const T* t, int64_t t_row, int64_t t_col, bool unit, T* b,
                int64_t b_row, int64_t panels, int64_t apart) {
    const auto across = [&]<int rows>(std::integral_constant<int, rows>, int64_t i) MERCER_STEP {
        for (int64_t p = 0; p < panels; ++p)
            for_registers<T, strip, 1>(n, [&](int64_t c, auto width, int count) MERCER_STEP {
                solve_rows<rows, width.value, T>(i, t, t_row, t_col, unit,
                                                 {b + p * apart + c, b_row, count});
            });
    };
    int64_t i = 0;
    for (; i + group <= rows; i += group) across(std::integral_constant<int, group>{}, i);
    for (; i < rows; ++i) across(std::integral_constant<int, 1>{}, i);
}

/// Rows i … of a, from column i on, less what the rows above (from `above` on) take from them.
template <int rows, int width, class T>
MERCER_INLINE void update_rows(int64_t i, int64_t above, int64_t c, int count, T* a,
                               int64_t a_row) {
    const Part<T> part{a + c, a_row, count};
    Vec<T> sum[rows][width];
    load_rows(sum, part, i);
    subtract(sum, a + i, 1, a_row, part, above, i);
    MERCER_UNROLL for (int r = 0; r < rows; ++r) MERCER_UNROLL for (int w = 0; w < width; ++w)
        part.store(i + r, w, sum[r][w]);
}
template <int rows, class T>
MERCER_INLINE void update(int64_t i, int64_t above, int64_t n, T* a, int64_t a_row) {
    for_registers<T, strip, 1>(n - i, [&](int64_t c, auto width, int count) MERCER_STEP {
        update_rows<rows, width.value>(i, above, i + c, count, a, a_row);
    });
}

template <class T>
int64_t cholesky(int64_t n, T* a, int64_t a_row) {
    for (int64_t i = 0; i < n; ++i) {
        const int64_t first = i / group * group;
        const bool whole = first + group <= n;
        if (whole && i == first)
            update<group>(i, 0, n, a, a_row);
        else
            update<1>(i, whole ? first : 0, n, a, a_row);
        T* row = a + i * a_row;
        if (!(row[i] > T(0) && row[i] < T(__builtin_inf()))) return i;
        const Vec<T> root = sqrt(Vec<T>(row[i]));
        write_run(row + i, n - i, false, [&](int64_t c, int count) MERCER_STEP {
            return load(row + i + c, count, T(1)) / root;
        });
    }
    return n;
}

/// i, i + 1, …
template <class Index>
MERCER_INLINE Vec<Index> places(int64_t i) {
    constexpr int lanes = Vec<Index>::lanes;
    Index step[lanes];
    for (int k = 0; k < lanes; ++k) step[k] = Index(k);
    return Vec<Index>::load(step) + Vec<Index>(Index(i));
}
/// Which of the rows i, i + 1, … are below row j.
template <class T>
MERCER_INLINE Mask<T> below(int64_t i, int64_t j) {
    using Index = typename IntOf<T>::type;
    return (places<Index>(i) > Vec<Index>(Index(j))).template as<T>();
}

/// Columns [c, end) lose what columns j … j + k − 1 take from them.
template <int k, class T>
MERCER_INLINE void update_columns(int64_t rows, int64_t j, int64_t c, int64_t end, T* a,
                                  int64_t a_col) {
    constexpr int lanes = Vec<T>::lanes;
    const T* const l = a + j * a_col;
    for (; c < end; ++c) {
        T* const x = a + c * a_col;
        Vec<T> u[k];
        MERCER_UNROLL for (int s = 0; s < k; ++s) {
            u[s] = Vec<T>(x[j + s]);
            for (int r = 0; r < s; ++r) u[s] = fma(-Vec<T>(l[r * a_col + j + s]), u[r], u[s]);
        }
        // −l rather than −u: a compiler that joins that to the fma before it gives a zero the other sign.
        const auto less = [&](Vec<T> sum, int64_t i, int s) MERCER_STEP {
            return fma(-Vec<T>::load(l + s * a_col + i), u[s], sum);
        };
        int64_t i = j / lanes * lanes;
        for (; i < j + k; i += lanes) {  // among these rows, each from its own on
            Vec<T> sum = Vec<T>::load(x + i);
            MERCER_UNROLL for (int s = 0; s < k; ++s) sum =
                select(below<T>(i, j + s), less(sum, i, s), sum);
            sum.store(x + i);
        }
        for (; i < rows; i += lanes) {
            Vec<T> sum = Vec<T>::load(x + i);
            MERCER_UNROLL for (int s = 0; s < k; ++s) sum = less(sum, i, s);
            sum.store(x + i);
        }
    }
}

/// The first of the largest |x_i|, i ≥ j, or −1 where there is none above zero.
template <class T>
MERCER_INLINE int64_t largest(int64_t rows, int64_t j, const T* x) {
    using Index = typename IntOf<T>::type;
    constexpr int lanes = Vec<T>::lanes;
    const int64_t first = j / lanes * lanes;
    const Vec<T> zero(T(0));
    const auto size = [&](int64_t i) MERCER_STEP {
        return select(below<T>(i, j - 1), abs(Vec<T>::load(x + i)), zero);
    };
    Vec<T> best = zero;
    for (int64_t i = first; i < rows; i += lanes) best = PlainMax::join(best, size(i));
    const Vec<T> most(across<PlainMax>(best));
    if (!(first_lane(most) > T(0))) return -1;
    Vec<Index> none(upper_end<Index>), at = none;
    for (int64_t i = first; i < rows; i += lanes) {
        const Mask<Index> here = (size(i) == most).template as<Index>();
        at = MinOp::join(at, select(here, places<Index>(i), none));
    }
    return across<MinOp>(at);
}

template <class T>
int64_t lu(int64_t rows, int64_t columns, T* a, int64_t a_col, int64_t* pivots) {
    constexpr int together = 4, lanes = Vec<T>::lanes;
    for (int64_t j = 0; j < columns && j < rows; ++j) {
        T* const column = a + j * a_col;
        const int64_t pivot = pivots[j] = largest(rows, j, column);
        if (pivot < 0) return j;
        for (T* x = a; pivot != j && x < a + columns * a_col; x += a_col) {
            const T kept = x[j];
            x[j] = x[pivot], x[pivot] = kept;
        }
        const Vec<T> by(column[j]);
        for (int64_t i = j / lanes * lanes; i < rows; i += lanes) {
            const Vec<T> x = Vec<T>::load(column + i);
            select(below<T>(i, j), x / by, x).store(column + i);
        }
        // The next of these columns needs this one; the others wait for all of them.
        const int64_t first = j / together * together, end = first + together;
        update_columns<1>(rows, j, j + 1, end < columns ? end : columns, a, a_col);
        if (j + 1 == end) update_columns<together>(rows, first, end, columns, a, a_col);
    }
    return columns;
}

template <class T>
void negate(int64_t n, T* x) {
    for (int64_t i = 0; i < n; ++i) x[i] = -x[i];
}

}  // namespace

extern const cpu::FactorKernels<float> factor_kernels_f32 = {substitute, cholesky, lu, negate};
extern const cpu::FactorKernels<double> factor_kernels_f64 = {substitute, cholesky, lu, negate};

}  // namespace mercer::MERCER_ISA
