// A directed graph of n nodes: which j an edge j → i joins to which i. Rows of CSR by target i, and
// their transpose by source j, made once. Immutable; copies share; may be used by several threads.
#pragma once

#include <memory>

#include "engine/tensor.h"

namespace mercer {

class MERCER_API Graph {
public:
    /// Edges into i come from sources[k], offsets[i] ≤ k < offsets[i + 1]: i64 (n + 1) and (e), in any
    /// order within a row; one that stands there twice counts twice. Copied. DTypeError, ShapeError,
    /// ValueError, naming the list and the place, unless offsets ascend from 0 to e and sources are
    /// in [0, n). Cost: two passes over the edges.
    Graph(const Tensor& offsets, const Tensor& sources);
    /// Edges sources[k] → targets[k], i64 (e), in any order. Edge k is the graph's edge
    /// e with original()[e] = k.
    static Graph from_edges(const Tensor& sources, const Tensor& targets, int64_t nodes);

    /// With i → i for each node that lacks it, as the last edge of i's row. Made once, then shared.
    Graph with_self_loops() const;

    int64_t nodes() const;
    int64_t edges() const;

    /// i64 (n + 1), (e).
    const Tensor& offsets() const;
    const Tensor& sources() const;
    /// The row of each edge: i64 (e).
    const Tensor& targets() const;
    /// By source: entry k of row j, by_source_offsets()[j] ≤ k, is edge by_source()[k], and goes to
    /// by_source_targets()[k]; ascending in each row.
    const Tensor& by_source_offsets() const;
    const Tensor& by_source_targets() const;
    const Tensor& by_source() const;
    /// from_edges: which of the given edges each one was; −1 for a self loop that was added. Else 0, 1, …
    const Tensor& original() const;

private:
    struct Lists;
    explicit Graph(std::shared_ptr<const Lists> lists) : lists_(std::move(lists)) {}
    std::shared_ptr<const Lists> lists_;
};

}  // namespace mercer
