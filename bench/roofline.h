// What the machine can do, measured: the ceilings that the cases are read against.
#pragma once

namespace mercer::bench {

/// Floating-point operations per second of independent fma chains in registers, f32, all threads; f64 has half.
double measured_fma();
/// Bytes read and written per second by copying between arrays beyond the caches, all threads.
double measured_copy();

}  // namespace mercer::bench
