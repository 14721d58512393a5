#include "autograd/derivatives.h"

#include "autograd/functions.h"
#include "autograd/require.h"
#include "autograd/tape.h"
#include "engine/error.h"

namespace mercer {
namespace {

// f at x, recorded.
struct Recording {
    Tape tape;
    std::vector<Var> x;
    Var y;

    Recording(VarFunction f, std::span<const Tensor> at) {
        for (const Tensor& t : at) x.push_back(tape.watch(t));
        y = f(x);
    }
    Recording(const char* operation, VarFunction f, std::span<const Tensor> at) : Recording(f, at) {
        if (y.count() != 1)
            throw ShapeError(operation, "needs a function of one element, this one gives ",
                             y.shape(), "; sum it, or use jacobian()");
    }
};

void require_tangents(const char* operation, std::span<const Tensor> x, std::span<const Tensor> v) {
    if (x.size() != v.size())
        throw ShapeError(operation, v.size(), " directions for ", x.size(), " inputs");
    for (size_t i = 0; i < x.size(); ++i)
        require_like(operation, "a direction", x[i].shape(), x[i].dtype(), v[i]);
}

Var inner(std::span<const Var> a, std::span<const Tensor> b) {
    Var total = sum(a[0] * b[0]);
    for (size_t i = 1; i < a.size(); ++i) total = total + sum(a[i] * b[i]);
    return total;
}

Shape joined(const char* operation, const Shape& a, const Shape& b) {
    if (a.rank() + b.rank() > Shape::max_rank)
        throw ShapeError(operation, "the result ", a, " by ", b, " has more than ", Shape::max_rank,
                         " axes; flatten the input");
    return mercer::joined(a, b);
}

// The rows of dy/dx, for each x: a backward pass with each unit cotangent.
std::vector<Tensor> rows(const char* operation, Tape& tape, const Var& y, std::span<const Var> x) {
    std::vector<Tensor> out, flat;
    const int64_t n = y.count();
    for (const Var& v : x) {
        out.push_back(Tensor::zeros(joined(operation, y.shape(), v.shape()), v.dtype()));
        flat.push_back(out.back().view({n, v.count()}, {v.count(), 1}, 0));
    }
    if (y.is_constant()) return out;
    for (int64_t i = 0; i < n; ++i) {
        Tensor unit = Tensor::zeros(y.shape(), y.dtype());
        unit.view({1}, {1}, i).fill(1);
        const std::vector<Tensor> row = tape.gradient(y, x, {.retain = true, .cotangents = {unit}});
        for (size_t k = 0; k < x.size(); ++k) {
            Tensor to = flat[k].view({x[k].count()}, {1}, i * x[k].count());
            reshape(row[k], {x[k].count()}).copy_to(to);
        }
    }
    return out;
}

auto of_span(VarUnary f) {
    return [f](std::span<const Var> x) { return f(x[0]); };
}

}  // namespace

Jvp jvp(VarFunction f, std::span<const Tensor> x, std::span<const Tensor> v) {
    require_tangents("jvp", x, v);
    Recording r(f, x);
    const Tensor none = Tensor::zeros(r.y.shape(), r.y.dtype());
    if (r.y.is_constant()) return {r.y.value(), none};
    const Var u = r.tape.watch(Tensor::ones(r.y.shape(), r.y.dtype()));
    const Var along = inner(r.tape.gradient(r.y, r.x, CreateGraph{{u}}), v);
    if (along.is_constant()) return {r.y.value(), none};
    return {r.y.value(), r.tape.gradient(along, {u})[0]};
}
Jvp jvp(VarUnary f, const Tensor& x, const Tensor& v) {
    return jvp(of_span(f), std::span(&x, 1), std::span(&v, 1));
}

std::vector<Tensor> hvp(VarFunction f, std::span<const Tensor> x, std::span<const Tensor> v) {
    require_tangents("hvp", x, v);
    Recording r("hvp", f, x);
    std::vector<Tensor> zeros;
    for (const Tensor& t : x) zeros.push_back(Tensor::zeros(t.shape(), t.dtype()));
    if (r.y.is_constant()) return zeros;
    const Var along = inner(r.tape.gradient(r.y, r.x, create_graph), v);
    return along.is_constant() ? zeros : r.tape.gradient(along, r.x);
}
Tensor hvp(VarUnary f, const Tensor& x, const Tensor& v) {
    return hvp(of_span(f), std::span(&x, 1), std::span(&v, 1))[0];
}

std::vector<Tensor> jacobian(VarFunction f, std::span<const Tensor> x) {
    Recording r(f, x);
    return rows("jacobian", r.tape, r.y, r.x);
}
Tensor jacobian(VarUnary f, const Tensor& x) { return jacobian(of_span(f), std::span(&x, 1))[0]; }

std::vector<Tensor> hessian(VarFunction f, std::span<const Tensor> x) {
    Recording r("hessian", f, x);
    std::vector<Var> g;
    if (r.y.is_constant())
        for (const Tensor& t : x) g.push_back(Var(Tensor::zeros(t.shape(), t.dtype())));
    else
        g = r.tape.gradient(r.y, r.x, create_graph);
    std::vector<Tensor> out;
    for (const Var& row : g)
        for (Tensor& block : rows("hessian", r.tape, row, r.x)) out.push_back(std::move(block));
    return out;
}
Tensor hessian(VarUnary f, const Tensor& x) { return hessian(of_span(f), std::span(&x, 1))[0]; }

}  // namespace mercer
