#include "engine/ops/linalg.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "engine/cpu/factor.h"
#include "engine/cpu/layout.h"
#include "engine/cpu/tiny.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
namespace {

void check_square(const char* operation, const Tensor& a) {
    require_floating(operation, a);
    if (a.rank() < 2 || a.size(-1) != a.size(-2))
        throw ShapeError(operation, "needs square matrices over the last two axes, got ",
                         a.shape());
}

/// Checks the two sides of an equation; the batch that they share.
Shape batch_of(const char* operation, const Tensor& a, const Tensor& b) {
    check_square(operation, a);
    require_same_dtype(operation, a, b);
    if (b.rank() < 2 || b.size(-2) != a.size(-1))
        throw ShapeError(operation, "the matrix is ", a.shape(), ", the right side ", b.shape(),
                         "; give [..., n, n] and [..., n, k]");
    return cpu::broadcast_shape(operation, cpu::batch_shape(a.shape()),
                                cpu::batch_shape(b.shape()));
}

/// Matrices that go by tiles (engine/cpu/tiny.h).
bool are_tiny(int64_t n, int64_t batch) { return n <= cpu::tiny && batch >= 16; }

// body(i) for every matrix of the batch, one plus the column where it fails, or 0; the first failing matrix is named, whatever
// the number of threads. If they are `tiny`, tile(first, count) of many at once: false where one of them fails.
template <class Body, class Tile = bool (*)(int64_t, int64_t)>
void for_batch(int64_t batch, int64_t cost, const char* operation, const char* complaint, Body body,
               bool tiny = false, Tile tile = nullptr) {
    std::mutex mutex;
    int64_t failed = INT64_MAX, where = 0;
    const int64_t group = tiny ? cpu::tiny_columns : 1;
    parallel_each((batch + group - 1) / group, grain_for(cost * group), [&](int64_t g) {
        const int64_t first = g * group, end = std::min(first + group, batch);
        if (tiny && tile(first, end - first)) return;
        for (int64_t i = first; i < end; ++i)
            if (const int64_t column = body(i); column != 0) {
                const std::lock_guard lock(mutex);
                if (i < failed) failed = i, where = column;
            }
    });
    if (failed != INT64_MAX)
        throw NumericalError(operation, "matrix ", failed, " of the batch ", complaint,
                             " (at column ", where - 1, ")");
}

// body(i, factors, pivots) for every matrix of a contiguous batch; a becomes its factors, the result their pivots. Or, of
// tiny ones, undefined and x ← a⁻¹x (n × k each, all row-major), from the identity instead of x if k is n and `invert`.
template <class T, class Body>
Tensor factored(const char* operation, const Tensor& a, int64_t k, Body body, const Tensor& x,
                bool invert) {
    const int64_t n = a.size(-1), batch = a.count() / (n * n);
    const bool tiny = are_tiny(n, batch) && n * k * int64_t(sizeof(T)) <= 512;
    const Tensor all_pivots = tiny ? Tensor() : Tensor::empty({batch, n}, DType::i64);
    T* const all = static_cast<T*>(a.raw());
    for_batch(
        batch, n * n * (n + 2 * k) / 8, operation, "is singular or not finite",
        [&](int64_t i) {
            Scratch scratch;
            int64_t* const pivots =
                tiny ? scratch.take<int64_t>(n) : static_cast<int64_t*>(all_pivots.raw()) + i * n;
            T* const factors = all + i * n * n;
            if (const int64_t column = cpu::lu(n, factors, pivots)) return column;
            body(i, factors, pivots);
            return int64_t{0};
        },
        tiny,
        [&](int64_t first, int64_t count) {
            Scratch scratch;
            T* const to = static_cast<T*>(x.raw()) + first * n * k;
            T *matrices =
                  cpu::read_tile<T>(scratch, n, n, count, {all + first * n * n, n, 1, n * n}),
              *right = invert ? scratch.take<T>(n * n * count)
                              : cpu::read_tile<T>(scratch, n, k, count, {to, k, 1, n * k});
            for (int64_t i = 0; invert && i < n * n; ++i)
                std::fill_n(right + i * count, count, T(i % (n + 1) == 0));
            if (!tiny_kernels<T>().solve(n, k, matrices, right, count)) return false;
            cpu::write_tile(n * k, count, right, to);
            return true;
        });
    return all_pivots;
}

}  // namespace

Tensor Cholesky::forward(const Attrs&, TensorRefs x) {
    check_square(name, x[0]);
    const int64_t n = x[0].size(-1), batch = n ? x[0].count() / (n * n) : 0;
    const Tensor from = x[0].contiguous(), lower = Tensor::empty(from.shape(), from.dtype());
    visit_floating(lower.dtype(), [&]<class T>(T) {
        const T* const a = static_cast<const T*>(from.raw());
        T* const out = static_cast<T*>(lower.raw());
        for_batch(
            batch, n * n * n / 8, name,
            "is not positive definite; is it symmetric, finite, and is its diagonal large "
            "enough (jitter)?",
            [&](int64_t i) { return cpu::cholesky(n, a + i * n * n, out + i * n * n); },
            are_tiny(n, batch),
            [&](int64_t first, int64_t count) {
                Scratch scratch;
                T *matrices =
                      cpu::read_tile<T>(scratch, n, n, count, {a + first * n * n, n, 1, n * n}),
                  *l = scratch.take<T>(n * n * count);
                if (!tiny_kernels<T>().cholesky(n, matrices, l, count)) return false;
                cpu::write_tile(n * n, count, l, out + first * n * n);
                return true;
            });
    });
    return lower;
}

Tensor TriangularSolve::forward(const Attrs& attrs, TensorRefs in) {
    const Shape batch = batch_of(name, in[0], in[1]);
    const int64_t n = in[0].size(-1), k = in[1].size(-1);
    const Tensor t = broadcast_to(in[0], joined(batch, {n, n}));
    const Tensor x = broadcast_to(in[1], joined(batch, {n, k})).clone();
    if (x.count() == 0) return x;
    int64_t row = t.strides()[t.rank() - 2], col = t.strides()[t.rank() - 1];
    if (attrs.transposed) std::swap(row, col);
    visit_floating(t.dtype(), [&]<class T>(T) {
        const T* a = static_cast<const T*>(t.raw());
        T* b = static_cast<T*>(x.raw());
        const int64_t matrices = count(batch), apart = batch.rank() == 1 ? t.strides()[0] : n * n;
        for_batch(
            matrices, n * n * k / 8, name, "",
            [&](int64_t i) {
                int64_t at = 0, rest = i;
                for (int axis = batch.rank() - 1; axis >= 0; --axis) {
                    at += rest % batch[axis] * t.strides()[axis];
                    rest /= batch[axis];
                }
                cpu::solve_triangular<T>(n, k, {a + at, row, col}, attrs.lower != attrs.transposed,
                                         false, {b + i * n * k, k, 1});
                return int64_t{0};
            },
            // Evenly apart in memory.
            are_tiny(n, matrices) && k <= cpu::tiny &&
                (batch.rank() == 1 || (in[0].is_contiguous() && in[0].count() == matrices * n * n)),
            [&](int64_t first, int64_t some) {
                Scratch scratch;
                T* const at = b + first * n * k;
                T *tile =
                      cpu::read_tile<T>(scratch, n, n, some, {a + first * apart, row, col, apart}),
                  *right = cpu::read_tile<T>(scratch, n, k, some, {at, k, 1, n * k});
                tiny_kernels<T>().solve_triangular(n, k, tile, attrs.lower != attrs.transposed,
                                                   right, some);
                cpu::write_tile(n * k, some, right, at);
                return true;
            });
    });
    return x;
}

Tensors<3> Solve::forward(const Attrs& attrs, TensorRefs in) {
    const Shape batch = batch_of(name, in[0], in[1]);
    const int64_t n = in[0].size(-1), k = in[1].size(-1);
    const Tensor x = broadcast_to(in[1], joined(batch, {n, k})).clone();
    if (x.count() == 0) return {x, {}, {}};
    Tensor factors = in[2], pivots = in[3];
    visit_floating(x.dtype(), [&]<class T>(T) {
        const auto solve = [&](int64_t i, const T* lu, const int64_t* exchanges) {
            cpu::lu_solve(n, k, lu, exchanges, attrs.transposed,
                          static_cast<T*>(x.raw()) + i * n * k);
        };
        if (factors.defined())
            return for_batch(count(batch), n * n * k / 4, name, "", [&](int64_t i) {
                solve(i, static_cast<const T*>(factors.raw()) + i * n * n,
                      static_cast<const int64_t*>(pivots.raw()) + i * n);
                return int64_t{0};
            });
        const Tensor a = broadcast_to(in[0], joined(batch, {n, n})).clone();
        pivots = factored<T>(name, a, k, solve, x, false);
        if (pivots.defined()) factors = a;
    });
    return {x, factors, pivots};
}

Tensor Inverse::forward(const Attrs&, TensorRefs in) {
    check_square(name, in[0]);
    const int64_t n = in[0].size(-1);
    const Tensor x = Tensor::empty(in[0].shape(), in[0].dtype());
    if (x.count() == 0) return x;
    visit_floating(x.dtype(), [&]<class T>(T) {
        factored<T>(
            name, in[0].clone(), n,
            [&](int64_t i, const T* factors, const int64_t* pivots) {
                cpu::lu_inverse(n, factors, pivots, static_cast<T*>(x.raw()) + i * n * n);
            },
            x, true);
    });
    return x;
}

std::array<Tensor, 2> Eigh::forward(const Attrs&, TensorRefs in) {
    check_square(name, in[0]);
    const int64_t n = in[0].size(-1), batch = n ? in[0].count() / (n * n) : 0;
    const Tensor matrices = in[0].contiguous(),
                 vectors = Tensor::empty(in[0].shape(), in[0].dtype()),
                 values = Tensor::empty(in[0].shape().part(0, in[0].rank() - 1), in[0].dtype());
    visit_floating(values.dtype(), [&]<class T>(T) {
        const T* const a = static_cast<const T*>(matrices.raw());
        T *const v = static_cast<T*>(vectors.raw()), *const l = static_cast<T*>(values.raw());
        for_batch(batch, n * n * n, name, "is not finite", [&](int64_t i) {
            const T* const matrix = a + i * n * n;
            for (int64_t r = 0; r < n; ++r)  // what is read of it
                for (int64_t c = 0; c <= r; ++c)
                    if (!std::isfinite(matrix[r * n + c])) return c + 1;
            if (!cpu::eigh(n, matrix, l + i * n, v + i * n * n))
                throw NumericalError(name, "matrix ", i, " of the batch: it did not converge");
            return int64_t{0};
        });
    });
    return {values, vectors};
}

}  // namespace mercer
