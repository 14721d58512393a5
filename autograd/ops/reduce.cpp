// Reductions on Vars.
#include "engine/ops/reduce.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {

#define MERCER_REDUCTION(function, Op)                                         \
    Var function(const Var& x, std::span<const int> axes, bool keep) {         \
        return record<Op>(reduce_axes(#function, axes, x.rank(), keep), {&x}); \
    }                                                                          \
    Var function(const Var& x, std::initializer_list<int> axes, bool keep) {   \
        return function(x, std::span(axes.begin(), axes.size()), keep);        \
    }                                                                          \
    Var function(const Var& x) { return record<Op>(reduce_all(x.rank()), {&x}); }
MERCER_REDUCTION(sum, Sum)
MERCER_REDUCTION(mean, Mean)
MERCER_REDUCTION(max, Max)
MERCER_REDUCTION(min, Min)
#undef MERCER_REDUCTION

}  // namespace mercer
