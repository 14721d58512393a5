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

nlohmann::json provenance(const std::string& command, double seconds) {
    return {
        {"version", MERCER_VERSION},
        {"generated", now()},
        {"command", command},
        {"machine", {{"isa", name_of(isa())}, {"threads", thread_count()}, {"seconds", seconds}}}};
}

}  // namespace mercer::cli
