// P·a = L·U by blocks of columns: each is factored, and the columns after it, exchanged as it was, are solved against its
// triangle and lose what the rows below take from them.
#include "engine/cpu/blocks.h"
#include "engine/cpu/factor.h"
#include "engine/cpu/instantiate.h"

namespace mercer::cpu {
namespace {

/// One unit, m × n: its rows dense (far apart they meet in few lines of L1), some columns at a time turned, for the kernel.
template <class T>
int64_t lu_unit(int64_t m, int64_t n, T* a, int64_t row, int64_t* pivots) {
    Scratch scratch;
    const int64_t apart = round_up(m, line<T>) + line<T>;
    T* const turned = scratch.take<T>(std::min(n, lu_columns) * apart);
    T* const x = n == row ? a : scratch.take<T>(m * n);
    if (x != a) copy_block<T>(m, n, {a, row, 1}, {x, n, 1});
    for (int64_t j = 0; j < n; j += lu_columns) {
        const int64_t below = m - j, k = std::min(lu_columns, n - j), rest = n - j - k;
        T *const rows = x + j * n, *const here = rows + j;
        copy_block<T>(k, below, {here, 1, n}, {turned, apart, 1});
        for (int64_t c = 0; c < k; ++c)
            std::fill_n(turned + c * apart + below, round_up(below, line<T>) - below, T(0));
        const int64_t done = factor_kernels<T>().lu(below, k, turned, apart, pivots + j);
        if (done < k) return j + done + 1;
        exchange_rows(n, rows, n, pivots + j, k);
        copy_block<T>(below, k, {turned, 1, apart}, {here, n, 1});
        for (int64_t c = j; c < j + k; ++c) pivots[c] += j;
        if (rest == 0) break;
        factor_kernels<T>().substitute(k, rest, here, n, 1, true, here + k, n, 1, 0);
        factor_kernels<T>().negate(k * apart, turned);
        GemmBlock<T> block{};
        block.m = below - k, block.n = rest, block.k = k, block.accumulate = true;
        block.a = turned + k, block.a_row = 1, block.a_col = apart;
        block.b = here + k, block.c = here + k * (n + 1), block.b_row = block.c_row = n;
        gemm_kernels<T>().multiply(block);
    }
    if (x != a) copy_block<T>(m, n, {x, n, 1}, {a, row, 1});
    return 0;
}

template <class T>
class Lu : Blocks<T, Lu<T>> {
    using Base = Blocks<T, Lu<T>>;
    friend Base;
    using Base::unit, Base::await, Base::reach, Base::begin, Base::end, Base::width, Base::size,
        Base::first_;
    static constexpr int64_t piece = 96;  // rows to pack at a time

public:
    /// m × n in place, m ≥ n.
    Lu(int64_t m, int64_t n, T* a, int64_t row, int64_t* pivots, int64_t width, bool alone)
        : Base(n, divide_up(width, 2), width, divide_up(n, unit) + divide_up(m, piece) + 1, 0,
               alone),
          m_(m),
          row_(row),
          a_(a),
          pivots_(pivots) {
        for (T*& strips : strips_)
            strips = this->scratch_.template take<T>(m * std::min(n, width * unit));
        packed_ = this->scratch_.template take<std::atomic<int64_t>>(this->blocks_);
        for (int64_t s = 0; s < this->blocks_; ++s) std::construct_at(packed_ + s, 0);
    }

    /// One plus the first column without a pivot, or 0.
    int64_t run() {
        const int64_t all = this->units_, blocks = this->blocks_;
        this->add(&Lu::factor, 0, 0, 1);
        for (int64_t s = 0; s + 1 < blocks; ++s) {
            this->add(&Lu::pack, s, 0, pieces(s));
            this->add(&Lu::update, s, first_[s + 1], all);
            this->add(&Lu::exchange, s, 0, first_[s]);
        }
        this->add(&Lu::exchange, blocks - 1, 0, first_[blocks - 1]);
        const int64_t failed = this->run_tasks();
        for (int64_t s = 0; s < blocks && !failed; ++s)
            for (int64_t j = begin(s); j < end(s); ++j) pivots_[j] += begin(s);
        return failed;
    }

private:
    T* at(int64_t i, int64_t j) const { return a_ + i * row_ + j; }
    /// Of the rows below block s.
    int64_t pieces(int64_t s) const { return divide_up(m_ - end(s), piece); }
    int64_t rows(int64_t s, int64_t i) const { return std::min(piece, m_ - end(s) - i * piece); }
    T* strips(int64_t s, int64_t i) const { return strips_[s % 2] + i * piece * width(s); }

    void factor(int64_t s, int64_t) {
        this->factor_columns(s, {a_, row_, 1}, true, [&](int64_t n, MatrixView<T> a) {
            const int64_t m = m_ - begin(s);
            int64_t* const pivots = pivots_ + begin(s);
            return n <= unit ? lu_unit(m, n, a.data, row_, pivots)
                             : Lu(m, n, a.data, row_, pivots, 1, true).run();
        });
    }

    void pack(int64_t s, int64_t i) {
        if (!this->await_block(s)) return;
        pack_negated<T>(rows(s, i), width(s), {at(end(s) + i * piece, begin(s)), row_, 1},
                        strips(s, i));
        this->turns_.count(packed_[s]);
    }

    void update(int64_t s, int64_t j) {
        const int64_t k = width(s), n = size(j), nr = gemm_kernels<T>().nr;
        if (!this->await_block(s) || !await(j, j + 1, 2 * s)) return;
        T* const upper = at(begin(s), j * unit);
        exchange_rows(n, upper, row_, pivots_ + begin(s), k);
        Scratch scratch;
        T* const panels = scratch.take<T>(k * round_up(n, nr));
        solve_packed<T>(this->triangle(s), n, {upper, row_, 1}, panels);
        if (!this->turns_.await(packed_[s], pieces(s))) return;
        for (int64_t i = 0; i < pieces(s); ++i)
            for (int64_t c = 0; c < n; c += nr)
                multiply_panel(gemm_kernels<T>(), rows(s, i), std::min(nr, n - c), k, strips(s, i),
                               panels + c * k, at(end(s) + i * piece, j * unit + c), row_, true);
        reach(j, 2 * s + 2);
        // At once: a thread that took that as its next task would wait for this one.
        if (j + 1 == first_[s + 2]) factor(s + 1, 0);
    }

    /// The rows of what is finished, as block s was exchanged.
    void exchange(int64_t s, int64_t j) {
        if (!this->await_block(s) || !await(j, j + 1, 2 * s)) return;
        exchange_rows(size(j), at(begin(s), j * unit), row_, pivots_ + begin(s), width(s));
        reach(j, 2 * s + 2);
    }

    int64_t m_, row_;
    T* a_;
    int64_t* pivots_;
    T* strips_[2];
    std::atomic<int64_t>* packed_;  // pieces of each block
};

}  // namespace

template <class T>
int64_t lu(int64_t n, T* a, int64_t* pivots) {
    if (n <= factor_block) return lu_unit(n, n, a, n, pivots);
    // The first block is factored by one thread while others wait: narrower where that would take long.
    const int64_t width = std::clamp<int64_t>(n / 512, 1, depth / factor_block);
    return Lu<T>(n, n, a, n, pivots, width, n <= depth).run();
}

MERCER_F32_F64(lu)

}  // namespace mercer::cpu
