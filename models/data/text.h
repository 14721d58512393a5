// Text from outside: reading a file whole, and showing what it holds without obeying it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/export.h"

namespace mercer {

/// All bytes of a file or a pipe. IoError names `operation` and the path.
MERCER_API std::string read_text(std::string_view operation, const std::filesystem::path& path);

/// For a terminal: control characters and what is no UTF-8 as \xNN, so that no byte of a file moves a
/// cursor or ends a message.
MERCER_API std::string printable(std::string_view text);

}  // namespace mercer
