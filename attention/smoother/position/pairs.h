// Sinusoids come in pairs of one frequency: how pairs lie in a row, and their angles.
#pragma once

#include <cstdint>
#include <utility>

#include "autograd/var.h"

namespace mercer {

/// Where the two components of pair p stand in a row of width D.
enum class PairLayout : uint8_t {
    interleaved,  // 2p and 2p + 1
    halves,       // p and p + D/2
};

/// position/base^(p/steps) for p = 0 … pairs − 1: positions.shape() + [pairs], in f64. Positions are
/// of any dtype; f32 and f64 ones may stand on a tape. ValueError unless base > 0.
Var pair_angles(const char* operation, const Var& positions, int64_t pairs, double steps,
                double base);

/// The first and the second components of all pairs: x [..., D] to [..., D/2] each. ShapeError for
/// an odd D.
std::pair<Var, Var> split_pairs(const char* operation, const Var& x, PairLayout layout);
/// The inverse.
Var join_pairs(const Var& first, const Var& second, PairLayout layout);

}  // namespace mercer
