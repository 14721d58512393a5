// Instruction set and number of threads, put back at the end of a scope.
#pragma once

#include "engine/isa.h"
#include "engine/parallel.h"

struct Restore {
    mercer::Isa isa = mercer::isa();
    int threads = mercer::thread_count();
    ~Restore() {
        mercer::set_isa(isa);
        mercer::set_thread_count(threads);
    }
};
