// Waiting for what another thread is about to do.
#pragma once

namespace mercer {

/// Whether ready() comes to hold while this thread keeps its core: some tens of microseconds.
template <class Ready>
bool spin_until(Ready ready) {
    for (int turn = 0; turn < 2000; ++turn) {
        if (ready()) return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb");  // yield does nothing on most
#endif
    }
    return ready();
}

}  // namespace mercer
