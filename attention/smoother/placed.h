// The reference form once positions have acted: what it shares with the fused one.
#pragma once

#include "attention/smoother/reference.h"

namespace mercer::attention {

/// q and k as the scheme makes them; of keys (and values) in groups, one for each query head.
Positioned placed(const Var& q, const Var& k, const SmootherOptions& options,
                  const char* operation = "attend");
/// x [B…, H', T, d] for the heads of q, H a multiple of H': each is repeated.
Var for_heads_of(const Var& q, const Var& x);

/// Rows [first, first + …) of a smoother with `queries` of them; all where first < 0.
struct RowsOf {
    int64_t first = -1, queries = 0;
};
/// {out}, or with measures {out, [2, B…, Tq]}: log Σe^z and the entropy.
std::vector<Var> attend_placed(const Positioned& at, const Var& v, const SmootherOptions& options,
                               bool measures = false, RowsOf rows = {});

/// Whether f32 or f64 holds no NaN and no infinities. One read of memory.
bool all_finite(const Tensor& x);
/// What both the filter and the positions let a query see.
Filter filter_of(const Positioned& at, const SmootherOptions& options);
/// ValueError for a normaliser that does not fit the kernel.
void check_normaliser(const Kernel& kernel, const Normaliser& normaliser,
                      const char* operation = "attend");
/// A parameter of the kernel's formula, []. ValueError unless it is one element, and positive where
/// that has to be.
Var formula_parameter(const Kernel& kernel, const Var& p, DType dtype);
/// The factors 0 and 1/(1 − rate) of weights [rows, Tk] that begin at flat index `begin`.
void keep_factors(const WeightDropout& dropout, int64_t begin, int64_t n, float* out);
void keep_factors(const WeightDropout& dropout, int64_t begin, int64_t n, double* out);

}  // namespace mercer::attention
