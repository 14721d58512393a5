// The engine's memory for a test program, in place of engine/memory.cpp (by the linker's --wrap): each block
// ends where a page begins that may not be touched, and is gone once it is given back. A kernel that reads
// or writes past a tensor's last element, or one that is dead, ends the program.
#include <cstddef>
#include <cstring>

#include "tests/support/edge.h"

namespace {

// What a Storage needs. Sizes are rounded up to it: the bytes between are watched for writes.
constexpr size_t alignment = 8;
constexpr unsigned char untouched = 0xA5;

size_t rounded(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

// mercer::memory::allocate(size_t) and release(void*, size_t).
extern "C" void* __wrap__ZN6mercer6memory8allocateEm(size_t bytes) {
    char* const block = take_before_edge(rounded(bytes)) - rounded(bytes);
    std::memset(block + bytes, untouched, rounded(bytes) - bytes);
    return block;
}

extern "C" void __wrap__ZN6mercer6memory7releaseEPvm(void* block, size_t bytes) noexcept {
    char *const begin = static_cast<char*>(block), *const end = begin + rounded(bytes);
    for (const char* p = begin + bytes; p != end; ++p)
        if (static_cast<unsigned char>(*p) != untouched) __builtin_trap();
    give_before_edge(end, rounded(bytes));
}
