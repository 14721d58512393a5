#include "tests/fuzz/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "engine/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define MERCER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MERCER_ASAN 1
#endif
#endif
#ifdef MERCER_ASAN
// From <sanitizer/allocator_interface.h>, which not every compiler installs.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             size_t),
                                                         void (*free_hook)(const volatile void*));
#endif

namespace mercer::test {
namespace {

thread_local bool watching = false;
thread_local int64_t live = 0;
thread_local Allocations seen;

void came(void* block, size_t asked) {
    if (!watching || !block) return;
    live += int64_t(malloc_usable_size(block));
    seen.largest = std::max(seen.largest, asked);
    seen.peak = std::max(seen.peak, size_t(std::max<int64_t>(live, 0)));
}
void goes(void* block) {
    if (watching && block) live -= int64_t(malloc_usable_size(block));
}

// The tensors' memory. Cached blocks would hide what is asked for, so they are given back each time.
void* take(size_t bytes, void*) {
    void* const block = std::aligned_alloc(64, bytes);
#ifndef MERCER_ASAN
    came(block, bytes);
#endif
    return block;
}
void give(void* block, size_t, void*) {
#ifndef MERCER_ASAN
    goes(block);
#endif
    std::free(block);
}

bool install() {
    set_host_allocator({take, give, nullptr});
#ifdef MERCER_ASAN
    __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void* block, size_t bytes) { came(const_cast<void*>(block), bytes); },
        [](const volatile void* block) { goes(const_cast<void*>(block)); });
#endif
    return true;
}

}  // namespace

void watch_allocations() {
    static const bool installed = install();
    (void)installed;
    release_cached_memory();
    seen = {};
    live = 0;
    watching = true;
}

Allocations allocations_so_far() { return seen; }

Allocations stop_watching() {
    watching = false;
    return seen;
}

#ifndef MERCER_ASAN
namespace {
void* allocate(size_t bytes) {
    void* const block = std::malloc(bytes ? bytes : 1);
    if (!block) throw std::bad_alloc();
    came(block, bytes);
    return block;
}
void release(void* block) {
    goes(block);
    std::free(block);
}
}  // namespace
#endif

}  // namespace mercer::test

#ifndef MERCER_ASAN
void* operator new(size_t bytes) { return mercer::test::allocate(bytes); }
void* operator new[](size_t bytes) { return mercer::test::allocate(bytes); }
void operator delete(void* block) noexcept { mercer::test::release(block); }
void operator delete[](void* block) noexcept { mercer::test::release(block); }
void operator delete(void* block, size_t) noexcept { mercer::test::release(block); }
void operator delete[](void* block, size_t) noexcept { mercer::test::release(block); }
#endif
