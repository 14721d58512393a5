#include "engine/lapack.h"

#include <string>
#include <vector>

#include "engine/error.h"

// LAPACK's own names; declared here so that no header of it is needed.
extern "C" {
void dsyevd_(const char* job, const char* half, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info);
void ssyevd_(const char* job, const char* half, const int* n, float* a, const int* lda, float* w,
             float* work, const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace mercer::lapack {
namespace {

template <class T, class Call>
void symmetric(Call call, int64_t size, T* a, T* values) {
    const int n = int(size), ask = -1;
    int info = 0, best_integers = 0;
    T best = 0;
    const std::lock_guard lock(guard());
    call("V", "U", &n, a, &n, values, &best, &ask, &best_integers, &ask, &info);
    const int length = int(best), integers = best_integers;
    std::vector<T> work(size_t(length), T(0));
    std::vector<int> more(size_t(integers), 0);
    call("V", "U", &n, a, &n, values, work.data(), &length, more.data(), &integers, &info);
    if (info != 0)
        throw NumericalError("eigh",
                             "LAPACK's syevd did not converge, info " + std::to_string(info));
}

}  // namespace

std::mutex& guard() {
    static std::mutex mutex;
    return mutex;
}

void eigh(int64_t n, double* a, double* values) { symmetric(dsyevd_, n, a, values); }
void eigh(int64_t n, float* a, float* values) { symmetric(ssyevd_, n, a, values); }

}  // namespace mercer::lapack
