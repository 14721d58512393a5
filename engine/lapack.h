// What OpenBLAS is used for. Debian's serial build takes memory without locks: one call at a time.
#pragma once

#include <cstdint>
#include <mutex>

namespace mercer::lapack {

/// Held around every call into OpenBLAS.
std::mutex& guard();

/// Eigenvalues (ascending) and eigenvectors (rows of a) of a symmetric matrix, read from its lower triangle, row-major.
/// NumericalError if the iteration does not converge.
void eigh(int64_t n, double* a, double* values);
void eigh(int64_t n, float* a, float* values);

}  // namespace mercer::lapack
