#include "cli/files.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/io/atomic_file.h"
#include "engine/isa.h"
#include "engine/parallel.h"

namespace mercer::cli {
namespace {

std::string now() {
    const std::time_t t = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&t, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

}  // namespace

void require_writable(const std::string& option, const std::filesystem::path& file) {
    // Its temporary is made and taken away again: all that writing needs, but for the room.
    const io::AtomicFile probe(option, file);
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    if (a.empty() || b.empty()) return false;
    std::error_code error;
    if (std::filesystem::equivalent(a, b, error)) return true;
    const auto whole = [&](const std::filesystem::path& path) {
        // Made absolute first: of what does not exist the folder alone is resolved.
        const auto out = weakly_canonical(std::filesystem::absolute(path, error), error);
        return error ? path : out;
    };
    return whole(a) == whole(b);
}

nlohmann::json provenance(const std::string& command, double seconds) {
    return {
        {"version", MERCER_VERSION},
        {"generated", now()},
        {"command", command},
        {"machine", {{"isa", name_of(isa())}, {"threads", thread_count()}, {"seconds", seconds}}}};
}

}  // namespace mercer::cli
