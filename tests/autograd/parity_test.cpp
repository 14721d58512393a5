// The same bits on every instruction set, for any number of threads and whether results go past the caches, values and gradients; and a
// floating-point environment that no operation changes.
#include <doctest/doctest.h>

#include <limits>

#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/cases.h"
#include "tests/support/bits.h"
#include "tests/support/case_results.h"
#include "tests/support/float_control.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

void compare(const cases::Case& c, DType dtype, bool special, bool second_order) {
    const Restore restore;
    std::vector<Tensor> inputs = cases::make_inputs(c, dtype);
    if (special)
        for (Tensor& t : inputs) {
            const double inf = std::numeric_limits<double>::infinity();
            const std::vector<double> odd{
                0.0,    -0.0,   inf,   -inf,  std::numeric_limits<double>::quiet_NaN(),
                1e-310, -1e-42, 1e300, -3e38, 88.8,
                -103.5, 709.8,  0.5,   1e22,  3.5};
            std::vector<double> values;
            for (int64_t i = 0; i < t.count(); ++i)
                values.push_back(odd[size_t(i * 7 + 3) % odd.size()]);
            t = cast(Tensor::from(values, t.shape()), dtype);
        }
    set_isa(Isa::scalar);
    set_thread_count(1);
    const std::vector<Tensor> expected = results(c, inputs, second_order);
    for (Isa isa : available_isas())
        for (int threads : {1, 2}) {
            if (isa == Isa::scalar && threads == 1) continue;  // what the others are compared with
            set_isa(isa);
            set_thread_count(threads);
            cpu::set_streams_above(threads == 1 ? restore.streams_above : -1);
            const unsigned before = float_control();
            const std::vector<Tensor> got = results(c, inputs, second_order);
            CHECK_MESSAGE(float_control() == before, c.name,
                          " changed the floating-point control bits");
            for (size_t k = 0; k < got.size(); ++k) {
                const std::string text = difference(expected[k], got[k]);
                CHECK_MESSAGE(text.empty(), c.name, " ", name_of(dtype), special ? " special" : "",
                              " result ", k, " on ", name_of(isa), ", ", threads,
                              " threads: ", text);
            }
        }
}

}  // namespace

TEST_CASE("small cases, values and both orders of derivatives") {
    for (const cases::Case& c : cases::small())
        for (DType dtype : {DType::f32, DType::f64}) compare(c, dtype, false, true);
}

TEST_CASE("infinities, NaN, zeros of both signs and subnormals") {
    for (const cases::Case& c : cases::small())
        for (DType dtype : {DType::f32, DType::f64})
            if (c.special && !c.inputs.empty() &&
                (c.inputs[0].shape == Shape{33} || c.inputs[0].shape == Shape{3, 5}))
                compare(c, dtype, true, false);
}

TEST_CASE("large cases: several chunks, tiles and threads") {
    for (const cases::Case& c : cases::large())
        for (DType dtype : {DType::f32, DType::f64}) compare(c, dtype, false, false);
}

TEST_CASE("random numbers") {
    const Restore restore;
    for (DType dtype : {DType::f32, DType::f64}) {
        set_isa(Isa::scalar);
        set_thread_count(1);
        const Tensor u = uniform(Key{3, 1}, {70001}, dtype), z = randn(Key{3, 2}, {70001}, dtype);
        for (Isa isa : available_isas()) {
            set_isa(isa);
            set_thread_count(2);
            CHECK(difference(u, uniform(Key{3, 1}, {70001}, dtype)) == "");
            CHECK(difference(z, randn(Key{3, 2}, {70001}, dtype)) == "");
        }
    }
}
