// gradcheck catches derivatives that are wrong: one mutation of each kind.
#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/record.h"
#include "engine/random.h"

using namespace mercer;

namespace {

// out = a·tanh(b), with a derivative that may be broken.
enum class Mutation { none, sign, dropped_term, exchanged_arguments, factor, second_order_only };

template <Mutation mutation>
struct Mutant {
    static constexpr const char* name = "mutant";
    struct Attrs {};
    static Tensor forward(const Attrs&, TensorRefs x) { return x[0] * tanh(x[1]); }
    static constexpr unsigned needs(unsigned) { return input_bit(0) | input_bit(1); }
    template <class X>
    static void vjp(Vjp<X>& c, const Attrs&) {
        const X a = c.in(0), b = c.in(1), t = tanh(b), slope = 1.0 - t * t;
        const X ga = c.g() * t, gb = c.g() * a * slope;
        switch (mutation) {
            case Mutation::none: return give(c, ga, gb);
            case Mutation::sign: return give(c, ga, -gb);
            case Mutation::dropped_term: return give(c, ga, c.g() * a);
            case Mutation::exchanged_arguments: return give(c, gb, ga);
            case Mutation::factor: return give(c, ga * (1 + 1e-5), gb);
            case Mutation::second_order_only:  // right values, but a term is cut off the graph
                if constexpr (std::is_same_v<X, Var>)
                    return give(c, ga, c.g() * a * slope.detach());
                return give(c, ga, gb);
        }
    }
    template <class X>
    static void give(Vjp<X>& c, const X& ga, const X& gb) {
        c.give(0, ga);
        c.give(1, gb);
    }
};

struct TransposedMatmul {
    static constexpr const char* name = "transposed_matmul";
    struct Attrs {};
    static Tensor forward(const Attrs&, TensorRefs x) { return matmul(x[0], x[1]); }
    static constexpr unsigned needs(unsigned) { return input_bit(0) | input_bit(1); }
    template <class X>
    static void vjp(Vjp<X>& c, const Attrs&) {
        c.give(0, matmul(c.g(), c.in(1)));  // right: the transpose of in(1)
        c.give(1, matmul(transpose(c.in(0)), c.g()));
    }
};

template <class Op>
GradcheckReport check() {
    const Tensor inputs[] = {randn(Key{1, 1}, {3, 3}, DType::f64),
                             randn(Key{1, 2}, {3, 3}, DType::f64)};
    return gradcheck([](std::span<const Var> x) { return record<Op>({}, {&x[0], &x[1]}); }, inputs);
}

}  // namespace

TEST_CASE("a right derivative passes") {
    CHECK_MESSAGE(check<Mutant<Mutation::none>>().ok, check<Mutant<Mutation::none>>().failure);
}

TEST_CASE("mutations are caught") {
    CHECK(!check<Mutant<Mutation::sign>>().ok);
    CHECK(!check<Mutant<Mutation::dropped_term>>().ok);
    CHECK(!check<Mutant<Mutation::exchanged_arguments>>().ok);
    CHECK(!check<Mutant<Mutation::factor>>().ok);
    CHECK(!check<TransposedMatmul>().ok);
    const GradcheckReport second = check<Mutant<Mutation::second_order_only>>();
    CHECK(!second.ok);
    CHECK(second.first_error < 1e-6);  // the first order is right
    CHECK(second.failure.find("second") == 0);
}

TEST_CASE("float32 is refused") {
    const Tensor x[] = {Tensor::ones({2})};
    CHECK_THROWS_AS(gradcheck([](std::span<const Var> v) { return exp(v[0]); }, x), DTypeError);
}
