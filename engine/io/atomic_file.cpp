#include "engine/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "engine/io/file.h"

namespace mercer::io {
namespace {

constexpr size_t buffer_size = size_t{1} << 16;

std::string unique_suffix() {
    static std::atomic<unsigned> made{0};
    return "." + std::to_string(::getpid()) + "." + std::to_string(made++) + "." +
           std::to_string(std::random_device{}()) + ".tmp";
}

}  // namespace

void AtomicFile::fail(const char* doing) {
    system_failure(operation_, target_.string(), doing, errno);
}

AtomicFile::AtomicFile(std::string_view operation, const std::filesystem::path& target)
    : operation_(operation), target_(target) {
    buffer_.reserve(buffer_size);
    std::error_code error;
    if (std::filesystem::is_symlink(target_, error)) {
        const std::filesystem::path file = std::filesystem::canonical(target_, error);
        if (error) system_failure(operation_, target_.string(), "a broken link", error.value());
        target_ = file;
    }
    struct stat existing;
    const bool exists = ::stat(target_.c_str(), &existing) == 0;
    if (!exists && errno != ENOENT) fail("cannot be examined");
    if (exists && !S_ISREG(existing.st_mode))
        throw IoError(operation_, target_.string(),
                      " is not a regular file; give another path to write to");
    if (exists && ::access(target_.c_str(), W_OK) != 0) fail("must not be overwritten");
    // A name is at most 255 bytes; what is cut off only makes the temporary harder to recognise.
    const std::string name = target_.filename().string().substr(0, 180);
    // Mode 0666 less the umask, as any new file; O_EXCL: nobody else's file or link is followed.
    for (int attempt = 0; descriptor_ < 0; ++attempt) {
        temporary_ = target_.parent_path() / ("." + name + unique_suffix());
        descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0 && (errno != EEXIST || attempt == 100)) fail("cannot be created");
    }
    if (exists && ::fchmod(descriptor_, existing.st_mode & 0777) != 0) {
        const int reason = errno;
        ::close(descriptor_);
        ::unlink(temporary_.c_str());
        system_failure(operation_, target_.string(), "the mode cannot be kept", reason);
    }
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::put(const char* data, size_t bytes) {
    while (bytes) {
        const ssize_t done = ::write(descriptor_, data, std::min(bytes, size_t{1} << 30));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail("writing failed");
        data += done;
        bytes -= size_t(done);
    }
}

void AtomicFile::flush() {
    put(buffer_.data(), buffer_.size());
    buffer_.clear();
}

void AtomicFile::write(const void* data, size_t bytes) {
    const char* const from = static_cast<const char*>(data);
    if (buffer_.size() + bytes > buffer_size) flush();
    if (bytes >= buffer_size)
        put(from, bytes);
    else
        buffer_.insert(buffer_.end(), from, from + bytes);
}

void AtomicFile::commit() {
    flush();
    if (::fsync(descriptor_) != 0) fail("cannot be made durable");
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("closing failed");
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced");
    temporary_.clear();
    // The new name is durable once the directory is; some file systems cannot and say EINVAL.
    const std::filesystem::path parent = target_.parent_path();
    const int directory =
        ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        if (errno == EACCES) return;  // may be written to, not listed: no way to ask for it
        fail("was written, but its directory cannot be opened to make that durable");
    }
    const bool durable = ::fsync(directory) == 0 || errno == EINVAL;
    const int reason = errno;
    ::close(directory);
    errno = reason;
    if (!durable) fail("was written, but its directory cannot be made durable");
}

}  // namespace mercer::io
