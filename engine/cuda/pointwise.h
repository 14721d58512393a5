// Pointwise formulas on the device: the same headers as on the CPU, compiled by nvcc, and the same
// bits. Tensors live in host memory here; each call moves its operands explicitly. Without
// MERCER_CUDA these functions exist and say so (absent.cpp).
#pragma once

#include <span>
#include <string_view>

#include "engine/ops/pointwise.h"

namespace mercer::cuda {

/// Devices that can run kernels; 0 without a driver or without MERCER_CUDA.
MERCER_API int device_count();

/// Whether the library was built with MERCER_CUDA.
MERCER_API bool is_built();

/// f, its cotangents and their derivatives, as engine/ops/pointwise.h has them, computed on device
/// 0. Operands are dense and of one shape and floating dtype; y and c may be undefined where the
/// formula does not need them. Throws DeviceError (no device, a failed call), ValueError (no such
/// operation).
MERCER_API Tensor pointwise(std::string_view op, std::span<const Tensor> x);
MERCER_API PointwiseGradients pointwise_backward(std::string_view op, const Tensor& g,
                                                 std::span<const Tensor> x, const Tensor& y);
MERCER_API PointwiseGradients pointwise_second(std::string_view op, const Tensor& g,
                                               std::span<const Tensor> x, const Tensor& y,
                                               std::span<const Tensor> c);

}  // namespace mercer::cuda
