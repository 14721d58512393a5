// Pointwise formulas and choices over rows shorter than a register, with operands that repeat: the bits of the same with
// every operand written out.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
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
