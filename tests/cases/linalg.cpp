// Factorisations and solves, against plain loops in long double.
#include <cmath>
#include <numeric>

#include "engine/ops/linalg.h"
#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;
using Matrix = std::vector<std::vector<Real>>;

// Every matrix of a batch, row-major.
std::vector<Matrix> matrices(const Naive& x) {
    const size_t m = size_t(x.shape[x.shape.rank() - 2]), n = size_t(x.shape.back());
    std::vector<Matrix> out(m * n ? x.at.size() / (m * n) : 0, Matrix(m, std::vector<Real>(n)));
    for (size_t p = 0; p < x.at.size(); ++p) out[p / (m * n)][p / n % m][p % n] = x.at[p];
    return out;
}
Naive joined(const Shape& shape, const std::vector<Matrix>& parts) {
    Naive y{shape, {}};
    for (const Matrix& m : parts)
        for (const auto& row : m) y.at.insert(y.at.end(), row.begin(), row.end());
    return y;
}
template <class F>
Naive each_matrix(const Naive& x, const Shape& shape, F f) {
    std::vector<Matrix> out;
    for (const Matrix& m : matrices(x)) out.push_back(f(m));
    return joined(shape, out);
}

Matrix product(const Matrix& a, const Matrix& b, bool transposed = false) {
    Matrix c(a.size(), std::vector<Real>(transposed ? b.size() : b[0].size(), 0));
    for (size_t i = 0; i < c.size(); ++i)
        for (size_t j = 0; j < c[i].size(); ++j)
            for (size_t k = 0; k < a[i].size(); ++k)
                c[i][j] += a[i][k] * (transposed ? b[j][k] : b[k][j]);
    return c;
}
Matrix plus_diagonal(Matrix a, Real x, Real slope = 0) {
    for (size_t i = 0; i < a.size(); ++i) a[i][i] += x + slope * Real(i);
    return a;
}
Matrix factor(const Matrix& a) {
    Matrix l(a.size(), std::vector<Real>(a.size(), 0));
    for (size_t i = 0; i < a.size(); ++i)
        for (size_t j = 0; j <= i; ++j) {
            Real s = a[i][j];
            for (size_t k = 0; k < j; ++k) s -= l[i][k] * l[j][k];
            l[i][j] = i == j ? std::sqrt(s) : s / l[j][j];
        }
    return l;
}
// Gauss–Jordan with pivoting.
Matrix solved(Matrix a, Matrix b) {
    for (size_t c = 0; c < a.size(); ++c) {
        size_t best = c;
        for (size_t r = c; r < a.size(); ++r)
            if (std::abs(a[r][c]) > std::abs(a[best][c])) best = r;
        std::swap(a[c], a[best]);
        std::swap(b[c], b[best]);
        for (size_t r = 0; r < a.size(); ++r) {
            if (r == c) continue;
            const Real f = a[r][c] / a[c][c];
            for (size_t k = 0; k < a.size(); ++k) a[r][k] -= f * a[c][k];
            for (size_t k = 0; k < b[r].size(); ++k) b[r][k] -= f * b[c][k];
        }
    }
    for (size_t r = 0; r < a.size(); ++r)
        for (Real& x : b[r]) x /= a[r][r];
    return b;
}
Matrix identity_matrix(size_t n) { return plus_diagonal(Matrix(n, std::vector<Real>(n, 0)), 1); }

// Jacobi rotations; values in the first row, vectors in the columns below.
Matrix eigen(Matrix a) {
    const size_t n = a.size();
    Matrix v = identity_matrix(n);
    for (int sweep = 0; sweep < 60; ++sweep)
        for (size_t p = 0; p < n; ++p)
            for (size_t q = p + 1; q < n; ++q) {
                if (std::abs(a[p][q]) <= 1e-20L * std::abs(a[p][p] - a[q][q])) continue;
                const Real angle = std::atan2(2 * a[p][q], a[q][q] - a[p][p]) / 2;
                const Real c = std::cos(angle), s = std::sin(angle);
                for (size_t k = 0; k < n; ++k) {
                    const Real x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
                    const Real vx = v[k][p], vy = v[k][q];
                    v[k][p] = c * vx - s * vy, v[k][q] = s * vx + c * vy;
                }
                for (size_t k = 0; k < n; ++k) {
                    const Real x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
                }
            }
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return a[i][i] < a[j][j]; });
    Matrix out(n + 1, std::vector<Real>(n));
    for (size_t j = 0; j < n; ++j) {
        const size_t from = order[j];
        out[0][j] = a[from][from];
        size_t top = 0;
        for (size_t i = 0; i < n; ++i)
            if (std::abs(v[i][from]) > std::abs(v[top][from])) top = i;
        for (size_t i = 0; i < n; ++i) out[i + 1][j] = v[top][from] < 0 ? -v[i][from] : v[i][from];
    }
    return out;
}

Var gram(const Var& x) {  // symmetric positive definite
    return matmul(x, transpose(x)) + Var(Tensor::eye(x.size(-2), -1, x.dtype()));
}
Matrix naive_gram(const Matrix& x) { return plus_diagonal(product(x, x, true), 1); }
Var heavy(const Var& x) { return x + Var(Tensor::eye(x.size(-1), -1, x.dtype())) * 4.0; }
Matrix naive_heavy(const Matrix& x) { return plus_diagonal(x, 4); }

void add(std::vector<Case>& list, const std::string& name, const std::vector<Input>& in,
         std::function<Var(Vars)> f, std::function<Naive(Naives)> expected, double slack = 200) {
    Case c{describe(name, in), in, std::move(f), std::move(expected), slack};
    c.special = false;  // not finite: a typed error, in linalg_test
    list.push_back(std::move(c));
}

void factorisations(std::vector<Case>& list, const std::vector<Input>& squares) {
    for (const Input& in : squares) {
        const Shape shape = in.shape;
        const auto n = size_t(shape.back());
        add(
            list, "cholesky", {in}, [](Vars x) { return cholesky(gram(x[0])); },
            [shape](Naives x) {
                return each_matrix(x[0], shape,
                                   [](const Matrix& m) { return factor(naive_gram(m)); });
            });
        add(
            list, "inverse", {in}, [](Vars x) { return inverse(heavy(x[0])); },
            [shape, n](Naives x) {
                return each_matrix(x[0], shape, [n](const Matrix& m) {
                    return solved(naive_heavy(m), identity_matrix(n));
                });
            },
            2000);
        Shape batch = shape;
        batch.erase(batch.rank() - 1);
        Shape dropped = batch;
        dropped.erase(dropped.rank() - 1);
        add(
            list, "logdet", {in}, [](Vars x) { return logdet(gram(x[0])); },
            [dropped](Naives x) {
                return each_matrix(x[0], dropped, [](const Matrix& m) {
                    Real sum = 0;
                    const Matrix l = factor(naive_gram(m));
                    for (size_t i = 0; i < l.size(); ++i) sum += 2 * std::log(l[i][i]);
                    return Matrix{{sum}};
                });
            });
        add(
            list, "diagonal", {in}, [](Vars x) { return diagonal(x[0]) * 1.0; },
            [batch](Naives x) {
                return each_matrix(x[0], batch, [](const Matrix& m) {
                    Matrix row(1);
                    for (size_t i = 0; i < m.size(); ++i) row[0].push_back(m[i][i]);
                    return row;
                });
            });
    }
}

void eigenvalues(std::vector<Case>& list, const std::vector<Input>& squares) {
    for (const Input& in : squares) {
        const Shape shape = in.shape;
        Shape taller = shape;
        ++taller[shape.rank() - 2];
        const Tensor ladder = diagonal(Tensor::eye(shape.back(), -1, DType::f64)) *
                              Tensor::arange(shape.back(), DType::f64, 0, 3);
        add(
            list, "eigh", {in},
            [=](Vars x) {
                const Var steps(cast(ladder, x[0].dtype()) *
                                Tensor::eye(shape.back(), -1, x[0].dtype()));
                const auto [values, vectors] = eigh((x[0] + transpose(x[0])) * 0.5 + steps);
                Shape row = values.shape();
                row[row.rank() - 1] = 1;
                row.push_back(values.size(-1));
                return concat({reshape(values, row), vectors}, -2);
            },
            [=](Naives x) {
                return each_matrix(x[0], taller, [](const Matrix& m) {
                    Matrix a = m;
                    for (size_t i = 0; i < a.size(); ++i)
                        for (size_t j = 0; j < a.size(); ++j) a[i][j] = (m[i][j] + m[j][i]) / 2;
                    return eigen(plus_diagonal(a, 0, 3));
                });
            },
            400);
    }
}

void solves(std::vector<Case>& list, const std::vector<std::pair<Input, Input>>& pairs) {
    for (const auto& [a, b] : pairs) {
        Shape batch_a = a.shape, batch_b = b.shape;
        for (int t = 0; t < 2; ++t)
            batch_a.erase(batch_a.rank() - 1), batch_b.erase(batch_b.rank() - 1);
        Shape shape = oracle::joint(batch_a, batch_b);
        const size_t count = size_t(oracle::total(shape));
        shape.push_back(b.shape[b.shape.rank() - 2]);
        shape.push_back(b.shape.back());
        const auto naive = [=](auto prepare) {
            return [=](Naives x) {
                const std::vector<Matrix> left = matrices(x[0]), right = matrices(x[1]);
                std::vector<Matrix> out;
                for (size_t i = 0; i < count; ++i)
                    out.push_back(solved(prepare(left[i % left.size()]), right[i % right.size()]));
                return joined(shape, out);
            };
        };
        add(
            list, "solve", {a, b}, [](Vars x) { return solve(heavy(x[0]), x[1]); },
            naive(naive_heavy), 2000);
        add(
            list, "solve_spd", {a, b}, [](Vars x) { return solve_spd(gram(x[0]), x[1]); },
            naive(naive_gram), 2000);
        for (const bool lower : {true, false})
            for (const bool transposed : {true, false})
                add(
                    list,
                    std::string("triangular_solve") + (lower ? " lower" : " upper") +
                        (transposed ? " transposed" : ""),
                    {a, b},
                    [=](Vars x) { return triangular_solve(heavy(x[0]), x[1], lower, transposed); },
                    naive([=](const Matrix& m) {
                        Matrix t = naive_heavy(m);
                        for (size_t i = 0; i < t.size(); ++i)
                            for (size_t j = 0; j < t.size(); ++j)
                                if (lower ? j > i : j < i) t[i][j] = 0;
                        const Matrix kept = t;
                        for (size_t i = 0; transposed && i < t.size(); ++i)
                            for (size_t j = 0; j < t.size(); ++j) t[i][j] = kept[j][i];
                        return t;
                    }),
                    2000);
    }
}

}  // namespace

void add_linalg(std::vector<Case>& list, bool big) {
    if (big) {
        factorisations(list, {{{150, 150}}, {{9, 70, 70}, Layout::transposed}});
        eigenvalues(list, {{{70, 70}}, {{3, 41, 41}, Layout::transposed}});
        solves(list, {{{{131, 131}}, {{131, 300}}}, {{{4, 70, 70}}, {{4, 70, 3}}}});
        return;
    }
    factorisations(list, {{{1, 1}},
                          {{2, 2}},
                          {{3, 3}},
                          {{5, 5}, Layout::transposed},
                          {{2, 3, 3}},
                          {{8, 8}},
                          {{0, 3, 3}}});
    eigenvalues(list, {{{1, 1}}, {{2, 2}}, {{3, 3}}, {{2, 4, 4}}, {{5, 5}, Layout::transposed}});
    solves(list, {{{{1, 1}}, {{1, 1}}},
                  {{{3, 3}}, {{3, 2}}},
                  {{{4, 4}, Layout::transposed}, {{4, 1}}},
                  {{{2, 3, 3}}, {{2, 3, 2}}},
                  {{{3, 3}}, {{2, 3, 1}}},
                  {{{2, 3, 3}}, {{3, 2}}}});
}

}  // namespace cases
