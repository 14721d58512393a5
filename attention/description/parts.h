// The smoother's parts by name: every kernel, filter, position scheme and normaliser with its
// parameters, formula and source, and how to make one of them from arguments given as data. `mercer
// ops` and `mercer eval`, the gallery and their tests read these tables; a new part is a row.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "attention/smoother/reference.h"
#include "autograd/call.h"
#include "engine/error.h"

namespace mercer::description {

template <class T>
struct Part {
    std::string_view name, title;
    std::string_view latex, source;  // the formula; paper and equation
    std::vector<Parameter> parameters;
    std::function<T(std::span<const Argument>)> make;  // an argument for each parameter
};

/// In the order in which they are listed.
MERCER_API std::span<const Part<Kernel>> kernels();
MERCER_API std::span<const Part<Filter>> filters();
MERCER_API std::span<const Part<Position>> positions();
MERCER_API std::span<const Part<Normaliser>> normalisers();

/// Filters of filters.
struct Join {
    std::string_view name, title, latex, source;
    Filter (*make)(const std::vector<Filter>& of);  // of one or more
};
MERCER_API std::span<const Join> joins();

/// The row of that name. ValueError with the nearest name and all of them.
template <class Row>
const Row& named(std::span<const Row> rows, const char* kind, std::string_view name) {
    std::vector<std::string_view> names;
    std::string all;
    for (const Row& row : rows) {
        if (row.name == name) return row;
        names.push_back(row.name);
        all += (all.empty() ? "" : ", ") + std::string(row.name);
    }
    throw ValueError(kind, "'", name, "' is unknown", suggestion(name, names), " (there are ", all,
                     ")");
}

/// The operations of attention. Those on options (invoke is null) are called by call_smoother().
MERCER_API std::span<const Callable> operations();

/// attend(q, k, v) -> out, weights, fallbacks, nonpositive, lse, entropy; smoother_weights(q, k) -> out,
/// fallbacks, nonpositive; log_weights(q, k) -> out; visible(q, k) -> out; probe_rows(q, k) ->
/// log_similarity, magnitude. In the order of the operation's results; those that are not wanted (same
/// order) may be undefined. Counts are i64, of options.report, which must be given and outlive the
/// results' tape. attend's weights are those before dropout (graph_attention_weights: after).
MERCER_API std::vector<Var> call_smoother(const Callable& operation, const Operands& operands,
                                          SmootherOptions options, const std::vector<bool>& wanted);

}  // namespace mercer::description
