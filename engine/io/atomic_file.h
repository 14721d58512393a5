// A file that is written whole or not at all: whoever reads the path sees the old bytes or the new
// ones, also after a crash or a power cut.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export.h"

namespace mercer::io {

/// The bytes go to a temporary file beside the target (same directory, hence same file system);
/// commit() makes them durable and renames it. An existing target keeps its mode and, where the path
/// is a symbolic link, the link; a read-only one is refused. Without commit() the target is untouched
/// and the temporary is removed; a killed process can leave the temporary, ".NAME.….tmp", behind.
/// Every function throws IoError.
class MERCER_API AtomicFile {
public:
    /// `operation` is named in errors.
    AtomicFile(std::string_view operation, const std::filesystem::path& target);
    ~AtomicFile();
    AtomicFile& operator=(AtomicFile&&) = delete;  // neither copied nor moved

    void write(const void* data, size_t bytes);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// fsync, rename, fsync of the directory.
    void commit();

private:
    void flush();
    void put(const char* data, size_t bytes);
    [[noreturn]] void fail(const char* doing);

    std::string operation_;
    std::filesystem::path target_, temporary_;
    std::vector<char> buffer_;
    int descriptor_ = -1;
};

}  // namespace mercer::io
