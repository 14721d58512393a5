#include "attention/smoother/fused/gradient.h"

#include <algorithm>

#include "autograd/recompute.h"
#include "engine/functions.h"

namespace mercer::attention {
namespace {

struct Kept {
    FusedSpec spec;
    std::vector<bool> wanted;
    bool out, measures;  // which cotangents follow the operands
    size_t operands() const { return wanted.size(); }
};

// The gradient of the reference form, for all rows or some: of inputs that are wanted, in order.
std::vector<Var> reference_gradient(Tape& tape, const Kept& kept, std::span<const Var> x,
                                    int64_t first = -1, int64_t queries = 0) {
    const size_t n = kept.operands();
    const auto results = smooth_rows(kept.spec, x.first(n), kept.measures, first, queries);
    std::vector<Var> losses, seeds, wrt;
    size_t at = n;
    if (kept.out) losses.push_back(results[0]), seeds.push_back(x[at++]);
    if (kept.measures) losses.push_back(results[1]), seeds.push_back(x[at++]);
    for (size_t i = 0; i < n; ++i)
        if (kept.wanted[i]) wrt.push_back(x[i]);
    return tape.gradient(losses, wrt, CreateGraph{std::move(seeds)});
}

/// Operands, and the cotangents that follow them, cut to queries [first, end), and gradients put back.
class Cut {
public:
    explicit Cut(const Kept& kept) : kept_(kept) {}

    Tensor operator()(size_t i, const Tensor& x, int64_t first, int64_t end) const {
        const int axis = axis_of(i);
        return axis ? slice(x, axis, first, end) : x;
    }
    void add(size_t i, const Tensor& sum, const Tensor& part, int64_t first, int64_t end) const {
        Tensor at = (*this)(i, sum, first, end);
        (at + part).copy_to(at);
    }

private:
    int axis_of(size_t i) const {
        if (i >= kept_.operands()) return kept_.out && i == kept_.operands() ? -2 : -1;
        for (const Slot s : {queries, inner_left, relative_left, alpha})
            if (int(i) == kept_.spec.at[s]) return -2;
        return 0;
    }
    const Kept& kept_;
};

/// body(first, end) for blocks of rows of queries.
template <class Body>
void for_row_blocks(const FusedSpec& spec, const Tensor& q, const Tensor& k, Body body) {
    // About 16 MiB of what scores are made of, for all heads: of differences and sums, each of their terms.
    int64_t terms = spec.score == Kernel::Score::product ? 1 : q.size(-1);
    for (int a = 0; a < q.rank() - 2; ++a) terms *= q.size(a);
    const int64_t row = std::max<int64_t>(1, terms * k.size(-2)) * int64_t(size_of(q.dtype())),
                  rows = q.size(-2),
                  step = std::clamp<int64_t>((16 << 20) / row, 1, std::max<int64_t>(rows, 1));
    for (int64_t first = 0; first < rows; first += step) body(first, std::min(first + step, rows));
}

std::vector<Tensor> zeros_where(const std::vector<bool>& wanted, std::span<const Tensor> like) {
    std::vector<Tensor> sums(wanted.size());
    for (size_t i = 0; i < sums.size(); ++i)
        if (wanted[i]) sums[i] = Tensor::zeros(like[i].shape(), like[i].dtype());
    return sums;
}

// Σ ⟨results, cotangents⟩' by blocks of rows; x: the operands, then the cotangents.
std::vector<Tensor> first_by_blocks(const Kept& kept, std::span<const Tensor> x) {
    const size_t n = kept.operands();
    std::vector<Tensor> sums = zeros_where(kept.wanted, x);
    const Cut cut(kept);
    for_row_blocks(kept.spec, x[0], x[1], [&](int64_t first, int64_t end) {
        Tape tape;
        std::vector<Var> at, wrt;
        for (size_t i = 0; i < n; ++i) at.push_back(tape.watch(cut(i, x[i], first, end)));
        for (size_t i = 0; i < n; ++i)
            if (kept.wanted[i]) wrt.push_back(at[i]);
        const auto results = smooth_rows(kept.spec, at, kept.measures, first, x[0].size(-2));
        std::vector<Var> losses;
        std::vector<Tensor> seeds;
        for (size_t i = n; i < x.size(); ++i) {
            losses.push_back(results[kept.out ? i - n : 1]);
            seeds.push_back(cut(i, x[i], first, end));
        }
        const auto d = tape.gradient(losses, wrt, {.cotangents = std::move(seeds)});
        for (size_t i = 0, k = 0; i < n; ++i)
            if (kept.wanted[i]) cut.add(i, sums[i], d[k++], first, end);
    });
    return sums;
}

// d/dx of Σ ⟨gradient, cotangent⟩ by blocks of rows, each recorded on a tape of its own.
void by_blocks(Vjp<Tensor>& c) {
    const Kept& kept = c.attrs<Kept>();
    const size_t n = kept.operands(), all = size_t(c.inputs());
    std::vector<Tensor> x;
    std::vector<bool> wanted;
    for (size_t i = 0; i < all; ++i) x.push_back(c.in(int(i))), wanted.push_back(c.wants(int(i)));
    const std::vector<Tensor> sums = zeros_where(wanted, x);
    const Cut cut(kept);
    for_row_blocks(kept.spec, x[0], x[1], [&](int64_t first, int64_t end) {
        Tape tape;
        std::vector<Var> at, losses, wrt;
        for (size_t i = 0; i < all; ++i) at.push_back(tape.watch(cut(i, x[i], first, end)));
        const auto gradient = reference_gradient(tape, kept, at, first, x[0].size(-2));
        std::vector<Tensor> seeds;
        for (size_t i = 0, k = 0; i < n; ++i) {
            if (!kept.wanted[i]) continue;
            const Tensor& g = c.g(int(k));
            if (g.defined() && !gradient[k].is_constant())
                losses.push_back(gradient[k]), seeds.push_back(cut(i, g, first, end));
            ++k;
        }
        if (losses.empty()) return;
        for (size_t i = 0; i < all; ++i)
            if (wanted[i]) wrt.push_back(at[i]);
        const auto second = tape.gradient(losses, wrt, {.cotangents = std::move(seeds)});
        for (size_t i = 0, m = 0; i < all; ++i)
            if (wanted[i]) cut.add(i, sums[i], second[m++], first, end);
    });
    for (size_t i = 0; i < all; ++i)
        if (sums[i].defined()) c.give(int(i), sums[i]);
}
void recorded(Vjp<Var>& c) {
    const Kept& kept = c.attrs<Kept>();
    recompute(c, [&](std::span<const Var> x) { return reference_gradient(c.tape(), kept, x); });
}
constexpr Rule rule{"attend_gradient", by_blocks, recorded};

}  // namespace

std::vector<Tensor> smoother_backward(const FusedSpec& spec, std::span<const Tensor> inputs,
                                      const FusedResult& forward, const FusedCotangents& g,
                                      const std::vector<bool>& wanted, bool one_sum) {
    if (spec.at[alpha] < 0 || !any(greater(inputs[size_t(spec.at[alpha])], 2)).item<bool>())
        return fused_backward(spec, inputs, forward, g, wanted, one_sum);
    std::vector<Tensor> x(inputs.begin(), inputs.end());
    for (const Tensor& of : {g.out, g.measures})
        if (of.defined()) x.push_back(of);
    return first_by_blocks({spec, wanted, g.out.defined(), g.measures.defined()}, x);
}

std::vector<Var> recorded_backward(Tape& tape, const FusedSpec& spec, std::vector<Var> inputs,
                                   const FusedResult& forward, const RecordedCotangents& g,
                                   const std::vector<bool>& wanted) {
    std::vector<Tensor> values;
    for (const Var& x : inputs) values.push_back(x.value());
    const auto value = [](const Var& x) { return x.defined() ? x.value() : Tensor(); };
    const std::vector<Tensor> all =
        smoother_backward(spec, values, forward, {value(g.out), value(g.measures)}, wanted);
    const auto kept =
        std::make_shared<const Kept>(Kept{spec, wanted, g.out.defined(), g.measures.defined()});
    tape.own(kept);
    if (g.out.defined()) inputs.push_back(g.out);
    if (g.measures.defined()) inputs.push_back(g.measures);
    const std::vector<const Var*> refs = pointers_to(std::span<const Var>(inputs));
    std::vector<Tensor> outputs;
    for (const Tensor& d : all)
        if (d.defined()) outputs.push_back(d);
    const auto recorded = tape.append(rule, kept.get(), refs, outputs, Tape::save_inputs);
    std::vector<Var> out(wanted.size());
    for (size_t i = 0, k = 0; i < wanted.size(); ++i)
        if (wanted[i]) out[i] = recorded[k++];
    return out;
}

}  // namespace mercer::attention
