// Pointwise formulas and choices over rows shorter than a register with operands that repeat, and of operands that lie
// across memory: the bits of the same with
// every operand written out.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/cpu/caches.h"
#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

Tensor whole(const Tensor& x, const Shape& shape) { return broadcast_to(x, shape).clone(); }

void check(const Shape& shape, const std::vector<Shape>& shapes, DType dtype) {
    const Tensor x = randn({1, 2}, shape, dtype);
    for (const Shape& s : shapes) {
        const Tensor y = randn({3, 4}, s, dtype), all = whole(y, shape),
                     mask = greater(y, Tensor::full({}, 0.0, dtype));
        const auto name = to_string(dtype, shape) + " with " + to_string(s);
        CHECK_MESSAGE(difference(x * y, x * all) == "", name);
        CHECK_MESSAGE(difference(y - x, all - x) == "", name);
        CHECK_MESSAGE(difference(where(mask, x, y), where(whole(mask, shape), x, all)) == "", name);
        CHECK_MESSAGE(difference(where(mask, y, x), where(whole(mask, shape), all, x)) == "", name);
        const auto gradient = [&](const Tensor& other) {  // of x
            Tape tape;
            const Var v = tape.watch(x);
            return tape.gradient(sum(v * v / Var(other)), {v})[0];
        };
        CHECK_MESSAGE(difference(gradient(y), gradient(all)) == "", name);
    }
}

}  // namespace

TEST_CASE("operands that repeat over short rows are as if written out") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t c : {2, 3, 4, 5, 7, 9, 15, 17, 40}) {
                check({1000, c}, {{c}, {1000, 1}, {1, 1}, {1000, c}}, dtype);
                check({3, 700, c}, {{c}, {700, 1}, {3, 1, c}, {3, 1, 1}, {3, 700, 1}}, dtype);
                // Blocks of few rows: one operand repeats them, along them, or both.
                check({500, 3, c}, {{c}, {3, 1}, {3, c}, {500, 1, c}, {500, 1, 1}, {500, 3, 1}},
                      dtype);
                // Blocks that begin as far apart as dense ones, of rows that lie elsewhere.
                const Tensor apart =
                                 slice(permute(randn({5, 6}, {3, 500, 3 * c}, dtype), {1, 0, 2}), 2,
                                       0, c),
                             first = randn({7, 8}, {500, 1, c}, dtype);
                CHECK(difference(apart - first, apart.clone() - first) == "");
                check({2, 77, 12, c}, {{12, c}, {77, 1, c}, {2, 1, 12, c}, {2, 77, 1, 1}}, dtype);
            }
    });
}

TEST_CASE("operands that lie across memory are as if written out") {
    const int64_t before = cpu::streams_above();
    const auto same = [](const Tensor& x, const Tensor& y) {  // any strides
        const Tensor a = x.clone(), b = y.clone();
        const auto name = to_string(x.dtype(), x.shape());
        CHECK_MESSAGE(difference(x + y, a + b) == "", name);
        CHECK_MESSAGE(difference(y - x, b - a) == "", name);
        CHECK_MESSAGE(difference(less(x, y), less(a, b)) == "", name);
        const Tensor mask = less(a, b),
                     turned = transpose(transpose(mask).clone());  // across, too
        CHECK_MESSAGE(difference(where(mask, y, x), where(mask, b, a)) == "", name);
        CHECK_MESSAGE(difference(where(turned, y, x), where(mask, b, a)) == "", name);
        if (!is_floating(x.dtype())) return;
        CHECK_MESSAGE(difference(exp(x), exp(a)) == "", name);
        const auto gradients = [](const Tensor& x, const Tensor& y) {
            Tape tape;
            const Var v = tape.watch(x), w = tape.watch(y);
            return tape.gradient(sum(tanh(v * w) * v), {v, w});
        };
        const auto strided = gradients(x, y), dense = gradients(a, b);
        for (size_t k = 0; k < 2; ++k)
            CHECK_MESSAGE(difference(strided[k].clone(), dense[k].clone()) == "", name);
    };
    for (const int64_t above : {int64_t{0}, int64_t{1} << 60}) {
        cpu::set_streams_above(above);
        on_every_isa([&] {
            for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
                const auto made = [&](uint64_t k, const Shape& shape) {
                    return cast(randn({k, k}, shape, DType::f64) * 100.0, dtype);
                };
                // Ends of bands and of tiles; an operand along memory, across, repeated.
                for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{130, 129},
                                                 {300, 67},
                                                 {200, 20},
                                                 {16, 1100},
                                                 {8, 5000}}) {
                    const Tensor across = transpose(made(1, {cols, rows}));
                    same(across, made(2, {rows, cols}));
                    same(across, transpose(made(3, {cols, rows})));
                    same(across, broadcast_to(made(4, {rows, 1}), {rows, cols}));
                    same(broadcast_to(made(5, {cols}), {rows, cols}), across);
                    same(flip(across, 0), flip(made(6, {rows, cols}), 1));
                    same(slice(transpose(made(7, {cols, 64})), 0, 3, 12),
                         slice(made(8, {9, 3 * cols}), 1, 0, 3 * cols, 3));
                }
                // Other axes than the last two, where rows of lines are not whole ones.
                for (const auto& axes : {std::array{2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}}) {
                    const Tensor across = permute(made(7, {20, 36, 44}), axes);
                    same(across, made(8, across.shape()));
                    same(made(9, across.shape()), across);
                }
            }
        });
    }
    cpu::set_streams_above(before);
}
