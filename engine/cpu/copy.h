// Copies between strided tensors, with conversion of dtype. Memory traffic: one read, one write.
#pragma once

#include "engine/cpu/copy_table.h"
#include "engine/tensor.h"

namespace mercer::cpu {

/// Planes of elements of `size` bytes, on this thread.
void copy_plane(int64_t size, void* to, const void* from, const Plane& p);

/// target[i] = source[i], any strides, same shape and dtype. Does not bump the version: for fresh
/// outputs.
void copy(const Tensor& target, const Tensor& source);

/// The same with conversion; float to integer saturates and NaN becomes 0, to bool is != 0.
void convert(const Tensor& target, const Tensor& source);

}  // namespace mercer::cpu
