// What OpenBLAS is used for: least squares, and products on request.
#pragma once

#include <mutex>

// As in cblas.h: 101 row-major, 111 as it is, 112 transposed.
extern "C" {
void cblas_sgemm(int order, int a_form, int b_form, int m, int n, int k, float alpha,
                 const float* a, int a_step, const float* b, int b_step, float beta, float* c,
                 int c_step);
void cblas_dgemm(int order, int a_form, int b_form, int m, int n, int k, double alpha,
                 const double* a, int a_step, const double* b, int b_step, double beta, double* c,
                 int c_step);
}

namespace mercer::openblas {

constexpr auto gemm(float) { return cblas_sgemm; }
constexpr auto gemm(double) { return cblas_dgemm; }

/// Held around every call into OpenBLAS: Debian's serial build takes memory without locks.
inline std::mutex& guard() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace mercer::openblas
