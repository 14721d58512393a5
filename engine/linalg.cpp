#include "engine/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cpu/openblas.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"

// LAPACK's own names; declared here so that no header of it is needed.
extern "C" void dgelsy_(const int* m, const int* n, const int* nrhs, double* a, const int* lda,
                        double* b, const int* ldb, int* jpvt, const double* rcond, int* rank,
                        double* work, const int* lwork, int* info);

namespace mercer {
namespace {

// Column by column, as LAPACK wants it; the result is memory of its own.
std::vector<double> columns(const Tensor& x) {
    std::vector<double> values =
        cast(x.rank() == 2 ? transpose(x) : x, DType::f64).to_vector<double>();
    if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
        throw NumericalError("least_squares", "a value is not finite; remove such rows first");
    return values;
}

void check(const Tensor& a, const Tensor& b) {
    const bool fits = a.rank() == 2 && (b.rank() == 1 || b.rank() == 2) && a.size(0) == b.size(0);
    if (!fits || a.size(0) < a.size(1) || a.size(0) > std::numeric_limits<int>::max())
        throw ShapeError("least_squares", "A is ", a.shape(), ", b ", b.shape(),
                         "; give [m, n] with m ≥ n, and [m] or [m, r]");
    if (!is_floating(a.dtype()) || !is_floating(b.dtype()))
        throw DTypeError("least_squares", "A and b must be f32 or f64; use cast");
}

}  // namespace

Tensor least_squares(const Tensor& a, const Tensor& b) {
    const OperationScope scope("least_squares", {&a, &b});
    check(a, b);
    const int m = int(a.size(0)), n = int(a.size(1)), r = b.rank() == 2 ? int(b.size(1)) : 1;
    Shape result{n};
    if (b.rank() == 2) result.push_back(r);
    if (n == 0 || r == 0) return Tensor::zeros(result, b.dtype());

    std::vector<double> qr = columns(a), x = columns(b);
    std::vector<int> pivots(size_t(n), 0);
    const double dependent = std::numeric_limits<double>::epsilon() * std::max(m, n);
    const std::lock_guard lock(openblas::guard());
    int rank = 0, info = 0, ask = -1;
    double best = 0;
    dgelsy_(&m, &n, &r, qr.data(), &m, x.data(), &m, pivots.data(), &dependent, &rank, &best, &ask,
            &info);
    const int size = int(best);
    std::vector<double> work(size_t(size), 0.0);
    dgelsy_(&m, &n, &r, qr.data(), &m, x.data(), &m, pivots.data(), &dependent, &rank, work.data(),
            &size, &info);
    if (info != 0) throw NumericalError("least_squares", "LAPACK's dgelsy failed with info ", info);
    if (rank < n)
        throw NumericalError("least_squares", "the ", n, " columns of A have rank ", rank,
                             "; drop columns that are combinations of others");
    // x is [r][m] with the solution in the first n of each.
    const Tensor solution = slice(Tensor::from(x, {r, m}), 1, 0, n);
    return cast(reshape(b.rank() == 2 ? transpose(solution) : solution, result), b.dtype());
}

}  // namespace mercer
