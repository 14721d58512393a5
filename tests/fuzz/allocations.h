// Counts what is allocated, by whomever: the tensors' allocator, operator new and, with the address
// sanitizer, malloc itself.
#pragma once

#include <cstddef>

namespace mercer::test {

struct Allocations {
    size_t largest = 0;  // the largest single one
    size_t peak = 0;     // of the sum of those that lived at once
};

/// From now on, in this thread; what was allocated before does not count.
void watch_allocations();
Allocations allocations_so_far();
Allocations stop_watching();

}  // namespace mercer::test
