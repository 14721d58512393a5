#include "attention/graph/graph.h"

#include <mutex>
#include <vector>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/segment.h"

namespace mercer {

struct Graph::Lists {
    Tensor offsets, sources, targets, by_source_offsets, by_source_targets, by_source, original;
    mutable std::once_flag once;
    mutable std::shared_ptr<const Lists> looped;  // nullptr: all loops are there

    /// Takes over checked lists.
    Lists(Tensor at, Tensor from, Tensor which)
        : offsets(std::move(at)),
          sources(std::move(from)),
          targets(segment_ids(offsets)),
          original(std::move(which)) {
        const auto [starts, rows, order] = csr_transpose(offsets, sources, offsets.count() - 1);
        by_source_offsets = starts, by_source_targets = rows, by_source = order;
    }

    void add_loops() const {
        const int64_t n = offsets.count() - 1, *at = offsets.data<int64_t>(),
                      *from = sources.data<int64_t>(), *which = original.data<int64_t>();
        std::vector<int64_t> new_at{0}, new_from, new_which;
        for (int64_t i = 0; i < n; ++i) {
            bool has = false;
            for (int64_t k = at[i]; k < at[i + 1]; ++k) {
                has |= from[k] == i;
                new_from.push_back(from[k]);
                new_which.push_back(which[k]);
            }
            if (!has) new_from.push_back(i), new_which.push_back(-1);
            new_at.push_back(int64_t(new_from.size()));
        }
        if (new_from.size() > size_t(sources.count()))
            looped = std::make_shared<const Lists>(Tensor::from(new_at), Tensor::from(new_from),
                                                   Tensor::from(new_which));
    }
};

Graph::Graph(const Tensor& offsets, const Tensor& sources) {
    const Tensor at = checked_offsets("graph", offsets, sources.count()),
                 from = checked_ids("graph", "sources", sources, at.count() - 1);
    lists_ = std::make_shared<const Lists>(at.clone(), from.clone(),
                                           Tensor::arange(from.count(), DType::i64));
}

Graph Graph::from_edges(const Tensor& sources, const Tensor& targets, int64_t nodes) {
    if (nodes < 0) throw ValueError("graph", "the number of nodes is ", nodes);
    const Tensor from = checked_ids("graph", "sources", sources, nodes),
                 to = checked_ids("graph", "targets", targets, nodes);
    if (from.count() != to.count())
        throw ShapeError("graph", "sources ", from.shape(), " and targets ", to.shape(),
                         " must have one entry for each edge");
    const auto [offsets, columns, order] = coo_to_csr(to, from, nodes);
    return Graph(std::make_shared<const Lists>(offsets, columns, order));
}

Graph Graph::with_self_loops() const {
    std::call_once(lists_->once, [&] { lists_->add_loops(); });
    return lists_->looped ? Graph(lists_->looped) : *this;
}

int64_t Graph::nodes() const { return lists_->offsets.count() - 1; }
int64_t Graph::edges() const { return lists_->sources.count(); }
const Tensor& Graph::offsets() const { return lists_->offsets; }
const Tensor& Graph::sources() const { return lists_->sources; }
const Tensor& Graph::targets() const { return lists_->targets; }
const Tensor& Graph::by_source_offsets() const { return lists_->by_source_offsets; }
const Tensor& Graph::by_source_targets() const { return lists_->by_source_targets; }
const Tensor& Graph::by_source() const { return lists_->by_source; }
const Tensor& Graph::original() const { return lists_->original; }

}  // namespace mercer
