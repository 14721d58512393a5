#include "engine/cpu/caches.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace mercer::cpu {
namespace {

int64_t read_number(const char* path, char* text, size_t size) {
    std::FILE* file = std::fopen(path, "r");
    if (!file) return -1;
    const bool read = std::fgets(text, int(size), file) != nullptr;
    std::fclose(file);
    if (!read) return -1;
    char* end = nullptr;
    const int64_t n = std::strtoll(text, &end, 10);
    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

Caches read_caches() {
    Caches found;
    for (int index = 0; index < 8; ++index) {
        char path[96], text[64];
        const auto field = [&](const char* name) {
            std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                          name);
            return read_number(path, text, sizeof text);
        };
        const int64_t level = field("level"), size = field("size");
        if (level < 1 || field("type") < 0 || text[0] == 'I') continue;
        if (level == 1 && size > 0) found.l1 = std::clamp<int64_t>(size, 16 << 10, 256 << 10);
        if (level == 2 && size > 0) found.l2 = std::clamp<int64_t>(size, 128 << 10, 8 << 20);
    }
    return found;
}

}  // namespace

const Caches& caches() {
    static const Caches found = read_caches();
    return found;
}

}  // namespace mercer::cpu
