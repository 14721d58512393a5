#include "engine/scratch.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/memory.h"

namespace mercer {

namespace {

// Blocks are never moved while in use; a second one is added when the first is full, and they merge
// when all is free.
struct ScratchStack {
    struct Block {
        char* data;
        size_t size;
    };
    std::vector<Block> blocks;
    size_t block = 0, used = 0;
};
constinit thread_local ScratchStack* own_stack = nullptr;
constinit thread_local bool thread_ends = false;

struct ScratchOwner {
    ScratchStack stack;
    ~ScratchOwner() {
        for (const auto& b : stack.blocks) memory::release(b.data, b.size);
        own_stack = nullptr;
        thread_ends = true;
    }
};
ScratchStack& scratch_stack() {
    if (own_stack) return *own_stack;
    // Who computes in destructors that run later still keeps a stack for good.
    if (thread_ends) return *(own_stack = new ScratchStack);
    thread_local ScratchOwner owner;
    return *(own_stack = &owner.stack);
}

}  // namespace

Scratch::Scratch() : block_(scratch_stack().block), used_(scratch_stack().used) {}

Scratch::~Scratch() {
    ScratchStack& s = scratch_stack();
    s.block = block_;
    s.used = used_;
    if (block_ == 0 && used_ == 0 && s.blocks.size() > 1) {
        size_t total = 0;
        for (const auto& b : s.blocks) total += b.size;
        for (const auto& b : s.blocks) memory::release(b.data, b.size);
        s.blocks.clear();
        try {
            s.blocks.push_back({static_cast<char*>(memory::allocate(total)), total});
        } catch (const MemoryError&) {  // the next take() asks again
        }
    }
}

void* Scratch::take_bytes(size_t bytes) {
    ScratchStack& s = scratch_stack();
    constexpr size_t alignment = 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    while (s.block < s.blocks.size() && s.used + bytes > s.blocks[s.block].size) {
        ++s.block;
        s.used = 0;
    }
    if (s.block == s.blocks.size()) {
        const size_t size = std::max(bytes, size_t{1} << 18);
        s.blocks.push_back({static_cast<char*>(memory::allocate(size)), size});
    }
    char* p = s.blocks[s.block].data + s.used;
    s.used += bytes;
    return p;
}

}  // namespace mercer
