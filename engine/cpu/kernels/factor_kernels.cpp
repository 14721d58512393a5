// Triangular substitution, Cholesky and LU on one block.
//   b_i ← (b_i − Σ_{j<i} t_ij b_j) / t_ii;   u_ij = (a_ij − Σ_{k<i} u_ki u_kj) / u_ii;   l_ij = a_ij / p_j, a_i −= l_ij a_j
// Vectors run along rows, so every element is one chain of fma in ascending k on every instruction set. A strip of rows
// stays in L1 while it is solved.
#include "engine/cpu/factor_table.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
MERCER_INLINE T root(T x) {
    T out[Vec<T>::lanes];
    sqrt(Vec<T>(x)).store(out);
    return out[0];
}

// `width` registers of row i from column c, less the rows above it; count < lanes only with width 1.
template <int width, class T>
MERCER_INLINE void eliminate(int64_t i, int64_t c, int count, const T* t, int64_t t_row,
                             int64_t t_col, T divisor, T* b, int64_t b_row) {
    constexpr int lanes = Vec<T>::lanes;
    const bool whole = count == lanes * width;
    const auto at = [&](int64_t row, int w) __attribute__((always_inline)) {
        const T* p = b + row * b_row + c + w * lanes;
        return whole ? Vec<T>::load(p) : Vec<T>::load(p, count, T(1));
    };
    Vec<T> sum[width];
    for (int w = 0; w < width; ++w) sum[w] = at(i, w);
    for (int64_t j = 0; j < i; ++j) {
        const Vec<T> factor(-t[i * t_row + j * t_col]);
        for (int w = 0; w < width; ++w) sum[w] = fma(factor, at(j, w), sum[w]);
    }
    for (int w = 0; w < width; ++w) {
        if (divisor != T(1)) sum[w] = sum[w] / Vec<T>(divisor);
        T* p = b + i * b_row + c + w * lanes;
        if (whole)
            sum[w].store(p);
        else
            sum[w].store(p, count);
    }
}

constexpr int strip = 4;  // registers

template <class T>
void substitute(int64_t rows, int64_t n, const T* t, int64_t t_row, int64_t t_col, bool unit, T* b,
                int64_t b_row) {
    constexpr int lanes = Vec<T>::lanes;
    const auto divisor = [&](int64_t i) __attribute__((always_inline)) {
        return unit ? T(1) : t[i * (t_row + t_col)];
    };
    int64_t c = 0;
    for (; c + strip * lanes <= n; c += strip * lanes)
        for (int64_t i = 0; i < rows; ++i)
            eliminate<strip>(i, c, strip * lanes, t, t_row, t_col, divisor(i), b, b_row);
    for (; c < n; c += lanes) {
        const int count = int(n - c < lanes ? n - c : lanes);
        for (int64_t i = 0; i < rows; ++i)
            eliminate<1>(i, c, count, t, t_row, t_col, divisor(i), b, b_row);
    }
}

template <class T>
int64_t cholesky(int64_t rows, T* a, int64_t a_row) {
    constexpr int lanes = Vec<T>::lanes;
    for (int64_t i = 0; i < rows; ++i) {
        T* row = a + i * a_row;
        for (int64_t c = i; c < rows; c += lanes)
            eliminate<1>(i, c, int(rows - c < lanes ? rows - c : lanes), a, 1, a_row, T(1), a,
                         a_row);
        if (!(row[i] > T(0))) return i;
        const T pivot = root(row[i]);
        for (int64_t c = i; c < rows; c += lanes) {
            const int count = int(rows - c < lanes ? rows - c : lanes);
            (Vec<T>::load(row + c, count, T(1)) / Vec<T>(pivot)).store(row + c, count);
        }
    }
    return rows;
}

template <class T>
int64_t lu(int64_t rows, int64_t columns, T* a, int64_t a_row, int64_t* pivots) {
    constexpr int lanes = Vec<T>::lanes;
    for (int64_t j = 0; j < columns && j < rows; ++j) {
        int64_t best = j;
        T largest = -1;
        for (int64_t i = j; i < rows; ++i) {
            const T size = __builtin_fabs(a[i * a_row + j]);
            if (size > largest) largest = size, best = i;
        }
        pivots[j] = best;
        if (!(largest > T(0))) return j;
        T* pivot = a + j * a_row;
        for (int64_t c = 0; best != j && c < columns; ++c) {
            const T other = a[best * a_row + c];
            a[best * a_row + c] = pivot[c];
            pivot[c] = other;
        }
        for (int64_t i = j + 1; i < rows; ++i) {
            T* row = a + i * a_row;
            const T l = row[j] / pivot[j];
            row[j] = l;
            for (int64_t c = j + 1; c < columns; c += lanes) {
                const int count = int(columns - c < lanes ? columns - c : lanes);
                fma(Vec<T>(-l), Vec<T>::load(pivot + c, count, T(1)),
                    Vec<T>::load(row + c, count, T(1)))
                    .store(row + c, count);
            }
        }
    }
    return columns;
}

}  // namespace

extern const cpu::FactorTable factor_table;
const cpu::FactorTable factor_table = {{substitute<float>, cholesky<float>, lu<float>},
                                       {substitute<double>, cholesky<double>, lu<double>}};

}  // namespace mercer::MERCER_ISA
