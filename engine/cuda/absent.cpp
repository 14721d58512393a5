// The CUDA functions of a library built without it.
#include "engine/cuda/pointwise.h"
#include "engine/error.h"

namespace mercer::cuda {
namespace {
[[noreturn]] void absent() {
    throw DeviceError("cuda",
                      "this library was built without CUDA; configure with -DMERCER_CUDA=ON");
}
}  // namespace

int device_count() { return 0; }
bool is_built() { return false; }
Tensor pointwise(std::string_view, std::span<const Tensor>) { absent(); }
PointwiseGradients pointwise_backward(std::string_view, const Tensor&, std::span<const Tensor>,
                                      const Tensor&) {
    absent();
}
PointwiseGradients pointwise_second(std::string_view, const Tensor&, std::span<const Tensor>,
                                    const Tensor&, std::span<const Tensor>) {
    absent();
}

}  // namespace mercer::cuda
