// Memory that ends where none may be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

/// Bytes of the pages that hold `bytes`.
inline size_t pages_of(size_t bytes) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}
/// The end of pages that hold `bytes`: what follows is a fault.
inline char* take_before_edge(size_t bytes) {
    const size_t whole = pages_of(bytes), page = pages_of(1);
    void* const all =
        mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    char* const end = static_cast<char*>(all) + whole;
    if (mprotect(end, page, PROT_NONE) != 0) throw std::bad_alloc();
    return end;
}
inline void give_before_edge(char* end, size_t bytes) {
    munmap(end - pages_of(bytes), pages_of(bytes) + pages_of(1));
}

/// `n` elements, after the last of which any access is a fault.
template <class T>
class AtTheEdge {
public:
    explicit AtTheEdge(size_t n) : n_(n), end_(take_before_edge(n * sizeof(T))) {}
    ~AtTheEdge() { give_before_edge(end_, n_ * sizeof(T)); }
    AtTheEdge(const AtTheEdge&) = delete;
    AtTheEdge& operator=(const AtTheEdge&) = delete;
    T* begin() const { return end() - n_; }
    T* end() const { return reinterpret_cast<T*>(end_); }

private:
    size_t n_;
    char* end_;
};
