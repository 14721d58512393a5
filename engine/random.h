// Random numbers by Philox4x32-10 (Salmon et al. 2011): a function of key, stream and position, so
// the same values on any number of threads, instruction set or device. There is no global
// generator.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tensor.h"

namespace mercer {

/// The block cipher itself: four words from a 128-bit counter and a 64-bit key.
MERCER_API std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key);

/// Names a sequence of random numbers. Streams of one seed are independent; split() gives new ones
/// for parts of a program.
struct MERCER_API Key {
    uint64_t seed = 0, stream = 0;
    Key split(uint64_t part) const;
};

/// Uniform on [low, high): 24 (f32) or 53 (f64) random bits each. Element i depends on key and i
/// only. ValueError unless low < high, and both and their distance are in the dtype's range.
MERCER_API Tensor uniform(Key key, const Shape& shape, DType dtype = DType::f32, double low = 0,
                          double high = 1);
/// Standard normal, by Box–Muller over the library's own log, sin and cos.
MERCER_API Tensor randn(Key key, const Shape& shape, DType dtype = DType::f32);
/// 0 … n − 1 in random order (i64), by sorting n draws of 64 bits.
MERCER_API Tensor permutation(Key key, int64_t n);

}  // namespace mercer
