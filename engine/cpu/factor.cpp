// Triangular solves, and what LU leaves used: solutions and the inverse.
#include "engine/cpu/factor.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/instantiate.h"
#include "engine/cpu/tiny.h"
#include "engine/cpu/triangle.h"

namespace mercer {

MERCER_DISPATCH_TYPED(cpu::FactorKernels, factor_kernels)
MERCER_DISPATCH_TYPED(cpu::TinyKernels, tiny_kernels)

namespace cpu {
namespace {

/// What there may be besides T⁻¹b: zeros known, panels kept.
template <class T>
struct Panels {
    bool identity = false;  // column j is zero above row j − shift; T lower
    int64_t shift = 0;
    T* kept = nullptr;  // room for n × k, in whole panels
};

template <class T>
void solve_panels(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit,
                  MatrixView<T> b, const Panels<T>& more = {}) {
    if (k == 1 && !more.kept) return Triangle<T>(n, t, lower, unit, nullptr).solve_column(b);
    Scratch scratch;
    const Triangle<T> triangle(n, t, lower, unit, scratch.take<T>(n * n / 2));
    parallel_each(triangle.blocks(), grain_for(n * factor_block / 8),
                  [&](int64_t i) { triangle.pack(i); });
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
                              first = place * group * nr, columns = std::min(group * nr, k - first);
                const MatrixView<T> here = at(b, 0, first);
                solve_packed(triangle, columns, here, more.kept ? more.kept + n * first : own,
                             more.identity ? std::max<int64_t>(0, first - more.shift) : 0);
            }
        });
}

}  // namespace

template <class T>
void solve_triangular(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit,
                      MatrixView<T> b, bool identity) {
    constexpr int64_t most = 2048;  // rows and columns of what is packed
    if (n == 0) return;
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

template <class T>
void lu_solve(int64_t n, int64_t k, const T* factors, const int64_t* pivots, bool transposed,
              T* b) {
    MatrixView<const T> lu{factors, n, 1};
    if (transposed) std::swap(lu.row, lu.col);  // Uᵀ Lᵀ P
    if (!transposed) exchange_rows(k, b, k, pivots, n);
    solve_triangular<T>(n, k, lu, true, !transposed, {b, k, 1});
    solve_triangular<T>(n, k, lu, false, transposed, {b, k, 1});
    if (transposed) exchange_rows(k, b, k, pivots, n, true);
}

template <class T>
void lu_inverse(int64_t n, const T* factors, const int64_t* pivots, T* inverse) {
    parallel_for(n, grain_for(n), [&](int64_t begin, int64_t end) {
        std::fill(inverse + begin * n, inverse + end * n, T(0));
        for (; begin < end; ++begin) inverse[begin * (n + 1)] = T(1);
    });
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

MERCER_F32_F64(solve_triangular)
MERCER_F32_F64(lu_solve)
MERCER_F32_F64(lu_inverse)

}  // namespace cpu
}  // namespace mercer
