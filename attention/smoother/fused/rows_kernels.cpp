// Sums in the canonical order: the same bits on every instruction set.
#include "attention/smoother/fused/rows_table.h"
#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
bool finite(const T* x, int64_t n) {
    // x·0 is 0, or NaN; sums of them as well, in any order.
    Canonical<T, SumOp> sum;
    canonical_for(sum, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        part = fma(load(x + i, count, T(0)), Vec<T>(T(0)), part);
    });
    return sum.total() == T(0);
}

template <class T>
void rescale(int64_t rows, int64_t columns, T* out, int64_t row, const T* factor) {
    for (int64_t r = 0; r < rows; ++r, out += row) {
        if (factor[r] == T(1)) continue;
        const Vec<T> f(factor[r]);
        write_run(out, columns, false,
                  [&](int64_t i, int count) MERCER_STEP { return load(out + i, count, T(1)) * f; });
    }
}

template <class T>
void inner(int64_t rows, int64_t columns, const T* a, const T* b, int64_t row, T* out) {
    for (int64_t r = 0; r < rows; ++r, a += row, b += row) {
        Canonical<T, SumOp> sum;
        canonical_for(sum, columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            part = fma(load(a + i, count, T(0)), load(b + i, count, T(0)), part);
        });
        out[r] = sum.total();
    }
}

template <class T>
void times(int64_t rows, int64_t columns, const T* x, const T* y, int64_t row, T* out) {
    for (int64_t r = 0; r < rows; ++r, x += row, y += row, out += row)
        write_run(out, columns, false, [&](int64_t i, int count) MERCER_STEP {
            return load(x + i, count, T(0)) * load(y + i, count, T(0));
        });
}

template <class T>
void add_columns(int64_t rows, int64_t columns, const T* x, int64_t row, T* sums) {
    for (int64_t r = 0; r < rows; ++r, x += row)
        write_run(sums, columns, false, [&](int64_t i, int count) MERCER_STEP {
            return load(sums + i, count, T(0)) + load(x + i, count, T(0));
        });
}

template <class T>
void add_rows(int64_t rows, int64_t columns, const T* x, int64_t row, T* sums) {
    for (int64_t r = 0; r < rows; ++r, x += row) {
        Canonical<T, SumOp> sum;
        canonical_for(sum, columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            part = part + load(x + i, count, T(0));
        });
        sums[r] += sum.total();
    }
}

template <class T>
void add_norms(int64_t rows, int64_t columns, const T* weight, const T* x, int64_t x_row, T* y,
               int64_t y_row) {
    for (int64_t r = 0; r < rows; ++r, x += x_row, y += y_row) {
        const Vec<T> w(T(2) * weight[r]);
        write_run(y, columns, false, [&](int64_t i, int count) MERCER_STEP {
            return fma(w, load(x + i, count, T(0)), load(y + i, count, T(0)));
        });
    }
}

template <class T>
void add_skewed(int64_t rows, int64_t columns, const T* wide, int64_t wide_row, T* z, int64_t row) {
    for (int64_t r = 0; r < rows; ++r, z += row) {
        const T* from = wide + r * wide_row + (rows - 1 - r);
        write_run(z, columns, false, [&](int64_t i, int count) MERCER_STEP {
            return load(z + i, count, T(0)) + load(from + i, count, T(0));
        });
    }
}

template <class T>
void skew(int64_t rows, int64_t columns, const T* x, int64_t row, T* wide, int64_t wide_row) {
    for (int64_t r = 0; r < rows; ++r, x += row, wide += wide_row) {
        const int64_t before = rows - 1 - r;
        write_run(wide, before, false, [](int64_t, int) MERCER_STEP { return Vec<T>(T(0)); });
        write_run(wide + before, columns, false,
                  [&](int64_t i, int count) MERCER_STEP { return load(x + i, count, T(0)); });
        write_run(wide + before + columns, r, false,
                  [](int64_t, int) MERCER_STEP { return Vec<T>(T(0)); });
    }
}

template <class T>
constexpr attention::RowTable<T> table = {finite<T>,    rescale<T>,     inner<T>,
                                          times<T>,     add_columns<T>, add_rows<T>,
                                          add_norms<T>, add_skewed<T>,  skew<T>};

}  // namespace

extern const attention::RowTable<float> attend_rows_f32;
extern const attention::RowTable<double> attend_rows_f64;
const attention::RowTable<float> attend_rows_f32 = table<float>;
const attention::RowTable<double> attend_rows_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
