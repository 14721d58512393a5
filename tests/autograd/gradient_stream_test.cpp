// Gradients of several operands that are written past the caches, against the same ones that are not.
#include <doctest/doctest.h>

#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/restore.h"

using namespace mercer;

TEST_CASE("gradients past the caches have the bits of those that are not") {
    const Restore restore;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t columns : {1, 15, 16, 63, 64, 127, 128, 129, 144, 200, 384, 1000, 5003})
            for (const int64_t rows : {1, 3}) {
                CAPTURE(columns);
                CAPTURE(rows);
                // Dense, and as rows of a wider tensor: one run, or one each row.
                const Shape whole{rows, columns + (rows > 1 ? 16 : 0)};
                std::vector<Tensor> x;
                for (uint64_t i = 0; i < 3; ++i)
                    x.push_back(slice(randn(Key{9, i}, whole, dtype), 1, 0, columns));
                const Tensor u = randn(Key{9, 3}, {rows, columns}, dtype);
                const auto all = [&](int64_t above) {
                    cpu::set_streams_above(above);
                    Tape tape;
                    const Var a = tape.watch(x[0]), b = tape.watch(x[1]), c = tape.watch(x[2]);
                    return tape.gradient(lerp(a, b, c), {a, b, c}, {.cotangents = {u}});
                };
                for (const Isa isa : available_isas()) {
                    set_isa(isa);
                    CAPTURE(name_of(isa));
                    const auto expected = all(int64_t{1} << 40), g = all(-1);
                    for (size_t i = 0; i < 3; ++i) CHECK(difference(g[i], expected[i]) == "");
                }
            }
}
