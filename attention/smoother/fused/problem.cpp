#include "attention/smoother/fused/problem.h"

#include <algorithm>
#include <numbers>

#include "engine/cpu/dispatch.h"
#include "engine/functions.h"
#include "engine/parallel.h"

namespace mercer {
MERCER_DISPATCH_TYPED(attention::RowTable, attend_rows)
MERCER_DISPATCH_TYPED(attention::PairTable, attend_pairs)
MERCER_DISPATCH_TYPED(attention::WeightTable, attend_weights)
}  // namespace mercer

namespace mercer::attention {
namespace {

/// Where the matrix of x that each head of `lead` reads begins: leading axes are equal, 1, or (the last)
/// fewer by a factor.
std::vector<int64_t> matrices(const Shape& lead, const Tensor& x) {
    int64_t heads = 1;
    for (int64_t n : lead) heads *= n;
    std::vector<int64_t> out(static_cast<size_t>(heads));
    for (int64_t h = 0; h < heads; ++h) {
        int64_t rest = h;
        for (int a = 1; a <= std::min(lead.rank(), x.rank() - 2); ++a) {
            const int64_t n = lead[lead.rank() - a], i = rest % n;
            rest /= n;
            const int axis = x.rank() - 2 - a;
            out[size_t(h)] += i / (n / x.size(axis)) * x.strides()[axis];
        }
    }
    return out;
}

/// x itself where its rows are dense, such as the first ones of a cache; and, but for keys and values, its
/// matrices.
Tensor with_dense_matrices(const Tensor& x, bool rows_only) {
    const Strides& s = x.strides();
    const int r = x.rank();
    const bool dense = rows_only ? s[r - 2] >= x.size(-1) : s[r - 2] == x.size(-1);
    return s[r - 1] == 1 && dense ? x : x.contiguous();
}

template <class T>
bool all_finite_of(const Tensor& x) {
    std::atomic<bool> all{true};
    const T* p = x.data<T>();
    parallel_for(x.count(), 1 << 15, [&](int64_t begin, int64_t end) {
        if (!attend_rows<T>().finite(p + begin, end - begin)) all = false;
    });
    return all;
}

}  // namespace

bool all_finite(const Tensor& x) {
    const Tensor dense = x.contiguous();
    return x.dtype() == DType::f64 ? all_finite_of<double>(dense) : all_finite_of<float>(dense);
}

template <class T>
Problem<T>::Problem(const FusedSpec& s, std::span<const Tensor> inputs) : spec(s) {
    const Tensor& tq = inputs[size_t(s.at[Slot::queries])];
    lead = Shape(std::span(tq.shape().begin(), size_t(tq.rank() - 2)));
    heads = 1;
    for (int64_t n : lead) heads *= n;
    head_axis = lead.rank() > 1 ? lead[1] : 1;
    for (int slot = 0; slot < slots; ++slot) {
        if (s.at[slot] < 0) continue;
        Operand<T>& x = operand[slot];
        x.tensor = inputs[size_t(s.at[slot])];
        if (slot == Slot::weights) {
            x.tensor = x.tensor.contiguous();
            x.data = x.tensor.template data<T>();
            x.rows = 1, x.width = x.tensor.count();
            x.begin.assign(size_t(heads), 0);
            continue;
        }
        x.tensor = with_dense_matrices(x.tensor, slot == Slot::keys || slot == Slot::values);
        x.data = x.tensor.template data<T>();
        x.rows = x.tensor.size(-2), x.width = x.tensor.size(-1);
        x.row = x.tensor.strides()[x.tensor.rank() - 2];
        x.begin = matrices(lead, x.tensor);
    }
    this->queries = operand[Slot::queries].rows;
    this->keys = operand[Slot::keys].rows;
    width = operand[Slot::queries].width;
    this->values = operand[Slot::values].width;
    for (size_t i = size_t(s.inputs); i < inputs.size(); ++i)
        parameters.push_back(inputs[i].item<T>());
    learned = parameters.size();
    for (double c : s.formula.constants()) parameters.push_back(T(c));
    const double unit = s.soft() ? std::numbers::log2e : 1;
    log_score = T(unit);
    if (const auto& a = s.formula.affine();
        a && T(a->score) > T(0) && s.soft() && !has(inner_left) && !has(relative_rows)) {
        affine = true;
        score = T(a->score), norm = T(a->norm);
        log_score = T(a->score * unit), log_norm = T(a->norm * unit);
    }
    beside = heads;
    filter = s.filter;
    if (s.soft() && s.dropout.rate == 0 && !has(inner_left) && !has(relative_rows) &&
        !has(value_rows))
        far = FarPart::of(filter, this->queries, this->keys);
    if (far) filter = far->near, part = true;
}
template <class T>
Problem<T>::Problem(const Problem& all, int64_t head, const Group& group, Scratch& scratch)
    : spec(all.spec),
      heads(1),
      head_axis(1),
      queries(group.queries.count),
      keys(group.keys.count),
      width(all.width),
      values(all.values),
      filter(all.far->filter),
      beside(all.heads * all.far->groups),
      part(true),
      parameters(all.parameters),
      learned(all.learned),
      affine(all.affine),
      score(all.score),
      norm(all.norm),
      log_score(all.log_score),
      log_norm(all.log_norm),
      guarded(true) {
    for (const Slot slot : {Slot::queries, Slot::keys, Slot::values}) {
        const Rows& rows = slot == Slot::queries ? group.queries : group.keys;
        const Operand<T>& from = all.operand[slot];
        Operand<T>& x = operand[slot];
        x.rows = rows.count, x.width = x.row = from.width, x.begin = {0};
        // Keys too: rows far apart share few sets of the first-level cache, where packing would meet
        // them all at once.
        x.data = gathered(rows, x.width, from.row, from.of(head), scratch);
    }
    if (all.has(weights)) operand[weights] = all.operand[weights];
    for (int64_t n = 0; n < keys && !all.poisoned.empty(); ++n)
        poisoned.push_back(all.poisoned[size_t(head * all.keys + group.keys[n])]);
}
template <class T>
Tensor Problem<T>::clean(Slot slot) {
    Operand<T>& x = operand[slot];
    x.tensor = x.tensor.contiguous();
    const bool all = all_finite(x.tensor);
    const Tensor ok = all ? Tensor() : isfinite(x.tensor);
    if (!all) x.tensor = where(ok, x.tensor, Tensor::scalar(0, x.tensor.dtype())).contiguous();
    x.data = x.tensor.template data<T>();
    x.row = x.width;
    x.begin = matrices(lead, x.tensor);
    return ok;
}
template <class T>
void Problem<T>::guard_queries() {
    for (const Slot slot : {Slot::queries, inner_left, relative_left})
        if (has(slot)) clean(slot);
}
template <class T>
void Problem<T>::guard() {
    guarded = true;
    for (const Slot slot : {Slot::keys, Slot::values}) {
        const Operand<T>& x = operand[slot];
        const Tensor ok = clean(slot);
        if (!ok.defined()) continue;
        const Tensor bad = logical_not(all(ok, {-1})).contiguous();  // [B…, Tk]
        if (poisoned.empty()) poisoned.resize(size_t(heads * keys));
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t j = 0; j < keys; ++j)
                poisoned[size_t(h * keys + j)] |=
                    char(bad.data<bool>()[x.begin[size_t(h)] / x.width + j]);
    }
}
template <class T>
int64_t Problem<T>::seen(int64_t head) const {
    constexpr int64_t step = 32;
    int64_t most = 0;
    for (const int64_t i : {int64_t{0}, queries / 2, queries - 1}) {
        const int64_t first = i / block_queries * block_queries,
                      m = std::min(block_queries, queries - first);
        const auto unseen = [&](int64_t j, int64_t end) {
            const int64_t n = std::min(keys, end * step) - j * step;
            return filter.classify(tile(head, first, m, j * step, n)) == TileClass::empty;
        };
        int64_t steps = 0;
        for_seen(0, (keys + step - 1) / step, unseen, [&](int64_t) { ++steps; });
        most = std::max(most, steps * step);
    }
    return most;
}
template <class T>
bool Problem<T>::finite(Slot slot, int64_t head, int64_t first, int64_t rows) const {
    const Operand<T>& x = operand[slot];
    const T* const from = row(slot, head, first);
    if (x.row == x.width) return attend_rows<T>().finite(from, rows * x.width);
    for (int64_t n = 0; n < rows; ++n)
        if (!attend_rows<T>().finite(from + n * x.row, x.width)) return false;
    return true;
}
template <class T>
T Problem<T>::squares(Slot slot, int64_t head, int64_t first, int64_t rows) const {
    const Operand<T>& x = operand[slot];
    const T* const from = row(slot, head, first);
    if (x.row == x.width) return attend_rows<T>().squares(from, rows * x.width);
    T sum(0);
    for (int64_t n = 0; n < rows; ++n) sum += attend_rows<T>().squares(from + n * x.row, x.width);
    return sum;
}
template struct Problem<float>;
template struct Problem<double>;

}  // namespace mercer::attention
