// Multi-head attention over any smoother (Vaswani et al. 2017, section 3.2.2):
//
//   head_h = Att(x Wq_h, s Wk_h, s Wv_h),   y = [head_1 … head_H] Wo
//
// where Att is a kernel smoother (attention/smoother/reference.h) and s what is attended to: x
// itself, [memory; x], or the states of another sequence.
#pragma once

#include <functional>

#include "attention/smoother/probes.h"
#include "models/layers/cache.h"
#include "models/layers/linear.h"
#include "models/layers/position.h"

namespace mercer {

/// A part of the smoother with a learned parameter: make(parameter), which begins as `start`. For
/// what has to be positive, let it make it so: [](const Var& p) { return nadaraya_watson(exp(p)); }.
template <class Part>
struct Learned {
    std::function<Part(const Var&)> make{};
    Tensor start{};
};

struct AttentionOptions {
    PositionOptions position{};
    /// Of features, or of features and positions (Tsai et al. 2019, Eq. 8 and 7).
    ValueInput values = ValueInput::features;
    /// One matrix for queries and keys (Tsai et al. 2019, section 2.3.2).
    bool symmetric = false;
    bool bias = true;  // of the projections
    /// Instead of the smoother's own: where it depends on the lengths, as with a memory.
    std::function<Filter(int64_t queries, int64_t keys)> filter{};
    Learned<Kernel> kernel{};
    Learned<Normaliser> normaliser{};
    /// Attends to states of this width, of another sequence, whose places begin where x's do; 0: to
    /// x's own, where x ends with them.
    int64_t source = 0;
};

struct MERCER_API Attention {
    int64_t heads;
    SmootherOptions smoother;
    AttentionOptions options;
    Linear query, key, value, output;  // `key` is empty where `symmetric`
    PositionLayer position;
    Tensor kernel_parameter, normaliser_parameter;

    /// ValueError unless `heads` divides `width`; and for a position in `smoother`, which is made
    /// from `options`.
    Attention(int64_t width, int64_t heads, SmootherOptions smoother, Key key,
              AttentionOptions options = {});

    /// x [n, width] or [B, n, width] to the same; s [m, …] or [B, m, …].
    Var forward(const Binding& at, const Var& x) const { return forward(at, x, x); }
    Var forward(const Binding& at, const Var& x, const Var& s, WeightDropout dropout = {}) const;
    /// How each query weighs the keys in each head: [heads, n, m], [B, heads, n, m]; rows sum to 1.
    Var weights(const Binding& at, const Var& x) const { return weights(at, x, x); }
    Var weights(const Binding& at, const Var& x, const Var& s) const;
    /// The next tokens of x, [n, width] or [B, n, width], after those that the cache holds, which
    /// takes them up: the same rows as forward() of the whole, where the filter is causal (chosen by
    /// the lengths in `options`, as with a memory). No gradients. ValueError for a layer that
    /// attends to another sequence.
    Tensor decode(const Tensor& x, KeyValueCache& cache) const;
    /// Similarity and magnitude of the projected states (attention/smoother/probes.h): how they
    /// change in training is Fig. 3 of Song et al. 2021. Schemes of position that have a term of
    /// their own are left out of it.
    LayerProbe probe(const Binding& at, const Var& x, const Var& s) const;
    void collect(Parameters& parameters, const std::string& prefix);

private:
    struct Operands {
        Var q, k, v;
        SmootherOptions smoother;
    };
    Operands operands(const Binding& at, const Var& x, const Var& s) const;
    // Projections of queries that begin at place `first`, of keys and values from place `from` on.
    Operands projected(const Binding& at, const Var& x, const Var& s, int64_t first,
                       int64_t from) const;
    SmootherOptions smoother_at(const Binding& at, int64_t queries, int64_t keys, int64_t first,
                                DType dtype, Tensor* kept = nullptr) const;
    Var joined(const Binding& at, const Var& x, const Operands& o) const;
    Var split_heads(const Var& x) const;
};

/// The memory of the next segment: the last `length` states of [memory; x], without their gradient
/// (Dai et al. 2019, section 3.2). Attend to with_memory(memory, x).
MERCER_API Var next_memory(const Var& memory, const Var& x, int64_t length);

}  // namespace mercer
