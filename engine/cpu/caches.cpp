#include "engine/cpu/caches.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>

namespace mercer::cpu {
namespace {

int64_t number_of(const std::string& text) {
    char* end = nullptr;
    const int64_t n = std::strtoll(text.c_str(), &end, 10);
    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

Caches read_caches() {
    Caches found;
    for (int index = 0; index < 8; ++index) {
        const std::string at = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        const auto field = [&](const char* name) {
            std::string text;
            std::ifstream(at + name) >> text;
            return text;
        };
        const int64_t level = number_of(field("/level")), size = number_of(field("/size"));
        const std::string type = field("/type");
        if (level < 1 || type.empty() || type[0] == 'I') continue;
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
