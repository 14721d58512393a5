// What OpenBLAS is used for: least squares, and products on request.
#pragma once

#include <mutex>

namespace mercer::lapack {

/// Held around every call into OpenBLAS: Debian's serial build takes memory without locks.
inline std::mutex& guard() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace mercer::lapack
