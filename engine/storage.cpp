#include "engine/storage.h"

#include <new>

#include "engine/memory.h"

namespace mercer {
namespace {
// The header shares the data's block: one allocation for a tensor, data still 64-byte aligned.
constexpr size_t header = 64;
static_assert(sizeof(Storage) <= header);
}  // namespace

StorageRef StorageRef::allocate(size_t bytes) {
    void* block = memory::allocate(header + bytes);
    auto* storage = new (block) Storage;
    storage->data = static_cast<char*>(block) + header;
    storage->bytes = bytes;
    return StorageRef(storage);
}

StorageRef StorageRef::wrap(void* data, size_t bytes, std::function<void()> release) {
    auto* storage = new (memory::allocate(header)) Storage;
    storage->data = data;
    storage->bytes = bytes;
    storage->release_external = new std::function<void()>(std::move(release));
    return StorageRef(storage);
}

void StorageRef::destroy(Storage* storage) noexcept {
    size_t bytes = header + storage->bytes;
    if (storage->release_external) {
        bytes = header;
        if (*storage->release_external) (*storage->release_external)();
        delete storage->release_external;
    }
    storage->~Storage();
    memory::release(storage, bytes);
}

}  // namespace mercer
