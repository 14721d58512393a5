#include "engine/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace mercer::io {

void system_failure(std::string_view operation, std::string_view path, std::string_view doing,
                    int error) {
    const auto fix = [&]() -> std::string_view {
        switch (error) {
            case ENOENT: return "; check the path";
            case EACCES:
            case EPERM:
            case EROFS: return "; check the permissions";
            case ENOSPC:
            case EDQUOT: return "; make room on the disk";
            case EFBIG: return "; the system's limit on the size of a file is too low";
            case EMFILE:
            case ENFILE: return "; close some files, or raise the limit";
            default: return "";
        }
    }();
    std::string what(path);
    ((what += ": ") += doing) += ": ";
    (what += std::generic_category().message(error)) += fix;
    throw IoError(operation, what);
}

File::File(std::string operation, std::string name)
    : operation_(std::move(operation)), name_(std::move(name)) {}

std::shared_ptr<const File> File::open(std::string operation, const std::filesystem::path& path,
                                       bool map) {
    const std::shared_ptr<File> file(new File(std::move(operation), path.string()));
    const auto fail = [&](const char* doing) {
        system_failure(file->operation_, file->name_, doing, errno);
    };
    // O_NONBLOCK: to open a pipe must not wait for whoever writes into it.
    file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor_ < 0) fail("cannot be opened");
    struct stat status;
    if (::fstat(file->descriptor_, &status) != 0) fail("cannot be examined");
    if (!S_ISREG(status.st_mode))
        throw IoError(file->operation_, file->name_, " is not a regular file; give a file's path");
    file->size_ = uint64_t(status.st_size);
    if (map && file->size_) {
        // Private and writable: an in-place write to a tensor copies the page it touches.
        void* const pages = ::mmap(nullptr, file->size_, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_NORESERVE, file->descriptor_, 0);
        if (pages == MAP_FAILED) fail("cannot be mapped");
        file->data_ = static_cast<std::byte*>(pages);
        file->is_mapping_ = true;
    }
    return file;
}

std::shared_ptr<const File> File::view(std::string operation, std::span<const std::byte> bytes,
                                       std::string name) {
    const std::shared_ptr<File> file(new File(std::move(operation), std::move(name)));
    file->data_ = const_cast<std::byte*>(bytes.data());  // only read: it is no mapping
    file->size_ = bytes.size();
    return file;
}

File::~File() {
    if (is_mapping_) ::munmap(data_, size_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

void File::read(uint64_t offset, void* to, uint64_t bytes) const {
    const auto ends_early = [&](uint64_t at) {
        reject(Reject::truncated, "", at, "the file ends before ", bytes, " bytes from byte ",
               offset, "; it is incomplete, fetch it again");
    };
    if (offset > size_ || bytes > size_ - offset) ends_early(size_);
    if (!bytes) return;
    if (data_) {
        std::memcpy(to, data_ + offset, bytes);
        return;
    }
    char* out = static_cast<char*>(to);
    while (bytes) {
        const size_t part = size_t(std::min<uint64_t>(bytes, uint64_t{1} << 30));
        const ssize_t got = ::pread(descriptor_, out, part, off_t(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) system_failure(operation_, name_, "reading failed", errno);
        if (got == 0) ends_early(offset);  // it was shortened since it was opened
        out += got;
        offset += uint64_t(got);
        bytes -= uint64_t(got);
    }
}

}  // namespace mercer::io
