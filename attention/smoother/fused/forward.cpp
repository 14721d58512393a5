#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>

#include "attention/smoother/fused/forward_block.h"
#include "attention/smoother/fused/fused.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer::attention {
namespace {

constexpr int64_t panel_rows = 28;  // of queries whose scores of all keys are held at once

template <class T>
class Forward {
public:
    Forward(const Problem<T>& p, FusedWants wants, FusedResult& r)
        : p_(p),
          wants_(wants),
          r_(r),
          out_(r.out.mutable_data<T>()),
          statistics_(r.statistics.mutable_data<T>()),
          measures_(wants.measures ? r.measures.mutable_data<T>() : nullptr) {}

    /// False where keys or values hold NaN or infinities and nothing was computed to use.
    bool run() {
        const int64_t step = p_.spec.sparse() ? panel_rows : block_queries;
        const int64_t blocks = (p_.queries + step - 1) / step;
        const bool whole = p_.whole_heads();
        // Few small heads are begun side by side, and their blocks handed out as well.
        const bool together = whole || p_.near();
        parallel_for(p_.heads, together ? 1 : p_.heads, [&](int64_t begin, int64_t end) {
            for (int64_t head = begin; head < end; ++head) {
                Scratch scratch;
                const PackedHead<T> packed(p_, head, scratch);
                if (!packed.finite) finite_ = false;
                if (!finite_) return;
                // As a rule this thread's, though it may begin another piece of the loop.
                const int64_t next = whole ? head + 1 : p_.heads;
                parallel_for(blocks, whole ? blocks : 1, [&](int64_t first, int64_t last) {
                    Ahead<T> ahead;
                    for (int64_t b = first; b < last; ++b)
                        block(packed, head, next, b * step, step, ahead);
                });
            }
        });
        if (!finite_) return false;
        if (p_.far) far();
        if (p_.spec.report) {
            p_.spec.report->fallbacks += report_.fallbacks;
            p_.spec.report->nonpositive += report_.nonpositive;
        }
        poison();
        return true;
    }

private:
    void block(const PackedHead<T>& packed, int64_t head, int64_t next, int64_t i, int64_t step,
               Ahead<T>& ahead) {
        const int64_t m = std::min(step, p_.queries - i), row = head * p_.queries + i;
        Statistics<T> s{};
        for (int k = 0; k < most_statistics; ++k)
            if (k < r_.statistics.size(0)) s.of[k] = statistics_ + k * p_.heads * p_.queries + row;
        Results<T> to{out_ + row * p_.values, nullptr, s};
        if (measures_) to.entropy = measures_ + p_.heads * p_.queries + row;
        look_ahead(head, next, i, step, ahead);
        Block<T> b{p_, packed, head, i, m, to, &ahead};
        if (p_.spec.soft()) {
            b.softmax();
        } else if (p_.spec.divides()) {
            SmootherReport report;
            b.divide(report);
            const std::lock_guard lock(mutex_);
            report_.fallbacks += report.fallbacks, report_.nonpositive += report.nonpositive;
        } else {
            std::vector<T> epsilon;
            const bool any = p_.spec.normaliser == Normaliser::Kind::entmax;
            if (any)
                for (int64_t r = 0; r < m; ++r) epsilon.push_back(p_.of(alpha, head)[i + r] - T(1));
            b.sparse(sparse_kind(p_.spec), epsilon.data(), any && wants_.gradient);
        }
        note_poison(b, row, 1);
    }
    /// What is far, joined with what is near, group by group.
    void far() {
        const int64_t groups = p_.far->groups, all = p_.heads * groups;
        const bool whole = all >= 2 * thread_count();
        parallel_for(all, whole ? 1 : all, [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
                Scratch scratch;
                const Group group = p_.far->group(n / groups % p_.head_axis, n % groups);
                const Problem<T> p(p_, n / groups, group, scratch);
                const PackedHead<T> packed(p, 0, scratch);
                parallel_for(p.blocks(), whole ? p.blocks() : 1, [&](int64_t first, int64_t last) {
                    for (int64_t b = first; b < last; ++b)
                        far_block(packed, p, n / groups, group.queries, b * block_queries);
                });
            }
        });
    }
    void far_block(const PackedHead<T>& packed, const Problem<T>& p, int64_t head,
                   const Rows& queries, int64_t i) {
        Scratch scratch;
        const int64_t m = std::min(block_queries, p.queries - i), n = p_.heads * p_.queries,
                      row = head * p_.queries + queries[i];
        T* const out = scratch.take<T>(m * p.values);
        // max, share, entropy; of what is near too; factors of both
        T* const x = scratch.take<T>(8 * block_queries);
        const auto of = [&](int k) { return x + k * block_queries; };
        T* const entropy = measures_ ? of(2) : nullptr;
        Block<T> b{p, packed, 0, i, m, {out, entropy, {{of(0), of(1)}}}, nullptr};
        b.softmax();
        T* const statistics = statistics_ + row;
        T* const near[] = {statistics, statistics + n, entropy ? measures_ + n + row : nullptr};
        for (int k = 0; k < (entropy ? 3 : 2); ++k)
            for (int64_t r = 0; r < m; ++r) of(3 + k)[r] = near[k][r * queries.step];
        attend_weights<T>().join(m, of(3), of(4), entropy ? of(5) : nullptr, of(0), of(1), entropy,
                                 of(6), of(7));
        for (int k = 0; k < (entropy ? 3 : 2); ++k)
            for (int64_t r = 0; r < m; ++r) near[k][r * queries.step] = of(3 + k)[r];
        attend_rows<T>().blend(m, p.values, of(6), out_ + row * p.values, queries.step * p.values,
                               of(7), out, p.values);
        note_poison(b, row, queries.step);
    }
    void note_poison(const Block<T>& b, int64_t row, int64_t step) {
        if (b.poisoned.empty()) return;
        const std::lock_guard lock(mutex_);
        for (int64_t r = 0; r < b.m; ++r) {
            if (b.poisoned[size_t(r)]) poisoned_.push_back(row + r * step);
            if (b.poisoned[size_t(r)] & Block<T>::by_itself) own_.push_back(row + r * step);
        }
    }
    /// What comes after queries [i, i + step): where results go, the next ones, and if it fits the
    /// second-level cache beside this head, a part of the next.
    void look_ahead(int64_t head, int64_t next, int64_t i, int64_t step, Ahead<T>& a) const {
        const int64_t m = std::min(step, p_.queries - i), end = i + m;
        a.forget();
        a.soon(out_ + (head * p_.queries + i) * p_.values, m * p_.values);
        const auto rows = [&](Slot slot, int64_t h, int64_t first, int64_t last, auto add) {
            const auto& [width, apart] = std::pair(p_.operand[slot].width, p_.operand[slot].row);
            if (apart == width) (a.*add)(p_.row(slot, h, first), (last - first) * width);
        };
        if (end < p_.queries)
            rows(queries, head, end, std::min(end + step, p_.queries), &Ahead<T>::soon);
        else if (next < p_.heads)
            rows(queries, next, 0, std::min(step, p_.queries), &Ahead<T>::soon);
        if (next >= p_.heads || !p_.near()) return;
        for (const Slot slot : {keys, Slot::values})
            rows(slot, next, p_.keys * i / p_.queries, p_.keys * end / p_.queries,
                 &Ahead<T>::later);
    }
    /// Queries that see NaN or infinities get NaN; D of the backward pass is made of what they would
    /// be without. Those that hold them themselves have no weights either.
    void poison() {
        if (poisoned_.empty()) return;
        if (wants_.gradient) r_.mean = r_.out.clone();
        for (int64_t row : poisoned_)
            std::fill_n(out_ + row * p_.values, p_.values, std::numeric_limits<T>::quiet_NaN());
        const bool divides = p_.spec.divides();  // and then the first says which key was nearest
        for (int64_t row : own_)
            for (int64_t k = 0; k < r_.statistics.size(0); ++k)
                statistics_[k * p_.heads * p_.queries + row] =
                    divides && k == 0 ? T(-1) : std::numeric_limits<T>::quiet_NaN();
    }

    const Problem<T>& p_;
    FusedWants wants_;
    FusedResult& r_;
    T *out_, *statistics_, *measures_;
    std::mutex mutex_;
    std::atomic<bool> finite_{true};
    SmootherReport report_;
    std::vector<int64_t> poisoned_, own_;  // rows; of the latter the query itself is bad
};

template <class T>
void forward(const FusedSpec& spec, std::span<const Tensor> inputs, FusedWants wants,
             FusedResult& r) {
    Problem<T> p(spec, inputs);
    const DType dtype = inputs[0].dtype();
    Shape shape = p.lead, rows = p.lead;
    rows.push_back(p.queries);
    shape.push_back(p.queries), shape.push_back(p.values);
    r.out = Tensor::empty(shape, dtype);
    const int kept = !spec.sparse() ? 2 : spec.normaliser == Normaliser::Kind::entmax ? 5 : 3;
    r.statistics = Tensor::empty({kept, p.heads, p.queries}, dtype);
    r.mean = r.out;
    Shape measures{2};
    for (int64_t n : rows) measures.push_back(n);
    if (wants.measures) r.measures = Tensor::empty(measures, dtype);
    if (!Forward<T>(p, wants, r).run()) {
        p.guard();
        Forward<T>(p, wants, r).run();
    }
    if (!wants.measures) return;
    // log Σe^z = ln 2·max − log share; −∞ for a row that saw nothing.
    const int64_t n = p.heads * p.queries;
    const T *max = r.statistics.data<T>(), *share = max + n;
    T* const lse = r.measures.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i)
        lse[i] = share[i] == T(0) ? -std::numeric_limits<T>::infinity()
                                  : T(std::numbers::ln2) * max[i] - std::log(share[i]);
}

}  // namespace

FusedResult fused_forward(const FusedSpec& spec, std::span<const Tensor> inputs, FusedWants wants) {
    const Tensor &q = inputs[0], &k = inputs[1], &v = inputs[2];
    const OperationScope scope("attend", {&q, &k, &v});
    if (const FilterRule* rule = spec.filter.rule()) rule->check(extent(q.shape(), k.size(-2)));
    FusedResult r;
    if (q.dtype() == DType::f64)
        forward<double>(spec, inputs, wants, r);
    else
        forward<float>(spec, inputs, wants, r);
    return r;
}

}  // namespace mercer::attention
