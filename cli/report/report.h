// The HTML pages of `mercer demo`: self-contained files that ask the network for nothing.
// The shape of the data is laid down in cli/report/README.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace mercer::cli {

enum class Page { report, gallery };

/// The page's HTML for `data`. Numbers are kept to seven significant digits.
/// Throws std::runtime_error where `data` is not an object.
std::string render_report(const nlohmann::json& data, Page page = Page::report);

/// Renders `data` into `path`, whole or not at all. Throws IoError naming the path and the reason.
void write_report(const std::filesystem::path& path, const nlohmann::json& data,
                  Page page = Page::report);

/// The least s with heads × ⌈n/s⌉ × ⌈n/s⌉ ≤ `max_cells`, as far as there is one.
std::size_t attention_stride(std::size_t heads, std::size_t n, std::size_t max_cells = 450'000);

/// The `attention` entry of a model: `weights` holds, for each head, n rows of n weights
/// (heads × n × n; row i: what observation i looks at). With s = attention_stride, every s-th row is
/// kept and s neighbouring columns are summed; `weights` may hold the rows that are kept alone.
/// Throws std::runtime_error where the sizes disagree or a weight is negative or not finite.
nlohmann::json pack_attention(std::span<const float> weights, std::size_t heads, std::size_t n,
                              const std::vector<std::string>& head_names,
                              std::size_t max_cells = 450'000);

}  // namespace mercer::cli
