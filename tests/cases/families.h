// The families that the list in tests/cases.h is made of.
#pragma once

#include "engine/error.h"
#include "tests/cases.h"

namespace cases {

using Vars = std::span<const Var>;
using Naives = std::span<const oracle::Naive>;

/// "matmul (2,3) (3,4) transposed"
std::string describe(const std::string& operation, const std::vector<Input>& inputs);

// A family is a file of this folder: void add_NAME(std::vector<Case>& list, bool big), where `big` asks for shapes of
// several blocks, chunks and threads. The build lists the files.
#define FAMILY(name) void add_##name(std::vector<Case>& list, bool big);
#include "tests/case_families.inc"
#undef FAMILY

}  // namespace cases
