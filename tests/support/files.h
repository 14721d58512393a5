// Small files for tests: a directory that goes away, bytes in and out, what a call refuses.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "engine/io/reject.h"
#include "engine/tensor.h"
#include "tests/support/message.h"

namespace mercer::test {

class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "mercer-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path_ = name;
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }
    size_t files() const {
        return size_t(std::distance(std::filesystem::directory_iterator(path_), {}));
    }

private:
    std::filesystem::path path_;
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

inline void put_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string file_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The code, the message; "accepted" when nothing was thrown.
struct Refusal {
    std::string code = "accepted", message;
    uint64_t offset = 0;
};
template <class F>
Refusal refusal(F&& call) {
    try {
        call();
    } catch (const io::Rejected& error) {
        return {std::string(name_of(error.code())), error.what(), error.offset()};
    }
    return {};
}

inline bool has(const std::string& text, const std::string& part) {
    INFO(text, " should hold ", part);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

/// Same type, shape and bytes, in whatever layout.
inline bool same(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
    const Tensor x = a.contiguous(), y = b.contiguous();
    return a.count() == 0 ||
           std::memcmp(x.raw(), y.raw(), size_t(a.count()) * size_of(a.dtype())) == 0;
}

}  // namespace mercer::test
