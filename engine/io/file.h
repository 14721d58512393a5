// A file that is read: by copy at any place, or as a mapping.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "engine/io/reject.h"

namespace mercer::io {

/// How tensors are read from a file.
struct ReadOptions {
    /// Tensors are the file's own pages, not copies: nothing is read before it is used. Writing into
    /// such a tensor changes this process's pages, never the file. A file on a network, or one that
    /// somebody shortens meanwhile, ends the process (SIGBUS) on use: hence off by default. Files
    /// that mercer writes are replaced, never shortened.
    bool map = false;
    /// Element types that tensors lack become the smallest that holds every value exactly: F16 → f32;
    /// U8, I8, I16, U16 → i32; U32 → i64. Off: an error that names the type.
    bool widen = false;
    /// Bounds on what is accepted. safetensors itself allows headers up to 100 million bytes; one of
    /// npy is never above 1 MiB.
    uint64_t max_header = 100'000'000;
    uint64_t max_tensors = uint64_t{1} << 20;
};

/// Immutable and thread-safe. Errors name `operation`, which whoever opens the file gives.
class MERCER_API File {
public:
    /// Throws IoError: not there, not readable, not a regular file.
    static std::shared_ptr<const File> open(std::string operation,
                                            const std::filesystem::path& path, bool map = false);
    /// Bytes that the caller keeps alive.
    static std::shared_ptr<const File> view(std::string operation, std::span<const std::byte> bytes,
                                            std::string name = "(memory)");
    ~File();
    File& operator=(File&&) = delete;  // neither copied nor moved

    uint64_t size() const { return size_; }
    /// Copies `bytes` from `offset` on. Throws Rejected (truncated) where the file ends before that,
    /// IoError.
    void read(uint64_t offset, void* to, uint64_t bytes) const;
    /// The private, writable mapping; nullptr unless opened with `map`.
    std::byte* mapping() const { return is_mapping_ ? data_ : nullptr; }

    template <class... Parts>
    [[noreturn]] void reject(Reject code, std::string_view field, uint64_t offset,
                             const Parts&... what) const {
        throw Rejected(code, operation_, name_, field, offset, shown(what...));
    }

private:
    File(std::string operation, std::string name);
    std::string operation_, name_;
    uint64_t size_ = 0;
    int descriptor_ = -1;
    std::byte* data_ = nullptr;
    bool is_mapping_ = false;
};

/// The IoError for a failed system call: "[operation] path: doing what: reason; fix".
[[noreturn]] MERCER_API void system_failure(std::string_view operation, std::string_view path,
                                            std::string_view doing, int error);

}  // namespace mercer::io
