// Factorisations and solves: large ones, and many small ones.
#include "engine/ops/linalg.h"

#include <memory>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

Tensor heavy(const Shape& shape, DType dtype) {
    return randn(Key{1, 1}, shape, dtype) +
           Tensor::eye(shape.back(), -1, dtype) * double(2 * shape.back());
}
Tensor gram(const Shape& shape, DType dtype) {
    const Tensor x = randn(Key{1, 1}, shape, dtype);
    return matmul(x, transpose(x)) + Tensor::eye(shape.back(), -1, dtype) * double(shape.back());
}

template <class F>
void add(const std::string& name, double flops, const Shape& a, const Shape& b, bool definite, F f,
         const char* bound = "") {
    add_op(name, {.flops = flops, .bound = bound}, [=](DType dtype) {
        return [f, x = definite ? gram(a, dtype) : heavy(a, dtype),
                y = randn(Key{1, 2}, b, dtype)] { benchmark::DoNotOptimize(f(x, y)); };
    });
}

}  // namespace

void add_ops_linalg() {
    const double n = 1024, n3 = n * n * n, small = 4096 * 16.0 * 16 * 16;
    const Shape big{1024, 1024}, many{4096, 16, 16};
    const char* const waiting = "fma, in steps that wait for one another";
    const auto factor = [](const Tensor& a, const Tensor&) { return cholesky(a); };
    for (const Shape& shape : {big, Shape{2048, 2048}}) {
        const double order = double(shape[0]), flops = order * order * order / 3;
        const std::string size = std::to_string(shape[0]);
        const char* const bound = shape == big ? waiting : "";
        add("cholesky/" + size, flops, shape, {1}, true, factor, bound);
        add(
            "logdet/" + size, flops, shape, {1}, true,
            [](const Tensor& a, const Tensor&) { return logdet(a); }, bound);
    }
    add("cholesky/4096x16x16", small / 3, many, {1}, true, factor,
        "divisions and roots, one after the other");
    const Shape tiny{65536, 4, 4}, right{65536, 4, 1};
    const double t = 65536, t3 = t * 64;
    add("cholesky/65536x4x4", t3 / 3, tiny, {1}, true, factor,
        "turning matrices into lanes; divisions and roots");
    const char* const divisions = "turning matrices into lanes; divisions";
    add(
        "triangular_solve/65536x4x4", t * 16, tiny, right, false,
        [](const Tensor& a, const Tensor& b) { return triangular_solve(a, b); }, divisions);
    add(
        "solve/65536x4x4", 2 * t3 / 3 + 2 * t * 16, tiny, right, false,
        [](const Tensor& a, const Tensor& b) { return solve(a, b); }, divisions);
    add(
        "inverse/65536x4x4", 2 * t3, tiny, {1}, false,
        [](const Tensor& a, const Tensor&) { return inverse(a); }, divisions);
    add("triangular_solve/1024", n3, big, big, false,
        [](const Tensor& a, const Tensor& b) { return triangular_solve(a, b); });
    add("solve/1024", 2 * n3 / 3 + 2 * n3, big, big, false,
        [](const Tensor& a, const Tensor& b) { return solve(a, b); });
    add("solve_spd/1024", n3 / 3 + 2 * n3, big, big, true,
        [](const Tensor& a, const Tensor& b) { return solve_spd(a, b); });
    add(
        "inverse/1024", 2 * n3, big, {1}, false,
        [](const Tensor& a, const Tensor&) { return inverse(a); }, waiting);
    for (const auto& [a, b] : {std::pair{Shape{512, 512}, Shape{512, 1}},
                               std::pair{Shape{100, 64, 64}, Shape{100, 64, 64}}}) {
        const double order = double(a.back()), all = double(count(a)) * order;
        const auto tape = std::make_shared<Tape>();
        add(
            a.rank() == 2 ? "solve/512x1 fwdbwd" : "solve/100x64x64 fwdbwd",
            2 * all / 3 + 6 * double(count(b)) * order, a, b, false,
            [tape](const Tensor& x, const Tensor& y) {
                tape->reset();
                const Var v[] = {tape->watch(x), tape->watch(y)};
                return tape->gradient(solve(v[0], v[1]), v, {.cotangents = {y}});
            },
            waiting);
    }
    const auto eigen = [](const Tensor& a, const Tensor&) { return eigh(a).first; };
    for (const Shape& shape : {Shape{256, 256}, big, Shape{512, 64, 64}, many}) {
        const double order = double(shape.back()), count = double(mercer::count(shape));
        add("eigh/" + (shape.rank() == 3 ? std::to_string(shape[0]) + "x" : "") +
                std::to_string(shape.back()) +
                (shape.rank() == 3 ? "x" + std::to_string(shape.back()) : ""),
            9 * count * order, shape, {1}, true, eigen,
            "memory: a reflection meets the matrix before the next is known");
    }
    add_op("eigh/500 gradient of values", {.flops = 2 * 500.0 * 500 * 500}, [](DType dtype) {
        const auto tape = std::make_shared<Tape>();
        const Var x = tape->watch(gram({500, 500}, dtype)), values = eigh(x).first;
        return [tape, x, values, g = randn(Key{1, 2}, {500}, dtype)] {
            const Var wrt[] = {x};
            benchmark::DoNotOptimize(
                tape->gradient(values, wrt, {.retain = true, .cotangents = {g}}));
        };
    });
    add_op("diagonal/1024", {.bound = "a view"}, [](DType dtype) {
        return
            [x = randn(Key{1, 1}, {1024, 1024}, dtype)] { benchmark::DoNotOptimize(diagonal(x)); };
    });
}

}  // namespace mercer::bench
