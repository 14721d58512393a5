// The formulas of the built-in kernels of inner products, compiled for every instruction set: of the
// score s, the norms a = ‖q‖² and b = ‖k‖² that they read, and constants.
#include "engine/map.h"

MERCER_MAP(kernel_scaled, 2, [](auto s, auto scale) { return s * scale; })
MERCER_MAP(kernel_affine, 4,
           [](auto s, auto b, auto score, auto norm) { return s * score + b * norm; })
MERCER_MAP(kernel_square, 3, [](auto s, auto scale, auto offset) {
    const auto base = s * scale + offset;
    return base * base;
})
MERCER_MAP(kernel_cosine, 4, [](auto s, auto a, auto b, auto t) {
    const decltype(s) least(1e-24);
    return s * t / (sqrt(maximum(a, least)) * sqrt(maximum(b, least)));
})
