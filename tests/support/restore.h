// Instruction set, number of threads and what goes past the caches, put back at the end of a scope.
#pragma once

#include "engine/cpu/caches.h"
#include "engine/isa.h"
#include "engine/parallel.h"

struct Restore {
    mercer::Isa isa = mercer::isa();
    int threads = mercer::thread_count();
    int64_t streams_above = mercer::cpu::streams_above();
    ~Restore() {
        mercer::set_isa(isa);
        mercer::set_thread_count(threads);
        mercer::cpu::set_streams_above(streams_above);
    }
};
