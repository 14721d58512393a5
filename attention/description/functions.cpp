// The functions of attention that take tensors and plain attributes, bound by name; those whose options
// are a struct or whose results are one are spelt out here.
#include <tuple>

#include "attention/description/row.h"
#include "attention/graph/graph_attention.h"
#include "attention/smoother/bandwidth.h"
#include "attention/smoother/position/encoding.h"
#include "attention/smoother/position/relative.h"
#include "attention/smoother/position/transformer_xl.h"
#include "attention/smoother/probes.h"

namespace mercer::description {
namespace {

Tensor number(double x) { return Tensor::scalar(x, DType::f64); }
Tensor count(int64_t n) { return Tensor::scalar(n, DType::i64); }

Var sinusoidal_encoding(const Var& positions, int64_t width, DType dtype, EncodingLayout layout,
                        double base, int64_t padding_index) {
    return mercer::sinusoidal_encoding(positions, width, dtype, {layout, base, padding_index});
}

Var with_memory(const Tensor& memory, const Var& x) {  // no gradient goes into the memory
    return mercer::with_memory(memory, x);
}

std::tuple<Var, Var, Var> similarity_and_magnitude(const Var& q, const Var& k) {
    LogFactors f = mercer::similarity_and_magnitude(q, k);
    return {f.similarity, f.query, f.key};
}

std::tuple<Tensor, Tensor> leave_one_out(const Tensor& x, const Tensor& y, double bandwidth,
                                         Profile profile) {
    const LeaveOneOut found = mercer::leave_one_out(x, y, bandwidth, profile);
    return {number(found.error), count(found.fallbacks)};
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> choose_bandwidth(const Tensor& x,
                                                                    const Tensor& y,
                                                                    Profile profile, int points,
                                                                    double low, double high,
                                                                    int refinements) {
    const BandwidthChoice c =
        mercer::choose_bandwidth(x, y, {profile, points, low, high, refinements});
    return {number(c.bandwidth), number(c.rmse), count(c.fallbacks), Tensor::from(c.tried),
            Tensor::from(c.tried_rmse)};
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> learn_bandwidth(const Tensor& x, const Tensor& y,
                                                                   double start, Profile profile,
                                                                   int64_t iterations) {
    const LearnedBandwidth c = mercer::learn_bandwidth(x, y, start, profile, iterations);
    return {number(c.bandwidth), number(c.rmse), count(c.fallbacks), count(c.evaluations),
            Tensor::scalar(c.converged, DType::boolean)};
}

Var graph_attention(const Var& h, const Var& source, const Var& target, const Tensor& offsets,
                    const Tensor& sources, double slope, double dropout, Key key) {
    return mercer::graph_attention(h, source, target, {offsets, sources}, {slope, {dropout, key}});
}
Var graph_attention_weights(const Var& h, const Var& source, const Var& target,
                            const Tensor& offsets, const Tensor& sources, double slope,
                            double dropout, Key key) {
    return mercer::graph_attention_weights(h, source, target, {offsets, sources},
                                           {slope, {dropout, key}});
}
std::tuple<Var, Var, Var, Var> decompose_graph_attention(const Var& h, const Var& source,
                                                         const Var& target, const Tensor& offsets,
                                                         const Tensor& sources, double slope) {
    GraphDecomposition d =
        mercer::decompose_graph_attention(h, source, target, {offsets, sources}, {slope, {}});
    return {Var(d.c), d.target, d.source, d.magnitude};
}

constexpr OperationInfo infos[] = {
#define FUNCTION(name, types, signature, latex, parity, source) \
    {#name, latex, signature, Parity::parity, source, nullptr, "any"},
#include "attention/description/functions.def"
#undef FUNCTION
};

}  // namespace

const std::vector<Callable>& functions() {
    static const std::vector<Callable> list = [] {
        using Value = Var;
        std::vector<Callable> bound;
        const OperationInfo* row = infos;
#define FUNCTION(name, types, ...) MERCER_BIND(bound, *row++, name, types)
#include "attention/description/functions.def"
#undef FUNCTION
        return bound;
    }();
    return list;
}

}  // namespace mercer::description
