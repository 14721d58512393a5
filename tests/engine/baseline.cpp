// A map in ordinary files of one program, compiled with and without AVX2: each runs its own copy of the formulas.
#include <doctest/doctest.h>

#include "engine/functions.h"
#include "engine/isa.h"
#include "tests/support/bits.h"

mercer::Tensor gelu_plain(const mercer::Tensor& x);
mercer::Tensor gelu_wide(const mercer::Tensor& x);

TEST_CASE("files of one program may have different flags") {
    if (!mercer::is_available(mercer::Isa::avx2)) return;
    for (mercer::DType dtype : {mercer::DType::f32, mercer::DType::f64}) {
        const mercer::Tensor x = mercer::Tensor::linspace(-9, 9, 1001, dtype), y = gelu(x);
        CHECK(difference(gelu_plain(x), y) == "");
        CHECK(difference(gelu_wide(x), y) == "");
    }
}
