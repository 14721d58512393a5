// The chain rule: from the losses back to what was asked for, one node after the other.
#include <algorithm>

#include "autograd/functions.h"
#include "autograd/vjp.h"
#include "engine/operation.h"
#include "engine/ops/pointwise.h"

namespace mercer {

void accumulate(Tensor& a, Tensor b) {
    if (!a.defined())
        a = std::move(b);
    else if (a.storage().alone() && a.is_contiguous() && b.shape() == a.shape())
        add_in_place(a, b);
    else
        a = add(a, b);
}
void accumulate(Var& a, Var b) { a = a.defined() ? add(a, b) : std::move(b); }

namespace {
template <class X>
void require_count(const char* what, const std::vector<X>& given, size_t wanted) {
    if (!given.empty() && given.size() != wanted)
        throw TapeError("gradient", given.size(), " ", what, " for ", wanted);
}
}  // namespace

template <class X>
void Tape::seed(Backward<X>& pass, std::span<const Var> losses, std::vector<X>& cotangents) const {
    require_count("cotangents were given, losses are", cotangents, losses.size());
    cotangents.resize(losses.size());
    for (size_t k = 0; k < losses.size(); ++k) {
        const Var& loss = losses[k];
        if (cotangents[k].defined())
            require_like("gradient", "the cotangent of a loss", loss.shape(),
                         gradient_dtype(loss.dtype()), value_of(cotangents[k]));
        else if (loss.count() == 1)
            cotangents[k] = X(Tensor::ones(loss.shape(), gradient_dtype(loss.dtype())));
        else
            throw TapeError("gradient", "the loss has shape ", loss.shape(),
                            "; reduce it to one element or give a cotangent");
    }
    for (size_t k = 0; k < losses.size(); ++k)
        if (pass.needs(losses[k].id_))
            accumulate(pass.cotangent(losses[k].id_), std::move(cotangents[k]));
}

void Tape::refuse_dropped(const Node& node) {
    throw TapeError(node.rule->name,
                    "its saved values were dropped by an earlier pass; give that pass `retain`");
}

// Told before the walk drops anything: does the way from the losses cross a node whose values are
// gone?
void Tape::refuse_dropped(std::span<const char> needed, uint32_t base, std::span<const Var> losses,
                          size_t begin, size_t end) const {
    std::vector<char> reached(needed.size(), 0);
    const auto is_needed = [&](uint32_t id) {
        return id - base < needed.size() && needed[id - base];
    };
    for (const Var& loss : losses)
        if (is_needed(loss.id_)) reached[loss.id_ - base] = 1;
    for (size_t n = end; n-- > begin;) {
        const Node& node = nodes_[n];
        const auto first = reached.begin() + (node.output - base);
        if (std::find(first, first + node.outputs, 1) == first + node.outputs) continue;
        if (node.dropped) refuse_dropped(node);
        for (uint32_t i = 0; i < node.inputs; ++i) {
            const uint32_t id = input_ids_[node.first_input + i];
            if (is_needed(id)) reached[id - base] = 1;
        }
    }
}

template <class X>
void Tape::walk(Backward<X>& pass, size_t begin, size_t end, bool keep_saved) {
    for (size_t n = end; n-- > begin;) {
        const uint32_t output = nodes_[n].output, outputs = nodes_[n].outputs;
        bool reached = false;
        for (uint32_t id = output; id < output + outputs; ++id) {
            reached = reached || (pass.needs(id) && pass.cotangent(id).defined());
            if (hooks_) call_hooks(pass, id);
        }
        if (!reached) continue;
        if (nodes_[n].dropped) refuse_dropped(nodes_[n]);  // by a pass within a hook of this one
        {
            const OperationScope scope(nodes_[n].rule->name, WatchedScope::Kind::backward);
            Vjp<X> context(pass, uint32_t(n));
            if constexpr (std::is_same_v<X, Tensor>)
                nodes_[n].rule->tensor(context);
            else
                nodes_[n].rule->var(context);
        }
        instruments::settle();
        for (uint32_t id = output; id < output + outputs; ++id)
            if (!pass.asked(id)) pass.cotangent(id) = X();
        if (!keep_saved) drop(nodes_[n]);
    }
}

template <class X>
std::vector<X> Tape::differentiate(std::span<const Var> losses, std::span<const Var> wrt,
                                   std::vector<X> cotangents, std::vector<X> onto,
                                   bool keep_saved) {
    require_count("sums were given, gradients are", onto, wrt.size());
    uint32_t first = none, last = 0;
    for (const Var& v : wrt) first = std::min(first, id_of("gradient", v));
    for (const Var& v : losses) last = std::max(last, id_of("gradient", v));
    const size_t begin = first_after(first), end = std::max(begin, first_after(last));
    size_t size = 0;
    if (first <= last && !losses.empty()) {
        size = last + 1 - first;
        if (end > begin)  // the last node may have more results than the loss
            size = std::max(size, size_t(nodes_[end - 1].output + nodes_[end - 1].outputs - first));
    }

    Backward<X> pass{this, first, std::vector<X>(size), std::vector<char>(size, 0)};
    std::vector<char> added;  // where `onto` is added at the end
    if (!onto.empty()) added.assign(wrt.size(), 0);
    for (size_t i = 0; i < wrt.size(); ++i) {
        const uint32_t id = wrt[i].id_;
        const bool repeated = pass.asked(id);
        if (id - first < size) pass.needed[id - first] = 3;
        if (onto.empty() || !onto[i].defined()) continue;
        require_like("gradient", "a sum to add to", wrt[i].shape(), gradient_dtype(wrt[i].dtype()),
                     value_of(onto[i]));
        if (repeated)
            throw TapeError("gradient", "a sum was given for a value that is asked for twice");
        // A leaf's sum can start from it; what else has one hands its gradient on.
        added[i] = id - first >= size || !is_leaf(id);
        if (!added[i]) pass.cotangent(id) = std::move(onto[i]);
    }

    bool any_dropped = false;
    for (size_t n = begin; n < end; ++n) {
        const Node& node = nodes_[n];
        char needed = 0;
        for (uint32_t i = 0; i < node.inputs && !needed; ++i)
            needed = pass.needs(input_ids_[node.first_input + i]);
        if (!needed) continue;
        for (uint32_t id = node.output; id < node.output + node.outputs; ++id)
            pass.needed[id - first] |= 1;
        any_dropped = any_dropped || node.dropped;
    }
    seed(pass, losses, cotangents);
    const AtWork at_work(*this);
    if (any_dropped) refuse_dropped(pass.needed, first, losses, begin, end);
    walk(pass, begin, end, keep_saved);
    if (hooks_)
        for (const auto& [id, functions] : hooks_->gradients)
            if (is_leaf(id) || first_after(id) <= begin) call_hooks(pass, id);

    std::vector<X> out;
    out.reserve(wrt.size());
    for (size_t i = 0; i < wrt.size(); ++i) {
        X g = pass.needs(wrt[i].id_) ? pass.cotangent(wrt[i].id_) : X();
        if (!added.empty() && added[i]) {
            if (g.defined()) accumulate(onto[i], std::move(g));
            g = std::move(onto[i]);
        }
        out.push_back(
            g.defined() ? g : X(Tensor::zeros(wrt[i].shape(), gradient_dtype(wrt[i].dtype()))));
    }
    return out;
}

std::vector<Tensor> Tape::gradient(std::span<const Var> losses, std::span<const Var> wrt,
                                   GradientOptions options) {
    return differentiate<Tensor>(losses, wrt, std::move(options.cotangents),
                                 std::move(options.onto), options.retain);
}

std::vector<Var> Tape::gradient(std::span<const Var> losses, std::span<const Var> wrt,
                                CreateGraph options) {
    return differentiate<Var>(losses, wrt, std::move(options.seeds), {}, true);
}

}  // namespace mercer
