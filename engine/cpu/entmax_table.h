// Kernels of the α-entmax on one instruction set; rows of n contiguous elements.
// [α = 2, α = 1.5, α by row][f32, f64]
#pragma once

#include <cstdint>

namespace mercer {

/// Of the α-entmax; the order of the tables.
enum class EntmaxAlpha { two, three_halves, any };

namespace cpu {

struct EntmaxTable {
    /// p_i = [1 + (α − 1)(x_i − max x − s)]₊^{1/(α − 1)} with s such that Σ p = 1; zeros for a row of
    /// −∞. alpha by row, null where it is fixed.
    void (*forward[3][2])(const void* x, const void* alpha, void* p, int64_t rows, int64_t n);
    /// With q_i = p_i^{2−α} where p_i > 0, else 0: dx = q·(g − Σ g·q/Σ q). dalpha by row, unless null.
    void (*backward[3][2])(const void* p, const void* alpha, const void* g, void* dx, void* dalpha,
                           int64_t rows, int64_t n);
    /// The Fenchel–Young loss of each row against the distribution y, for ε = α − 1 (0: the last of
    /// the three); and for its gradient the row's largest x, s and Σ p before it is divided by it.
    void (*loss[3][2])(const void* x, const void* y, void* losses, void* tops, void* shifts,
                       void* sums, int64_t rows, int64_t n, double epsilon);
    /// dx = weight of the row·(p − y)
    void (*loss_gradient[3][2])(const void* x, const void* y, const void* tops, const void* shifts,
                                const void* sums, const void* weights, void* dx, int64_t rows,
                                int64_t n, double epsilon, bool stream);
};

}  // namespace cpu
}  // namespace mercer
