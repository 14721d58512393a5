#include "engine/cpu/caches.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace mercer::cpu {
namespace {

// Not by a stream: its buffer would be more than the readers may take for a small file.
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
        // Of a larger one, as servers have, others hold the most part.
        if (level == 3 && size > 0) {
            found.l3 = std::clamp<int64_t>(size, 4 << 20, 32 << 20);
            found.last = std::max(found.l3, size);
        }
    }
    return found;
}

std::atomic<int64_t>& threshold() {
    static std::atomic<int64_t> bytes{caches().l3};
    return bytes;
}

}  // namespace

const Caches& caches() {
    static const Caches found = read_caches();
    return found;
}

bool streams(int64_t bytes) { return bytes > streams_above(); }
bool streams_between(int64_t bytes) {
    const int64_t above = streams_above();
    return bytes > (above == caches().l3 ? caches().last : above);
}
void set_streams_above(int64_t bytes) { threshold().store(bytes, std::memory_order_relaxed); }
int64_t streams_above() { return threshold().load(std::memory_order_relaxed); }

}  // namespace mercer::cpu
