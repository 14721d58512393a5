// mercer eval: value and gradients of any operation, from tensors in a file to tensors in a file.
#pragma once

#include <filesystem>

namespace mercer::cli {

struct EvalOptions {
    std::filesystem::path spec, in, out;
};

/// Runs the entry, or the entries, of the specification and writes what they name. Throws for a faulty single entry;
/// of a list, says what is wrong with each faulty entry on stderr, runs the others, and returns `failure`.
int run_eval(const EvalOptions& options);

}  // namespace mercer::cli
