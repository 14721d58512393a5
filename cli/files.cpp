#include "cli/files.h"

#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/error.h"
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

void require_writable(const char* what, const char* option, const std::filesystem::path& file) {
    const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    if (access(parent.c_str(), W_OK) != 0 || std::filesystem::is_directory(file))
        throw IoError("demo", std::string(what) + " cannot be written to " + file.string() +
                                  "; name a file in a folder that exists and is writable with " +
                                  option);
}

nlohmann::json provenance(const std::string& command, double seconds) {
    return {
        {"version", MERCER_VERSION},
        {"generated", now()},
        {"command", command},
        {"machine", {{"isa", name_of(isa())}, {"threads", thread_count()}, {"seconds", seconds}}}};
}

void save_report(const std::filesystem::path& path, const nlohmann::json& data, Page page) {
    try {
        write_report(path, data, page);
    } catch (const Error&) {
        throw;
    } catch (const std::runtime_error& error) {
        throw IoError("demo", error.what());
    }
}

}  // namespace mercer::cli
