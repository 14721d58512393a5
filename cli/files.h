// What the commands that write a report share.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mercer::cli {

/// Throws IoError, naming `option`, unless `file` can be written: better now than after the work.
void require_writable(const std::string& option, const std::filesystem::path& file);

/// Do both lead to one file, which need not exist yet? An empty path leads to none.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Where a report comes from: version, generated, command, machine.
nlohmann::json provenance(const std::string& command, double seconds);

}  // namespace mercer::cli
