// The engine's memory for a test program, in place of engine/memory.cpp (by the linker's --wrap): each block
// ends where a page begins that may not be touched, and is gone once it is given back. A kernel that reads
// or writes past a tensor's last element, or one that is dead, ends the program.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace {
// What a Storage needs. Sizes are rounded up to it: the bytes between are watched for writes.
constexpr size_t alignment = 8;
constexpr unsigned char untouched = 0xA5;

struct Pages {
    size_t page = size_t(sysconf(_SC_PAGESIZE)), bytes, rounded, whole;
    explicit Pages(size_t asked)
        : bytes(asked),
          rounded((asked + alignment - 1) / alignment * alignment),
          whole((rounded + page - 1) / page * page) {}
};
}  // namespace

// mercer::memory::allocate(size_t) and release(void*, size_t).
extern "C" void* __wrap__ZN6mercer6memory8allocateEm(size_t bytes) {
    const Pages p(bytes);
    void* const all =
        mmap(nullptr, p.whole + p.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    char* const end = static_cast<char*>(all) + p.whole;
    if (mprotect(end, p.page, PROT_NONE) != 0) throw std::bad_alloc();
    std::memset(end - p.rounded + p.bytes, untouched, p.rounded - p.bytes);
    return end - p.rounded;
}

extern "C" void __wrap__ZN6mercer6memory7releaseEPvm(void* block, size_t bytes) noexcept {
    const Pages p(bytes);
    char* const end = static_cast<char*>(block) + p.rounded;
    for (const char* q = end - p.rounded + p.bytes; q != end; ++q)
        if (static_cast<unsigned char>(*q) != untouched) __builtin_trap();
    munmap(end - p.whole, p.whole + p.page);
}
