// Memory on the device, given back at the end, and errors of the CUDA runtime as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/error.h"

namespace mercer::cuda {

/// DeviceError, with what failed and the runtime's reason.
inline void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess)
        throw DeviceError("cuda", what, " failed: ", cudaGetErrorString(status));
}

class DeviceBlock {
public:
    explicit DeviceBlock(size_t bytes) {
        if (bytes) check(cudaMalloc(&data_, bytes), "cudaMalloc");
    }
    ~DeviceBlock() { cudaFree(data_); }
    DeviceBlock(DeviceBlock&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    DeviceBlock& operator=(DeviceBlock&&) = delete;
    void* data() const { return data_; }

private:
    void* data_ = nullptr;
};

}  // namespace mercer::cuda
