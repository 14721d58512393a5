// Waiting for what another thread is about to do.
#pragma once

#include <thread>

namespace mercer {

/// Until ready(), which another thread brings about within microseconds: first on this core, since to give it up may cost
/// milliseconds where others want it; but after some hundreds of microseconds they may have it, the other thread among them.
template <class Ready>
void wait_until(Ready ready) {
    for (int turn = 0; !ready(); ++turn) {
        if (turn >= 10000) {
            std::this_thread::yield();
            continue;
        }
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
}

}  // namespace mercer
