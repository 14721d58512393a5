// The one list of test cases: operation × shapes × layouts. It feeds values against the oracle,
// gradcheck, parity of instruction sets and threads, and the floating-point environment test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/support/naive.h"

namespace cases {

using mercer::DType;
using mercer::Shape;
using mercer::Tensor;
using mercer::Var;

enum class Layout { dense, transposed, stepped, reversed, expanded };
enum class Domain {
    any,
    positive,
    nonzero,      // away from 0, where a formula may have its kink
    unit,         // (0, 1), away from its ends, where stencils lose too much
    correlation,  // (−1, 1), likewise
    strong,       // (−1, 1), mostly near its ends
    beyond        // (1, ∞)
};

struct Input {
    Shape shape;
    Layout layout = Layout::dense;
    Domain domain = Domain::any;
};

struct Case {
    std::string name;
    std::vector<Input> inputs;
    std::function<Var(std::span<const Var>)> f;
    std::function<oracle::Naive(std::span<const oracle::Naive>)> expected;
    double slack = 8;  // tolerance of values, in units of eps · the largest expected entry
    bool structural = true;
    bool differentiable = true;  // false: no derivative is checked
    bool special = true;         // false: not tried with infinities and NaN
};

/// Random tensors of one dtype as the case asks for them; the same numbers (rounded) for every
/// dtype.
std::vector<Tensor> make_inputs(const Case& c, DType dtype, uint64_t seed = 1);

/// Small ones, for every check.
const std::vector<Case>& small();
/// Large ones, for parity of instruction sets and threads: several blocks, chunks and tiles.
const std::vector<Case>& large();

}  // namespace cases
