// Memory that ends where none may be read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

/// `n` elements, after the last of which any access is a fault.
template <class T>
class AtTheEdge {
public:
    explicit AtTheEdge(size_t n) : n_(n) {
        const size_t page = size_t(sysconf(_SC_PAGESIZE)),
                     whole = (n * sizeof(T) + page - 1) / page * page;
        bytes_ = whole + page;
        void* const all =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) throw std::bad_alloc();
        base_ = static_cast<char*>(all);
        if (mprotect(base_ + whole, page, PROT_NONE) != 0) throw std::bad_alloc();
        end_ = base_ + whole;
    }
    ~AtTheEdge() { munmap(base_, bytes_); }
    AtTheEdge(const AtTheEdge&) = delete;
    AtTheEdge& operator=(const AtTheEdge&) = delete;
    T* begin() const { return reinterpret_cast<T*>(end_) - n_; }
    T* end() const { return reinterpret_cast<T*>(end_); }

private:
    size_t n_, bytes_;
    char *base_, *end_;
};
