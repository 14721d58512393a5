#include "engine/cpu/factor.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/triangle.h"

namespace mercer {

MERCER_DISPATCH(cpu::FactorTable, factor_table)

namespace cpu {
namespace {

/// Where n is cut in two.
int64_t half_of(int64_t n, int64_t unit) { return round_up(n / 2, unit); }
/// Columns to factor before the others, which then meet them as one product.
int64_t left_of(int64_t n, int64_t unit) { return std::min<int64_t>(256, half_of(n, unit)); }

template <class T>
MatrixView<const T> read(MatrixView<T> x) {
    return {x.data, x.row, x.col};
}

template <class T>
void exchange_rows(int64_t columns, T* a, int64_t row, const int64_t* pivots, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (pivots[i] != i)
            std::swap_ranges(a + i * row, a + i * row + columns, a + pivots[i] * row);
}

/// What there may be besides T⁻¹b: rows exchanged before, zeros known, panels kept.
template <class T>
struct Panels {
    const int64_t* pivots = nullptr;
    bool identity = false;  // column j is zero above row j − shift; T lower
    int64_t shift = 0;
    T* kept = nullptr;  // room for n × k, in whole panels
};

template <class T>
void solve_panels(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit,
                  MatrixView<T> b, const Panels<T>& more = {}) {
    const Triangle<T> triangle(n, t, lower, unit);
    const GemmTable<T>& table = gemm_kernels<T>();
    const int64_t nr = table.nr, panels = divide_up(k, nr),
                  // of them at once: in L2 with a piece of T, and all threads busy
        most = std::min(caches().l2 / 2 / (n * nr * int64_t(sizeof(T))),
                        panels / (3 * thread_count())),
                  group = more.identity ? 1 : std::max<int64_t>(1, most);
    parallel_for(
        divide_up(panels, group), grain_for(n * n * nr * group / 32),
        [&](int64_t begin, int64_t end) {
            Scratch scratch;
            T* const own = more.kept ? nullptr : scratch.take<T>(group * n * nr);
            for (; begin < end; ++begin) {
                // As subtract_panels() goes: the thread that solved a panel will find it in its cache.
                const int64_t place = more.identity ? begin : divide_up(panels, group) - 1 - begin,
                              first = place * group * nr, columns = std::min(group * nr, k - first),
                              whole = columns / nr, left = columns - whole * nr;
                const MatrixView<T> here = at(b, 0, first);
                if (more.pivots) exchange_rows(columns, here.data, here.row, more.pivots, n);
                T* const x = more.kept ? more.kept + n * first : own;
                table.pack_columns(columns, n, here.data, here.row, here.col, x);
                const int64_t zeros = more.identity ? std::max<int64_t>(0, first - more.shift) : 0;
                triangle.solve(x, whole, nr, zeros);
                if (left) triangle.solve(x + whole * nr * n, 1, panel_width(table, left), zeros);
                for (int64_t j = 0; j < columns; j += nr) {
                    const int64_t part = std::min(nr, columns - j);
                    copy_block<T>(n, part, {x + j * n, panel_width(table, part), 1},
                                  at(here, 0, j));
                }
            }
        });
}

}  // namespace

template <class T>
void solve_triangular(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit,
                      MatrixView<T> b, bool identity) {
    constexpr int64_t most = 2048;  // rows and columns of what is packed
    if (n <= most) return solve_panels(n, k, t, lower, unit, b, {.identity = identity});
    const int64_t nr = gemm_kernels<T>().nr, across = round_up(most, nr);
    Scratch scratch;
    T* const panels = scratch.take<T>(most * std::min(across, round_up(k, nr)));
    for (int64_t j = 0; j < k; j += across)
        for (int64_t done = identity ? j / most * most : 0; done < n; done += most) {
            const int64_t rows = std::min(most, n - done), first = lower ? done : n - done - rows,
                          then = lower ? done + rows : 0, rest = n - done - rows,
                          columns = std::min(across, (identity ? std::min(k, done + rows) : k) - j);
            if (columns <= 0) continue;
            solve_panels(rows, columns, at(t, first, first), lower, unit, at(b, first, j),
                         {.identity = identity, .shift = done - j, .kept = panels});
            subtract_panels<T>(rest, columns, rows, at(t, then, first), panels, at(b, then, j),
                               false);
        }
}

namespace {

// Small ones where they are, else by panels.
template <class T>
int64_t cholesky_at(int64_t n, MatrixView<T> a) {
    if (n <= factor_block) {
        // The lower triangle's columns are the upper one's rows.
        Scratch scratch;
        T* upper = scratch.take<T>(n * n);
        copy_block<T>(n, n, {a.data, a.col, a.row}, {upper, n, 1});
        const int64_t done = factor_kernels<T>().cholesky(n, upper, n);
        if (done < n) return done + 1;
        copy_block<T>(n, n, {upper, 1, n}, a);
        return 0;
    }
    int64_t h = left_of(n, factor_block);
    if (const int64_t column = cholesky_at(h, a)) return column;
    // The next columns are factored by one thread while others still meet those before: none falls asleep for lack of work.
    for (int64_t done = 0;;) {
        const int64_t from = done + h, rest = n - from,
                      next = rest <= factor_block ? rest : left_of(rest, factor_block);
        const MatrixView<T> below = at(a, from, done), corner = at(a, from, from);
        Scratch scratch;
        T* panels = scratch.take<T>(h * round_up(rest, gemm_kernels<T>().nr));
        solve_panels<T>(h, rest, read(at(a, done, done)), true, false, {below.data, a.col, a.row},
                        {.kept = panels});
        int64_t column = 0;
        subtract_panels<T>(rest, rest, h, read(below), panels, corner, true, next,
                           [&] { column = cholesky_at(next, corner); });
        if (column) return from + column;
        if (next == rest) return 0;
        done = from, h = next;
    }
}

constexpr int64_t lu_panel = 64;  // columns that are factored side by side, each dense

// P·a = L·U on m × n columns `apart` elements apart.
template <class T>
int64_t lu_columnwise(int64_t m, int64_t n, T* a, int64_t apart, int64_t* pivots) {
    if (n <= lu_columns) {
        const int64_t done = factor_kernels<T>().lu(m, n, a, apart, pivots);
        return done < n ? done + 1 : 0;
    }
    const int64_t h = half_of(n, lu_columns), rest = n - h;
    const auto exchange = [&](int64_t from, int64_t to, T* x, const int64_t* by, int64_t count) {
        for (int64_t j = from; j < to; ++j)
            for (int64_t i = 0; i < count; ++i) std::swap(x[j * apart + i], x[j * apart + by[i]]);
    };
    if (const int64_t failed = lu_columnwise(m, h, a, apart, pivots)) return failed;
    exchange(h, n, a, pivots, h);
    Scratch scratch;
    T *upper = scratch.take<T>(h * rest), *strips = scratch.take<T>(h * rest),
      *right = a + h * apart;
    copy_block<T>(h, rest, {right, 1, apart}, {upper, rest, 1});
    factor_kernels<T>().substitute(h, rest, a, 1, apart, true, upper, rest, 1, 0);
    copy_block<T>(h, rest, {upper, rest, 1}, {right, 1, apart});
    if (m > h) {
        // What is below, turned over: rows of the product are columns here.
        factor_kernels<T>().negate(h * rest, upper);
        const GemmTable<T>& table = gemm_kernels<T>();
        table.pack_rows(rest, h, upper, 1, rest, strips);
        GemmBlock<T> block{};
        block.m = rest;
        block.n = m - h;
        block.k = h;
        block.accumulate = block.a_packed = true;
        block.a = strips;
        block.b = a + h;
        block.b_row = apart;
        block.c = right + h;
        block.c_row = apart;
        block.c_col = 1;
        table.multiply(block);
    }
    if (const int64_t failed = lu_columnwise(m - h, rest, right + h, apart, pivots + h))
        return h + failed;
    exchange(0, h, a + h, pivots + h, rest);
    for (int64_t j = h; j < n; ++j) pivots[j] += h;
    return 0;
}

template <class T>
int64_t lu_at(int64_t m, int64_t n, T* a, int64_t row, int64_t* pivots) {
    if (n <= lu_panel) {
        Scratch scratch;
        constexpr int64_t line = 64 / sizeof(T);
        const int64_t apart = round_up(m, line) + line;
        T* turned = scratch.take<T>(n * apart);
        copy_block<T>(n, m, {a, 1, row}, {turned, apart, 1});
        const int64_t failed = lu_columnwise(m, n, turned, apart, pivots);
        copy_block<T>(m, n, {turned, 1, apart}, {a, row, 1});
        return failed;
    }
    const int64_t h = left_of(n, lu_panel), rest = n - h;
    if (const int64_t failed = lu_at(m, h, a, row, pivots)) return failed;
    T *right = a + h, *below = a + h * row, *corner = below + h;
    {
        Scratch scratch;
        T* panels = scratch.take<T>(h * round_up(rest, gemm_kernels<T>().nr));
        solve_panels<T>(h, rest, {a, row, 1}, true, true, {right, row, 1},
                        {.pivots = pivots, .kept = panels});
        subtract_panels<T>(m - h, rest, h, {below, row, 1}, panels, {corner, row, 1}, false);
    }
    if (const int64_t failed = lu_at(m - h, rest, corner, row, pivots + h)) return h + failed;
    constexpr int64_t strip = 64;
    parallel_for(divide_up(h, strip), grain_for(strip * rest / 4), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * strip, last = std::min(h, end * strip);
        exchange_rows(last - first, below + first, row, pivots + h, rest);
    });
    for (int64_t j = h; j < n; ++j) pivots[j] += h;
    return 0;
}

}  // namespace

template <class T>
int64_t cholesky(int64_t n, const T* a, T* lower) {
    const auto rows = [&](auto row) {
        parallel_for(n, grain_for(n / 16), [&](int64_t begin, int64_t end) {
            for (; begin < end; ++begin) row(begin, lower + begin * n);
        });
    };
    rows([&](int64_t i, T* row) {
        std::copy_n(a + i * n, i + 1, row);
        std::fill(row + i + 1, row + n, T(0));
    });
    if (const int64_t column = cholesky_at<T>(n, {lower, n, 1})) return column;
    // Pieces reach over the diagonal.
    const GemmTable<T>& table = gemm_kernels<T>();
    const int64_t beyond = std::max(factor_block, piece_rows(table) + table.nr);
    rows([&](int64_t i, T* row) {
        std::fill(row + i + 1, row + std::min(n, i + 1 + beyond), T(0));
    });
    return 0;
}

template <class T>
int64_t lu(int64_t n, T* a, int64_t* pivots) {
    return lu_at(n, n, a, n, pivots);
}

template <class T>
void lu_solve(int64_t n, int64_t k, const T* factors, const int64_t* pivots, T* b) {
    exchange_rows(k, b, k, pivots, n);
    solve_triangular<T>(n, k, {factors, n, 1}, true, true, {b, k, 1}, false);
    solve_triangular<T>(n, k, {factors, n, 1}, false, false, {b, k, 1}, false);
}

template <class T>
void lu_inverse(int64_t n, const T* factors, const int64_t* pivots, T* inverse) {
    std::fill_n(inverse, n * n, T(0));
    for (int64_t i = 0; i < n; ++i) inverse[i * (n + 1)] = T(1);
    solve_triangular<T>(n, n, {factors, n, 1}, true, true, {inverse, n, 1}, true);
    solve_triangular<T>(n, n, {factors, n, 1}, false, false, {inverse, n, 1}, false);
    // a⁻¹ = (U⁻¹L⁻¹)P: what stands in column i belongs where P takes row i from.
    Scratch scratch;
    int64_t* place = scratch.take<int64_t>(n);
    for (int64_t i = 0; i < n; ++i) place[i] = i;
    for (int64_t i = 0; i < n; ++i) std::swap(place[i], place[pivots[i]]);
    parallel_for(n, grain_for(n), [&](int64_t begin, int64_t end) {
        Scratch mine;
        T* kept = mine.take<T>(n);
        for (; begin < end; ++begin) {
            T* row = inverse + begin * n;
            std::copy_n(row, n, kept);
            for (int64_t j = 0; j < n; ++j) row[place[j]] = kept[j];
        }
    });
}

#define MERCER_FACTOR(T)                                                                 \
    template int64_t cholesky<T>(int64_t, const T*, T*);                                 \
    template void solve_triangular<T>(int64_t, int64_t, MatrixView<const T>, bool, bool, \
                                      MatrixView<T>, bool);                              \
    template int64_t lu<T>(int64_t, T*, int64_t*);                                       \
    template void lu_solve<T>(int64_t, int64_t, const T*, const int64_t*, T*);           \
    template void lu_inverse<T>(int64_t, const T*, const int64_t*, T*);
MERCER_FACTOR(float)
MERCER_FACTOR(double)
#undef MERCER_FACTOR

}  // namespace cpu
}  // namespace mercer
