// What the commands that write a report share.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/report/report.h"

namespace mercer::cli {

/// Throws IoError unless `file` can be written: better now than after the work.
void require_writable(const char* what, const char* option, const std::filesystem::path& file);

/// Where a report comes from: version, generated, command, machine.
nlohmann::json provenance(const std::string& command, double seconds);

/// write_report(), with IoError for what the system refuses.
void save_report(const std::filesystem::path& path, const nlohmann::json& data, Page page);

}  // namespace mercer::cli
