// The table of operations: a case for every row of the list, named ops/<operation>/<what> <dtype>, with the
// floating-point operations and bytes that it cannot avoid. The share of the ceiling follows from the machine's FMA peak
// and copy bandwidth, measured in the same run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cases.h"

namespace mercer::bench {

struct Work {
    double flops = 0, bytes = 0;  // counted once: operands read, results written
    const char* bound = "";       // what bounds it, where neither flops nor bytes do
    double fixed = 0;             // bytes that are as many for f64: indices, masks
};

/// Registers ops/<name> for f32 and for f64. `make(dtype)` makes the operands once, before the clock starts, and gives
/// the work to time; bytes of `work` count 4-byte elements and are doubled for f64.
void add_op(const std::string& name, const Work& work,
            std::function<std::function<void()>(DType)> make);

/// Operations of the list for which no case was added.
std::vector<std::string> operations_without_case();

/// The elements that `f` reads and writes, as bytes of f32.
constexpr double elements(double n) { return 4 * n; }

// A family is a file of this folder: void add_ops_NAME(). The build lists the files.
#define FAMILY(name) void add_ops_##name();
#include "bench/op_families.inc"
#undef FAMILY

}  // namespace mercer::bench
