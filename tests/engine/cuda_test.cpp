// Pointwise formulas on the device against the CPU: values, first and second derivatives, bit for
// bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "engine/cpu/pointwise.h"
#include "engine/cuda/pointwise.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/registry.h"
#include "engine/random.h"
#include "tests/cases.h"
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

const std::vector<DType> floating{DType::f32, DType::f64};

std::vector<const OperationInfo*> formulas() {
    std::vector<const OperationInfo*> out;
    for (const OperationInfo& info : operations())
        if (info.pointwise) out.push_back(&info);
    return out;
}

/// Values, cotangents and their derivatives at x, of one shape.
void same_bits(const OperationInfo& info, const std::vector<Tensor>& x) {
    const Shape& shape = x[0].shape();
    const DType dtype = x[0].dtype();
    const auto at = [&](const char* what, size_t k, const Tensor& here, const Tensor& there) {
        CHECK_MESSAGE(difference(here, there) == "", info.name, " ", name_of(dtype), what, k);
    };
    std::vector<Tensor> c;
    for (size_t k = 0; k < x.size(); ++k) c.push_back(randn(Key{6, k}, shape, dtype));
    const Tensor g = randn(Key{7, 0}, shape, dtype), y = pointwise(*info.pointwise, refs(x));
    at(" value ", 0, y, cuda::pointwise(info.name, x));
    const auto first = pointwise_backward(*info.pointwise, g, x, y, ~0u),
               first_there = cuda::pointwise_backward(info.name, g, x, y);
    for (size_t k = 0; k < x.size(); ++k) at(" backward ", k, first[k], first_there[k]);
    const auto second = pointwise_second(*info.pointwise, g, x, y, c, ~0u),
               second_there = cuda::pointwise_second(info.name, g, x, y, c);
    for (size_t k = 0; k <= x.size(); ++k) at(" second ", k, second[k], second_there[k]);
}

/// Where formulas change their ways: zeros, subnormals, neighbours of 1, huge angles, the ends.
template <class T>
std::vector<T> edges() {
    using L = std::numeric_limits<T>;
    std::vector<T> out{L::quiet_NaN()};
    for (const T x : {T(0),         L::denorm_min(),  L::min() / 2, L::min(),
                      L::epsilon(), T(0.1),           T(0.5),       1 - L::epsilon() / 2,
                      T(1),         1 + L::epsilon(), T(1.5),       T(3),
                      T(10),        T(88.7),          T(709.5),     T(1e5),
                      T(1e22),      L::max() / 2,     L::max(),     L::infinity()})
        out.insert(out.end(), {x, -x});
    return out;
}

/// Operand k of all combinations of `arity` edges.
template <class T>
Tensor combination(int k, int arity) {
    const std::vector<T> e = edges<T>();
    int64_t n = 1, repeat = 1;
    for (int i = 0; i < arity; ++i) n *= int64_t(e.size());
    for (int i = 0; i < k; ++i) repeat *= int64_t(e.size());
    std::vector<T> out;
    for (int64_t i = 0; i < n; ++i) out.push_back(e[size_t(i / repeat) % e.size()]);
    return Tensor::from(out, {n});
}

}  // namespace

TEST_CASE("device and host give the same bits where the operations are tested") {
    if (skipped()) return;
    for (const OperationInfo* info : formulas())
        for (const cases::Case& c : cases::large()) {
            if (!c.name.starts_with(std::string(info->name) + " ")) continue;
            for (DType dtype : floating) {
                std::vector<Tensor> x = cases::make_inputs(c, dtype);
                for (Tensor& t : x) t = broadcast_to(t, c.inputs[0].shape).contiguous();
                same_bits(*info, x);
            }
        }
}

TEST_CASE("device and host give the same bits at the ends of the range") {
    if (skipped()) return;
    for (const OperationInfo* info : formulas())
        for (DType dtype : floating)
            visit_floating(dtype, [&]<class T>(T) {
                const int arity = info->pointwise->kernels().arity;
                std::vector<Tensor> x;
                for (int k = 0; k < arity; ++k) x.push_back(combination<T>(k, arity));
                same_bits(*info, x);
            });
}

// MERCER_CUDA_STRIDE=97 takes 44 million floats and, beside an H200, 76 s; 1 all of them.
TEST_CASE("device and host give the same bits at floats from everywhere") {
    if (skipped()) return;
    const char* asked = std::getenv("MERCER_CUDA_STRIDE");
    const uint64_t stride = asked ? std::max(1ull, std::stoull(asked)) : 9973, block = 1 << 22;
    for (const OperationInfo* info : formulas()) {
        if (info->pointwise->kernels().arity != 1) continue;
        for (uint64_t start = 0; start < uint64_t(1) << 32; start += stride * block) {
            std::vector<float> x;
            for (uint64_t i = start; i < uint64_t(1) << 32 && x.size() < block; i += stride)
                x.push_back(std::bit_cast<float>(uint32_t(i)));
            same_bits(*info, {Tensor::from(x, {int64_t(x.size())})});
        }
    }
}

TEST_CASE("without a device every call is a clear error") {
    if (cuda::device_count() > 0) return;
    const Tensor x[] = {Tensor::ones({4})};
    CHECK_THROWS_AS(cuda::pointwise("exp", x), DeviceError);
}
