// The families that the list in tests/cases.h is made of.
#pragma once

#include "engine/error.h"
#include "tests/cases.h"

namespace cases {

using Vars = std::span<const Var>;
using Naives = std::span<const oracle::Naive>;

/// "matmul (2,3) (3,4) transposed"
std::string describe(const std::string& operation, const std::vector<Input>& inputs);

/// Every pointwise operation of the registry; `big` for several blocks and threads.
void add_pointwise(std::vector<Case>& list, bool big);
void add_layout(std::vector<Case>& list);
/// Every reduction over every set of axes.
void add_reductions(std::vector<Case>& list, const std::vector<Input>& shapes);
void add_softmax(std::vector<Case>& list, const std::vector<Input>& shapes);
void add_matmul(std::vector<Case>& list, const std::vector<std::pair<Input, Input>>& pairs);

}  // namespace cases
