// erf, erfc, erfinv and the normal distribution; method and derivatives stand in engine/simd/normal.h.
#pragma once

#include "engine/ops/pointwise/needs.h"
#include "engine/simd/normal.h"

namespace mercer::MERCER_ISA::formula {

struct Erf {
    static MERCER_INLINE auto f(auto x) { return erf(x); }
};
struct Erfc {
    static MERCER_INLINE auto f(auto x) { return erfc(x); }
};
/// ±∞ at ±1, NaN beyond.
struct Erfinv {
    static MERCER_INLINE auto f(auto x) { return erfinv(x); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return erfinv_slope(y);
    }
};
struct NormalPdf {
    static MERCER_INLINE auto f(auto x) { return normal_pdf(x); }
};
/// Relative precision in the left tail, down to the smallest subnormal number.
struct NormalCdf {
    static MERCER_INLINE auto f(auto x) { return normal_cdf(x); }
};
/// −x²/2 − log|x| − … to the left, however far.
struct LogNormalCdf {
    static MERCER_INLINE auto f(auto x) { return log_normal_cdf(x); }
};
/// ∓∞ at 0 and 1, NaN outside; a p near 1 has lost its tail before the call: use −Φ⁻¹(1 − p).
struct NormalIcdf {
    static MERCER_INLINE auto f(auto p) { return normal_icdf(p); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return normal_icdf_slope(y);
    }
};

}  // namespace mercer::MERCER_ISA::formula
