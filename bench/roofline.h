// What the machine can do, measured: the ceilings that the cases are read against.
#pragma once

namespace mercer::bench {

struct Ceilings {
    double
        fma;  // floating-point operations per second of independent chains in registers, f32; f64 has half
    double copy;  // bytes read and written per second by copying between arrays beyond the caches
};
/// Of all threads, the best of a few tries; takes some 50 ms.
Ceilings measured_ceilings();

}  // namespace mercer::bench
