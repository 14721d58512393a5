// Cholesky by blocks of columns: each is factored, the rows below it are solved, and what they take from the rest is
// subtracted.
#include "engine/cpu/blocks.h"
#include "engine/cpu/factor.h"
#include "engine/cpu/instantiate.h"

namespace mercer::cpu {
namespace {

/// Rows of the lower triangle, and zeros.
template <class T>
void copy_rows(int64_t begin, int64_t end, int64_t n, const T* from, T* to) {
    for (int64_t i = begin; i < end; ++i)
        std::fill(std::copy_n(from + i * n, i + 1, to + i * n), to + (i + 1) * n, T(0));
}

/// One unit. The lower triangle's columns are the upper one's rows.
template <class T>
int64_t factor_unit(int64_t n, MatrixView<T> a) {
    Scratch scratch;
    T* upper = scratch.take<T>(n * n);
    copy_block<T>(n, n, {a.data, a.col, a.row}, {upper, n, 1});
    const int64_t done = factor_kernels<T>().cholesky(n, upper, n);
    if (done < n) return done + 1;
    for (int64_t i = 1; i < n; ++i) std::fill_n(upper + i * n, i, T(0));
    copy_block<T>(n, n, {upper, 1, n}, a);
    return 0;
}

template <class T>
class Cholesky : Blocks<T, Cholesky<T>> {
    using Base = Blocks<T, Cholesky<T>>;
    friend Base;
    using Base::unit, Base::await, Base::reach, Base::begin, Base::width, Base::size, Base::first_;
    // At 2s + 1 a unit of rows is solved against block s, but has not lost what that takes from it.
    static constexpr int64_t untouched = -2, uncopied = -1;

public:
    /// The lower triangle of `a` from that of `from` (n×n, contiguous), or from its own.
    Cholesky(int64_t n, MatrixView<T> a, const T* from, int64_t width, bool alone)
        : Base(n, width, width, 2 * divide_up(n, unit) + 1, from ? untouched : 0, alone),
          a_(a),
          from_(from) {
        for (T*& panels : panels_)
            panels = this->scratch_.template take<T>(this->units_ * unit * width * unit);
    }

    /// The order of the first leading minor that is not positive, or 0.
    int64_t run() {
        const int64_t end = this->units_, blocks = this->blocks_;
        const auto below = [&](int64_t s, int64_t from, int64_t to) {
            this->add(&Cholesky::solve, s, from, to);
            this->add(&Cholesky::subtract, s, from, to);
        };
        if (from_) this->add(&Cholesky::copy, 0, 0, first_[1]);
        this->add(&Cholesky::factor, 0, 0, 1);
        if (from_) this->add(&Cholesky::copy, 0, first_[1], end);
        for (int64_t s = 0; s + 1 < blocks; ++s) {
            below(s, first_[s + 1], first_[s + 2]);
            below(s, first_[s + 2], end);
        }
        return this->run_tasks();
    }

private:
    T* panel(int64_t s, int64_t i) const {
        return panels_[s % 2] + (i - first_[s + 1]) * unit * width(s);
    }

    void copy_unit(int64_t i) const {
        copy_rows(i * unit, i * unit + size(i), this->n_, from_, a_.data);
    }
    /// While the first block is factored; once that is done, whoever solves rows copies them, and has them at hand.
    void copy(int64_t, int64_t i) {
        const bool late = this->stage(0) > 0;
        if (!late) copy_unit(i);
        reach(i, late ? uncopied : 0);
    }

    void factor(int64_t s, int64_t) {
        this->factor_columns(s, a_, false, [](int64_t n, MatrixView<T> a) {
            return n <= unit ? factor_unit(n, a) : Cholesky(n, a, nullptr, 1, true).run();
        });
    }

    void solve(int64_t s, int64_t i) {
        if (!this->await_block(s) || !await(i, i + 1, s ? 2 * s : uncopied)) return;
        if (this->stage(i) == uncopied) copy_unit(i);
        const MatrixView<T> here = at(a_, i * unit, begin(s));
        solve_packed<T>(this->triangle(s), size(i), {here.data, here.col, here.row}, panel(s, i));
        reach(i, 2 * s + 1);
    }

    void subtract(int64_t s, int64_t i) {
        if (!await(first_[s + 1], i + 1, 2 * s + 1)) return;
        const GemmTable<T>& table = gemm_kernels<T>();
        const int64_t k = width(s), nr = table.nr;
        Scratch scratch;
        T* const strips = scratch.take<T>(nr * k);
        for (int64_t r = 0; r < size(i); r += nr) {
            // A panel of its own columns, turned over, are its rows.
            const int64_t rows = std::min(nr, size(i) - r);
            pack_negated<T>(rows, k, {panel(s, i) + r * k, 1, panel_width(table, rows)}, strips);
            for (int64_t j = first_[s + 1]; j <= i; ++j)
                for (int64_t c = 0, end = i == j ? r + rows : size(j); c < end; c += nr)
                    multiply_panel(table, rows, std::min(nr, size(j) - c), k, strips,
                                   panel(s, j) + c * k, at(a_, i * unit + r, j * unit + c).data,
                                   a_.row, true);
        }
        reach(i, 2 * s + 2);
        // At once: a thread that took that as its next task would wait for this one.
        if (i + 1 == first_[s + 2]) factor(s + 1, 0);
    }

    MatrixView<T> a_;
    const T* from_;
    T* panels_[2];
};

}  // namespace

template <class T>
int64_t cholesky(int64_t n, const T* a, T* lower) {
    if (n > factor_block)
        return Cholesky<T>(n, {lower, n, 1}, a,
                           std::clamp<int64_t>(n / 256, 1, depth / factor_block), n <= depth)
            .run();
    copy_rows(0, n, n, a, lower);
    return factor_unit<T>(n, {lower, n, 1});
}

MERCER_F32_F64(cholesky)

}  // namespace mercer::cpu
