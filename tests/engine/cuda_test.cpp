// Pointwise formulas on the device against the CPU: values, first and second derivatives, bit for
// bit.
#include <doctest/doctest.h>

#include <iostream>

#include "engine/cuda/pointwise.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/registry.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

bool skipped() {
    if (cuda::device_count() > 0) return false;
    std::cout << "[skipped] "
              << (cuda::is_built() ? "no CUDA device on this machine" : "built without CUDA")
              << std::endl;
    return true;
}

std::vector<const Tensor*> refs(const std::vector<Tensor>& x) {
    std::vector<const Tensor*> out;
    for (const Tensor& t : x) out.push_back(&t);
    return out;
}

Tensor sample(const OperationInfo& info, uint64_t stream, DType dtype) {
    const Tensor z = randn(Key{5, stream}, {10007}, DType::f64);
    return cast(info.domain == "positive" ? abs(z) + 0.125 : z * 3.0, dtype);
}

}  // namespace

TEST_CASE("device and host give the same bits") {
    if (skipped()) return;
    for (const OperationInfo& info : operations()) {
        if (!info.pointwise) continue;
        for (DType dtype : {DType::f32, DType::f64}) {
            std::vector<Tensor> x, c;
            for (int k = 0; k < pointwise_arity(*info.pointwise); ++k) {
                x.push_back(sample(info, uint64_t(k), dtype));
                c.push_back(randn(Key{6, uint64_t(k)}, {10007}, dtype));
            }
            const Tensor g = randn(Key{7, 0}, {10007}, dtype),
                         y = pointwise(*info.pointwise, refs(x));
            CHECK_MESSAGE(difference(y, cuda::pointwise(info.name, x)) == "", info.name);
            const auto first = pointwise_backward(*info.pointwise, g, x, y, ~0u),
                       first_there = cuda::pointwise_backward(info.name, g, x, y);
            for (size_t k = 0; k < x.size(); ++k)
                CHECK_MESSAGE(difference(first[k], first_there[k]) == "", info.name, " backward ",
                              k);
            const auto second = pointwise_second(*info.pointwise, g, x, y, c, ~0u),
                       second_there = cuda::pointwise_second(info.name, g, x, y, c);
            for (size_t k = 0; k <= x.size(); ++k)
                CHECK_MESSAGE(difference(second[k], second_there[k]) == "", info.name, " second ",
                              k);
        }
    }
}

TEST_CASE("without a device every call is a clear error") {
    if (cuda::device_count() > 0) return;
    const Tensor x[] = {Tensor::ones({4})};
    CHECK_THROWS_AS(cuda::pointwise("exp", x), DeviceError);
}
