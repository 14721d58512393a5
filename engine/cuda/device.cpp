// Host side of the CUDA formulas: memory on the device, transfers, errors.
#include <cuda_runtime_api.h>

#include <vector>

#include "engine/cuda/device_block.h"
#include "engine/cuda/formulas.h"
#include "engine/cuda/pointwise.h"
#include "engine/error.h"

namespace mercer::cuda {
namespace {

const Formula& find(std::string_view name) {
    int n;
    const Formula* list = formulas(&n);
    for (int i = 0; i < n; ++i)
        if (list[i].name == name) return list[i];
    throw ValueError("cuda", "no pointwise operation is called '", name, "'");
}

// Moves operands there, runs, and moves `outputs` results back.
PointwiseGradients run(const Launch (&kernel)[2], std::span<const Tensor> in, size_t outputs,
                       const Tensor& like) {
    if (device_count() == 0) throw DeviceError("cuda", "no CUDA device is present");
    FormulaArgs args{};
    args.n = like.count();
    const size_t bytes = size_t(args.n) * size_of(like.dtype());
    std::vector<DeviceBlock> blocks;
    for (size_t k = 0; k < in.size(); ++k) {
        if (!in[k].defined()) continue;
        if (!(in[k].shape() == like.shape()) || in[k].dtype() != like.dtype())
            throw ShapeError("cuda", "operands differ: ", in[k].shape(), " and ", like.shape());
        const Tensor dense = in[k].contiguous();
        check(cudaMemcpy(blocks.emplace_back(bytes).data(), dense.raw(), bytes,
                         cudaMemcpyHostToDevice),
              "copy to the device");
        args.in[k] = blocks.back().data();
    }
    for (size_t k = 0; k < outputs; ++k) args.out[k] = blocks.emplace_back(bytes).data();
    kernel[like.dtype() == DType::f64](args);
    check(cudaGetLastError(), "kernel launch");
    PointwiseGradients out;
    for (size_t k = 0; k < outputs; ++k) {
        out[k] = Tensor::empty(like.shape(), like.dtype());
        check(cudaMemcpy(out[k].raw(), args.out[k], bytes, cudaMemcpyDeviceToHost),
              "copy from the device");
    }
    return out;
}

std::vector<Tensor> operands(const Tensor& g, std::span<const Tensor> x, const Tensor& y) {
    std::vector<Tensor> in{g};
    in.insert(in.end(), x.begin(), x.end());
    in.push_back(y);
    return in;
}

}  // namespace

int device_count() {
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}
bool is_built() { return true; }

Tensor pointwise(std::string_view op, std::span<const Tensor> x) {
    return run(find(op).forward, x, 1, x[0])[0];
}

PointwiseGradients pointwise_backward(std::string_view op, const Tensor& g,
                                      std::span<const Tensor> x, const Tensor& y) {
    return run(find(op).backward, operands(g, x, y), x.size(), g);
}

PointwiseGradients pointwise_second(std::string_view op, const Tensor& g, std::span<const Tensor> x,
                                    const Tensor& y, std::span<const Tensor> c) {
    std::vector<Tensor> in = operands(g, x, y);
    in.insert(in.end(), c.begin(), c.end());
    return run(find(op).second, in, 1 + x.size(), g);
}

}  // namespace mercer::cuda
