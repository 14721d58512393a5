#include "attention/smoother/fused/gradient.h"

#include <algorithm>

#include "autograd/recompute.h"
#include "engine/functions.h"

namespace mercer::attention {
namespace {

struct Kept {
    FusedSpec spec;
    std::vector<bool> wanted;
    bool out, measures;  // which cotangents follow the inputs
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

/// An operand cut to queries [first, end), and its gradient put back.
class Cut {
public:
    explicit Cut(const FusedSpec& spec) : spec_(spec) {}

    Tensor operator()(size_t i, const Tensor& x, int64_t first, int64_t end) const {
        const auto [axis, from, to] = range(i, first, end);
        return axis ? slice(x, axis, from, to) : x;
    }
    void add(size_t i, Tensor& sum, const Tensor& part, int64_t first, int64_t end) const {
        const auto [axis, from, to] = range(i, first, end);
        Tensor at = axis ? slice(sum, axis, from, to) : sum;
        (at + part).copy_to(at);
    }

private:
    struct Range {
        int axis;
        int64_t from, to;
    };
    Range range(size_t i, int64_t first, int64_t end) const {
        const auto is = [&](Slot s) { return int(i) == spec_.at[s]; };
        if (is(queries) || is(inner_left) || is(relative_left) || is(alpha))
            return {-2, first, end};
        return {0, 0, 0};
    }
    const FusedSpec& spec_;
};

// d/dx of Σ ⟨gradient, cotangent⟩ by blocks of rows, each recorded on a tape of its own.
void by_blocks(Vjp<Tensor>& c) {
    const Kept& kept = c.attrs<Kept>();
    const size_t n = kept.operands(), all = size_t(c.inputs());
    std::vector<Tensor> x, sums(all);
    for (size_t i = 0; i < all; ++i) {
        x.push_back(c.in(int(i)));
        if (c.wants(int(i))) sums[i] = Tensor::zeros(x[i].shape(), x[i].dtype());
    }
    const int64_t queries_of_all = x[0].size(-2), keys_of_all = x[1].size(-2);
    // About 16 MiB of scores for all heads.
    int64_t heads = 1;
    for (int a = 0; a < x[0].rank() - 2; ++a) heads *= x[0].size(a);
    const int64_t row = std::max<int64_t>(1, heads * keys_of_all) * int64_t(size_of(x[0].dtype()));
    const int64_t step =
        std::clamp<int64_t>((16 << 20) / row, 1, std::max<int64_t>(queries_of_all, 1));
    const Cut cut(kept.spec);
    const auto rows_of = [&](size_t i, const Tensor& t, int64_t first, int64_t end) {
        if (i < n) return cut(i, t, first, end);
        const int axis = kept.out && i == n ? -2 : -1;
        return slice(t, axis, first, end);
    };
    for (int64_t first = 0; first < queries_of_all; first += step) {
        const int64_t end = std::min(first + step, queries_of_all);
        Tape tape;
        std::vector<Var> at;
        for (size_t i = 0; i < all; ++i) at.push_back(tape.watch(rows_of(i, x[i], first, end)));
        const auto gradient = reference_gradient(tape, kept, at, first, queries_of_all);
        std::vector<Var> losses, wrt;
        std::vector<Tensor> seeds;
        int k = 0;
        for (size_t i = 0; i < n; ++i) {
            if (!kept.wanted[i]) continue;
            const Tensor& g = c.g(k);
            if (g.defined() && !gradient[size_t(k)].is_constant())
                losses.push_back(gradient[size_t(k)]), seeds.push_back(cut(i, g, first, end));
            ++k;
        }
        if (losses.empty()) continue;
        for (size_t i = 0; i < all; ++i)
            if (c.wants(int(i))) wrt.push_back(at[i]);
        const auto second = tape.gradient(losses, wrt, {.cotangents = std::move(seeds)});
        size_t m = 0;
        for (size_t i = 0; i < all; ++i) {
            if (!c.wants(int(i))) continue;
            if (i < n) {
                cut.add(i, sums[i], second[m++], first, end);
            } else {
                Tensor part = rows_of(i, sums[i], first, end);
                second[m++].copy_to(part);
            }
        }
    }
    for (size_t i = 0; i < all; ++i)
        if (sums[i].defined()) c.give(int(i), std::move(sums[i]));
}
void recorded(Vjp<Var>& c) {
    const Kept& kept = c.attrs<Kept>();
    recompute(c, [&](std::span<const Var> x) { return reference_gradient(c.tape(), kept, x); });
}
constexpr Rule rule{"attend_gradient", by_blocks, recorded};

}  // namespace

std::vector<Var> recorded_backward(Tape& tape, const FusedSpec& spec, std::vector<Var> inputs,
                                   const FusedResult& forward, const RecordedCotangents& g,
                                   const std::vector<bool>& wanted) {
    std::vector<Tensor> values;
    for (const Var& x : inputs) values.push_back(x.value());
    const auto value = [](const Var& x) { return x.defined() ? x.value() : Tensor(); };
    const std::vector<Tensor> all =
        fused_backward(spec, values, forward, {value(g.out), value(g.measures)}, wanted);
    const auto kept =
        std::make_shared<const Kept>(Kept{spec, wanted, g.out.defined(), g.measures.defined()});
    tape.own(kept);
    if (g.out.defined()) inputs.push_back(g.out);
    if (g.measures.defined()) inputs.push_back(g.measures);
    std::vector<const Var*> refs;
    for (const Var& x : inputs) refs.push_back(&x);
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
