// Rows of a table by id.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// Inputs: table [size, width], ids (i64).
struct MERCER_API Embedding : Reads<input_bit(1)> {
    struct Attrs {
        int64_t size, padding;
    };
    MERCER_OPERATION_MEMBERS("embedding", Tensor)
    /// The sum of each row's cotangents in ascending position, in parallel over the table's rows: the
    /// bits of scatter_add.
    static Tensor backward(const Attrs&, const Tensor& ids, const Tensor& g);
};

}  // namespace mercer
