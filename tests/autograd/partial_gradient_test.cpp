// The gradient in some operands while the others are constants, as data are when a model is trained: the same bits as
// when all are asked for.
#include <doctest/doctest.h>

#include <bit>

#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/cases.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

// Gradients of first order, by values and as recorded, in the operands of `watched`; undefined in the others.
std::vector<Tensor> gradients(const cases::Case& c, std::span<const Tensor> inputs,
                              uint32_t watched) {
    Tape tape;
    std::vector<Var> x, leaves;
    for (size_t i = 0; i < inputs.size(); ++i) {
        x.push_back(watched >> i & 1 ? tape.watch(inputs[i]) : Var(inputs[i]));
        if (watched >> i & 1) leaves.push_back(x.back());
    }
    std::vector<Tensor> out(2 * inputs.size());
    const Var y = c.f(x);
    if (y.is_constant()) return out;
    const Tensor u = randn(Key{7, 7}, y.shape(), y.dtype());
    const std::vector<Tensor> values =
        tape.gradient(y, leaves, {.retain = true, .cotangents = {u}});
    const std::vector<Var> recorded = tape.gradient(y, leaves, CreateGraph{{u}});
    for (size_t i = 0, leaf = 0; i < inputs.size(); ++i)
        if (watched >> i & 1) {
            out[2 * i] = values[leaf];
            out[2 * i + 1] = recorded[leaf++].value();
        }
    return out;
}

}  // namespace

TEST_CASE("an operand's gradient does not depend on whether the others have one") {
    size_t checked = 0;
    for (const cases::Case& c : cases::small()) {
        const size_t n = c.inputs.size();
        if (n < 2 || !c.differentiable) continue;
        const std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        const uint32_t all = (1u << n) - 1;
        const std::vector<Tensor> expected = gradients(c, inputs, all);
        // All choices of few operands; of many, those of one, and of all but one.
        for (uint32_t some = 1; some < all; ++some) {
            const int count = std::popcount(some);
            if (n > 3 && count > 1 && count + 1 < int(n)) continue;
            ++checked;
            const std::vector<Tensor> g = gradients(c, inputs, some);
            for (size_t i = 0; i < 2 * n; ++i)
                if (g[i].defined()) {
                    const std::string apart = difference(g[i], expected[i]);
                    CHECK_MESSAGE(apart.empty(), c.name, ": operand ", i / 2, " of ", some, ": ",
                                  apart);
                }
        }
    }
    MESSAGE(checked << " choices of operands");
    CHECK(checked > (MERCER_EMULATED ? 10 : 1000));
}

TEST_CASE("the gradient of eigenvalues alone is that beside eigenvectors whose cotangent is zero") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor a = randn(Key{1, 1}, {3, 17, 17}, dtype), g = randn(Key{1, 2}, {3, 17}, dtype);
        Tape tape;
        const Var x = tape.watch(a + transpose(a)), wrt[] = {x};
        const auto [values, vectors] = eigh(x);
        const Var both[] = {values, vectors};
        const Tensor alone = tape.gradient(values, wrt, {.retain = true, .cotangents = {g}})[0],
                     beside =
                         tape.gradient(std::span<const Var>(both), std::span<const Var>(wrt),
                                       {.cotangents = {g, Tensor::zeros({3, 17, 17}, dtype)}})[0];
        CHECK(difference(alone, beside) == "");
    }
}
