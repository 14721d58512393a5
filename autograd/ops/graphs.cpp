// Segments and sparse products on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/segment.inl"
#include "engine/ops/sparse.inl"

namespace mercer {

template <class Op>
Var segmented(const Var& x, const Tensor& at, const SegmentAttrs& attrs = {}) {
    const Var places(at);
    return record<Op>(attrs, {&x, &places});
}

#define MERCER_VALUE Var
#include "engine/ops/segment.inc"
#undef MERCER_VALUE

template <class Op>
Var sparse(const Var& a, const Var& b, const SparsePattern& p) {
    const Var pattern[] = {p.offsets, p.columns, p.transposed_offsets, p.transposed_rows,
                           p.transposed_order};
    return record<Op>({},
                      {&a, &b, &pattern[0], &pattern[1], &pattern[2], &pattern[3], &pattern[4]});
}

Var spmm(const Tensor& offsets, const Tensor& columns, const Var& values, const Var& dense,
         const Tensor& transposed_offsets, const Tensor& transposed_rows,
         const Tensor& transposed_order) {
    return sparse<Spmm>(values, dense,
                        {offsets, columns, transposed_offsets, transposed_rows, transposed_order});
}
Var sddmm(const Tensor& offsets, const Tensor& columns, const Var& a, const Var& b,
          const Tensor& transposed_offsets, const Tensor& transposed_rows,
          const Tensor& transposed_order) {
    return sparse<Sddmm>(a, b,
                         {offsets, columns, transposed_offsets, transposed_rows, transposed_order});
}

}  // namespace mercer
