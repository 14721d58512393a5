// All position schemes, and the choice of one.
#pragma once

#include <variant>

#include "attention/smoother/position/absolute.h"
#include "attention/smoother/position/alibi.h"
#include "attention/smoother/position/image.h"
#include "attention/smoother/position/lookup.h"
#include "attention/smoother/position/rotary.h"
#include "attention/smoother/position/symmetric.h"
#include "attention/smoother/position/transformer_xl.h"

namespace mercer {

/// q and k as they are.
struct NoPosition {};
inline Positioned place(const NoPosition&, const Var& q, const Var& k) { return {q, k}; }

using Position =
    std::variant<NoPosition, Absolute, TransformerXl, Lookup, Skew, Symmetric, Grid, Rotary, Alibi>;
inline Positioned place(const Position& position, const Var& q, const Var& k) {
    return std::visit([&](const auto& scheme) { return place(scheme, q, k); }, position);
}

}  // namespace mercer
