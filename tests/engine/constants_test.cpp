// Loads under an empty mask, from pages that nobody read: kernels' constants are on pages that are mapped.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "engine/cpu/constants.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

constexpr uintptr_t page = 4096;

/// Where the mapping that has this address begins and ends.
std::pair<uintptr_t, uintptr_t> mapping_of(uintptr_t address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        uintptr_t begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 &&
            begin <= address && address < end)
            return {begin, end};
    }
    return {0, 0};
}

}  // namespace

TEST_CASE("pages of constants are mapped where kernels select by masks") {
    if (!is_available(Isa::avx512) || !cpu::constants()[0]) {
        std::cout << "[skipped] needs AVX-512 on Linux\n";
        return;
    }
    const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pages < 0) {
        std::cout << "[skipped] the system does not list pages\n";
        return;
    }
    const Restore restore;  // asks for isa(), which maps if it is AVX-512
    if (isa() != Isa::avx512) set_isa(Isa::avx512);
    int missing = 0;
    for (const char* const one : cpu::constants()) {
        const auto at = reinterpret_cast<uintptr_t>(one);
        const auto [begin, end] = mapping_of(at);
        REQUIRE(begin < end);
        const uintptr_t around = cpu::around_constants,
                        first = std::max(begin, at - around) / page * page,
                        last = std::min(end, at + around);
        for (uintptr_t p = first; p < last; p += page) {
            uint64_t entry = 0;
            REQUIRE(pread(pages, &entry, sizeof entry, off_t(p / page * sizeof entry)) ==
                    sizeof entry);
            missing += !(entry >> 63);
        }
    }
    close(pages);
    if (cpu::map_constants())  // as was done, if the system can
        CHECK(missing == 0);
    else
        std::cout << "[skipped] the system does not map on request\n";
    for (const char* const one : cpu::constants())
        CHECK(*one == 'm');  // last, for it maps the page
}
