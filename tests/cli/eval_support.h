// Inputs for the tests of `mercer eval`, and the program itself.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "attention/description/parts.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/io/safetensors.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/files.h"

namespace mercer::test {

inline constexpr int64_t batches = 2, heads = 2, queries = 6, keys = 6, width = 4, value_width = 3;

inline Tensor sample(uint64_t stream, const Shape& shape) {
    return randn(Key{90, stream}, shape, DType::f64);
}

// What cases name, and what the options by hand take.
struct Inputs {
    Tape tape;
    io::TensorMap tensors{
        {"q", sample(1, {batches, heads, queries, width})},
        {"k", sample(2, {batches, heads, keys, width})},
        {"v", sample(3, {batches, heads, keys, value_width})},
        {"g", sample(4, {batches, heads, queries, value_width})},
        {"gw", sample(5, {batches, heads, queries, keys})},
        {"h", Tensor::scalar(2.5, DType::f64)},
        {"t", Tensor::scalar(1.5, DType::f64)},
        {"alpha", Tensor::scalar(1.7, DType::f64)},
        {"w", sample(6, {width})},
        {"table", sample(11, {heads, 5, width})},
        {"values", sample(12, {5, value_width})},
        {"skewed", sample(13, {keys, width})},
        {"w_r", sample(14, {8, width})},
        {"u", sample(15, {heads, width})},
        {"v_r", sample(16, {width})},
        {"tq", sample(17, {queries, width})},
        {"tk", sample(18, {keys, width})},
        {"grid_rows", sample(19, {2, width})},
        {"grid_columns", sample(20, {3, width})},
        {"nodes", sample(23, {6, heads, width})},
        {"a_s", sample(24, {heads, width})},
        {"a_t", sample(25, {heads, width})},
        {"places", sample(22, {queries})},
        {"slopes", Tensor::from(std::vector<double>{0.5, 0.25})},
        {"w_t", sample(21, {width, width})},
        {"mask", greater(sample(7, {queries, keys}), -0.5)},
        {"mask4", greater(sample(8, {batches, heads, queries, keys}), -0.5)},
        {"lengths", Tensor::from(std::vector<int64_t>{5, 3})},
        {"offsets", Tensor::from(std::vector<int64_t>{0, 2, 6})},
        {"rows", Tensor::from(std::vector<int64_t>{0, 2, 3, 3, 5, 6, 8})},
        {"columns", Tensor::from(std::vector<int64_t>{0, 4, 1, 2, 3, 5, 0, 5})},
    };
    std::map<std::string, Var, std::less<>> vars;

    Inputs() {
        for (const auto& [name, x] : tensors)
            vars[name] = x.dtype() == DType::f64 ? tape.watch(x) : Var(x);
    }
    const Var& operator()(const std::string& name) const { return vars.at(name); }
    const Tensor& of(const std::string& name) const { return tensors.at(name); }
};

/// What the program makes of a specification and these inputs.
inline io::TensorMap evaluate(const Inputs& in, const std::string& spec) {
    const char* mercer = std::getenv("MERCER_PROGRAM");
    REQUIRE_MESSAGE(mercer, "MERCER_PROGRAM names the program");
    const TemporaryDirectory work;
    io::write_safetensors(work / "in.safetensors", in.tensors);
    put_file(work / "spec.json", spec);
    const std::string command = "cd '" + work.path().string() + "' && '" + mercer +
                                "' eval spec.json --in in.safetensors --out out.safetensors";
    REQUIRE(std::system(command.c_str()) == 0);
    return io::Safetensors::open(work / "out.safetensors").read_all();
}

}  // namespace mercer::test
