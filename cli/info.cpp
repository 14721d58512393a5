#include "cli/info.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/isa.h"
#include "engine/memory.h"
#include "engine/parallel.h"

namespace mercer::cli {
namespace {

void line(const char* what, const std::string& value) {
    std::printf("%-20s %s\n", what, value.c_str());
}

std::string bytes(long n) {
    if (n <= 0) return "unknown";
    const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = double(n);
    int unit = 0;
    for (; size >= 1024 && unit < 4; ++unit) size /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, size < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", size,
                  units[unit]);
    return text;
}

}  // namespace

void print_info() {
    std::string available;
    for (const Isa isa : available_isas())
        available += (available.empty() ? "" : ", ") + std::string(name_of(isa));
    const long page = sysconf(_SC_PAGESIZE);
    line("version", MERCER_VERSION);
    line("instruction set", std::string(name_of(isa())));
    line("available", available);
    line("threads", std::to_string(thread_count()) + " of " +
                        std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " CPUs");
#ifdef _SC_LEVEL1_DCACHE_SIZE
    line("cache, level 1", bytes(sysconf(_SC_LEVEL1_DCACHE_SIZE)));
    line("cache, level 2", bytes(sysconf(_SC_LEVEL2_CACHE_SIZE)));
    line("cache, level 3", bytes(sysconf(_SC_LEVEL3_CACHE_SIZE)));
#endif
    line("memory", bytes(sysconf(_SC_PHYS_PAGES) * page) + ", " +
                       bytes(sysconf(_SC_AVPHYS_PAGES) * page) + " free");
    const size_t limit = memory_stats().limit;
    line("memory limit", limit == 0 ? "none" : bytes(long(limit)));
    line("cuda", MERCER_HAS_CUDA ? "built in" : "not built in");
    line("compiler", __VERSION__);
    line("build", *MERCER_BUILD_TYPE != '\0' ? MERCER_BUILD_TYPE : "unnamed");
}

}  // namespace mercer::cli
