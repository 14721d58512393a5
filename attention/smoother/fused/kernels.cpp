// Sums and maxima in the canonical order: the same bits on every instruction set.
#include "attention/smoother/fused/table.h"
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
void hide(int64_t columns, T* z, const bool* seen) {
    for (int64_t c = 0; c < columns; ++c) z[c] = seen[c] ? z[c] : lower_end<T>;
}

template <class T>
void soften(int64_t rows, int64_t columns, T* z, int64_t row, const bool* seen, T* max, T* sum,
            T* factor) {
    for (int64_t r = 0; r < rows; ++r, z += row) {
        if (seen) hide(columns, z, seen + r * columns);
        const T before = max[r], here = largest_of(z, columns), top = here > before ? here : before;
        // A row of −∞ only: exp gives zeros, and so do we.
        const Vec<T> m(top == lower_end<T> ? T(0) : top);
        Canonical<T, SumOp> total;
        canonical_for(total, columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> p = exp_falling(load(z + i, count, lower_end<T>) - m);
            store(p, z + i, count);
            part = part + p;
        });
        factor[r] = before == top ? T(1) : number(exp_falling(Vec<T>(before) - m));
        sum[r] = sum[r] * factor[r] + total.total();
        max[r] = top;
    }
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
void finish(int64_t rows, int64_t columns, T* out, int64_t row, T* max, T* sum) {
    for (int64_t r = 0; r < rows; ++r, out += row) {
        if (max[r] == lower_end<T>) max[r] = T(0);
        sum[r] = sum[r] == T(0) ? T(0) : T(1) / sum[r];
        const Vec<T> share(sum[r]);
        write_run(out, columns, false, [&](int64_t i, int count) MERCER_STEP {
            return load(out + i, count, T(1)) * share;
        });
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
void unsoften(int64_t rows, int64_t columns, T* z, T* g, int64_t row, const bool* seen,
              const T* max, const T* share, const T* D) {
    for (int64_t r = 0; r < rows; ++r, z += row, g += row) {
        if (seen) hide(columns, z, seen + r * columns);
        const Vec<T> m(max[r]), scale(share[r]), d(D[r]);
        write_run(z, columns, false, [&](int64_t i, int count) MERCER_STEP {
            const Vec<T> p = exp_falling(load(z + i, count, lower_end<T>) - m) * scale;
            store(p * (load(g + i, count, T(0)) - d), g + i, count);
            return p;
        });
    }
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
constexpr attention::FusedTable<T> table = {finite<T>,      soften<T>,   rescale<T>,
                                            finish<T>,      inner<T>,    unsoften<T>,
                                            add_columns<T>, add_rows<T>, add_norms<T>};

}  // namespace

extern const attention::FusedTable<float> fused_f32;
extern const attention::FusedTable<double> fused_f64;
const attention::FusedTable<float> fused_f32 = table<float>;
const attention::FusedTable<double> fused_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
