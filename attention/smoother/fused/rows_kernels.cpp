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
T squares(const T* x, int64_t n) {
    Canonical<T, SumOp> sum;
    canonical_for(sum, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        const Vec<T> v = load(x + i, count, T(0));
        part = fma(v, v, part);
    });
    return sum.total();
}

template <class T>
T longest(int64_t rows, int64_t columns, const T* x, int64_t row) {
    constexpr int lanes = Vec<T>::lanes, chains = 4;
    Vec<T> most(T(0));
    for (int64_t c = 0; c < columns; c += lanes) {
        const int count = int(columns - c < lanes ? columns - c : lanes);
        Vec<T> sum[chains];
        for (Vec<T>& s : sum) s = Vec<T>(T(0));
        const T* at = x + c;
        const auto add = [&](Vec<T>& s) MERCER_STEP {
            const Vec<T> v = load(at, count, T(0));
            s = fma(v, v, s);
            at += row;
        };
        int64_t r = 0;
        for (; r + chains <= rows; r += chains)
            for (Vec<T>& s : sum) add(s);
        for (int k = 0; r < rows; ++r) add(sum[k++]);
        most = MaxOp::join(most, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    return across<MaxOp>(most);
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
void scaled(int64_t rows, int64_t columns, const T* x, const T* factor, T* out) {
    for (int64_t r = 0; r < rows; ++r, x += columns, out += columns) {
        const Vec<T> f(factor[r]);
        write_run(out, columns, false,
                  [&](int64_t i, int count) MERCER_STEP { return load(x + i, count, T(1)) * f; });
    }
}

template <class T>
void blend(int64_t rows, int64_t columns, const T* factor, T* out, int64_t row, const T* x_factor,
           const T* x, int64_t x_row) {
    for (int64_t r = 0; r < rows; ++r, out += row, x += x_row) {
        const Vec<T> a(factor[r]), b(x_factor[r]);
        write_run(out, columns, false, [&](int64_t i, int count) MERCER_STEP {
            return fma(load(x + i, count, T(0)), b, load(out + i, count, T(0)) * a);
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

/// Of row r the columns [begin, end) that have places in `wide`, the first of them column `from`.
struct Placed {
    int64_t begin, end, from;
    template <class T>
    Placed(const attention::SkewedTile<T>& t, int64_t r) {
        const int64_t shift = t.rows - 1 - r - t.before;  // column of wide less that of z
        const auto within = [&](int64_t c) { return c < 0 ? 0 : c > t.columns ? t.columns : c; };
        begin = within(-shift), end = within(t.count - shift), from = begin + shift;
    }
};

template <class T>
void add_skewed(const attention::SkewedTile<T>& t) {
    const Vec<T> scale(t.scale);
    for (int64_t r = 0; r < t.rows; ++r) {
        const Placed at(t, r);
        T* const z = t.z + r * t.row;
        const T* const wide = t.wide + r * t.wide_row;
        const auto add = [&](int64_t begin, int64_t end, auto from) {
            T* const to = z + begin;
            write_run(to, end - begin, false, [&](int64_t i, int count) MERCER_STEP {
                return fma(scale, from(i, count), load(to + i, count, T(0)));
            });
        };
        add(at.begin, at.end, [&](int64_t i, int count) MERCER_STEP {
            return load(wide + at.from + i, count, T(0));
        });
        if (!t.clipped) continue;
        const Vec<T> first(wide[0]), last(wide[t.count - 1]);
        add(0, at.begin, [&](int64_t, int) MERCER_STEP { return first; });
        add(at.end, t.columns, [&](int64_t, int) MERCER_STEP { return last; });
    }
}

template <class T>
void skew(const attention::SkewedTile<T>& t) {
    const Vec<T> scale(t.scale);
    for (int64_t r = 0; r < t.rows; ++r) {
        const Placed at(t, r);
        const T* const z = t.z + r * t.row;
        T* const wide = t.wide + r * t.wide_row;
        const int64_t n = at.end - at.begin, before = n > 0 ? at.from : t.count;
        const auto none = [](int64_t, int) MERCER_STEP { return Vec<T>(T(0)); };
        write_run(wide, before, false, none);
        if (n > 0) {
            write_run(wide + before, n, false, [&](int64_t i, int count) MERCER_STEP {
                return scale * load(z + at.begin + i, count, T(0));
            });
            write_run(wide + before + n, t.count - before - n, false, none);
        }
        if (!t.clipped) continue;
        const auto sum = [&](int64_t begin, int64_t end) {
            Canonical<T, SumOp> sum;
            canonical_for(sum, end - begin, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                part = part + load(z + begin + i, count, T(0));
            });
            return t.scale * sum.total();
        };
        if (at.begin > 0) wide[0] += sum(0, at.begin);
        if (at.end < t.columns) wide[t.count - 1] += sum(at.end, t.columns);
    }
}

template <class T>
constexpr attention::RowTable<T> table = {
    finite<T>, squares<T>,     longest<T>,  rescale<T>,   scaled<T>,     blend<T>, inner<T>,
    times<T>,  add_columns<T>, add_rows<T>, add_norms<T>, add_skewed<T>, skew<T>};

}  // namespace

extern const attention::RowTable<float> attend_rows_f32;
extern const attention::RowTable<double> attend_rows_f64;
const attention::RowTable<float> attend_rows_f32 = table<float>;
const attention::RowTable<double> attend_rows_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
