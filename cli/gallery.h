// `mercer demo smoothers`: one picture for each kernel, filter, position scheme and normaliser, all
// on the same small input, in one HTML file.
#pragma once

#include <filesystem>
#include <string>

namespace mercer::cli {

struct GalleryOptions {
    std::filesystem::path out = "mercer-smoothers.html";
    std::filesystem::path inputs;  // when given: where the tensors go, for `mercer eval`
    bool quiet = false;
    std::string command;  // as typed, for the page
};

/// Prints, last, the page's path.
void run_gallery(const GalleryOptions& options);

}  // namespace mercer::cli
