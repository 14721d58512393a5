// The operations of attention as data, and the calls of those whose attributes are parts.
#include <map>

#include "attention/description/row.h"
#include "attention/smoother/probes.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer::description {
namespace {

// An operation on options and the types of its parameters: "" of an operand, the kind of a part, or a
// plain attribute's.
struct Smoother {
    OperationInfo info;
    std::vector<const char*> types;
};
const std::vector<Smoother>& smoothers() {
    static const auto row = [](std::string_view name, std::string_view latex,
                               std::string_view signature, std::vector<const char*> types,
                               std::string_view source = "attention/smoother/reference.h") {
        return Smoother{{name, latex, signature, Parity::bits, source, nullptr, "any"},
                        std::move(types)};
    };
    static const std::vector<Smoother> rows{
        row("attend", "\\sum_j \\frac{k(q_i, k_j)}{\\sum_{j'} k(q_i, k_{j'})} v_j",
            "q, k, v, kernel=dot_product, filter=full, position=none, normaliser=automatic, "
            "dropout=0 in [0,1), key=[0,0] -> out, weights, fallbacks, nonpositive, lse, entropy",
            {"", "", "", "kernel", "filter", "position", "normaliser", "float", "key"}),
        row("smoother_weights", "k(q_i, k_j) / \\sum_{j'} k(q_i, k_{j'})",
            "q, k, kernel=dot_product, filter=full, position=none, normaliser=automatic -> out, "
            "fallbacks, nonpositive",
            {"", "", "kernel", "filter", "position", "normaliser"}),
        row("log_weights", "\\log k(q_i, k_j)",
            "q, k, kernel=dot_product, filter=full, position=none",
            {"", "", "kernel", "filter", "position"}),
        row("probe_rows",
            "\\max_j -\\frac{\\|q_i - k_j\\|^2}{2 \\sqrt{d}}, "
            "\\operatorname{mean}_j \\frac{\\|q_i\\|^2 + \\|k_j\\|^2}{2 \\sqrt{d}}",
            "q, k, filter=full -> log_similarity, magnitude", {"", "", "filter"},
            "attention/smoother/probes.h"),
        row("visible", "[j \\in M(i)]", "q, k, filter=full", {"", "", "filter"},
            "attention/smoother/filter.h"),
    };
    return rows;
}

Callable describe_smoother(const Smoother& row) {
    std::vector<Parameter> parameters;
    for (const std::string type : row.types)
        parameters.push_back({type.empty() ? Parameter::Kind::value : Parameter::Kind::attribute,
                              "",
                              type,
                              {},
                              "",
                              false});
    return binding::describe(row.info, std::move(parameters), row.types.size() > 3, nullptr);
}

Var count(int64_t n) { return Tensor::scalar(n, DType::i64); }

Tensor visible_pairs(const Var& q, const Var& k, const Filter& filter) {
    if (q.rank() < 2 || k.rank() < 2)
        throw ShapeError("visible", "queries ", q.shape(), " and keys ", k.shape(),
                         " need two axes or more");
    Shape scores = q.shape();
    scores[q.rank() - 1] = k.size(-2);
    if (!filter.rule()) return Tensor::full(scores, 1, DType::boolean);
    return broadcast_to(visible(filter, scores), scores);
}

}  // namespace

std::span<const Callable> operations() {
    static const std::vector<Callable> list = [] {
        std::vector<Callable> bound;
        for (const Smoother& row : smoothers()) bound.push_back(describe_smoother(row));
        bound.insert(bound.end(), functions().begin(), functions().end());
        return bound;
    }();
    return list;
}

std::vector<Var> call_smoother(const Callable& operation, const Operands& operands,
                               SmootherOptions options, const std::vector<bool>& wanted) {
    const auto operand = [&](const char* name) -> const Var& {
        const auto at = operands.find(name);
        if (at == operands.end())
            throw ValueError(operation.info->name, "argument '", name, "' is missing");
        if (at->second.size() != 1)
            throw ValueError(operation.info->name, "argument '", name,
                             "' is one tensor, not a list");
        return at->second.front();
    };
    const Var &q = operand("q"), &k = operand("k");
    if (!options.report) throw ValueError(operation.info->name, "needs a report to count in");
    const SmootherReport& met = *options.report;
    std::map<std::string, Var, std::less<>> found;
    const auto wants = [&](std::string_view result) {
        for (size_t i = 0; i < operation.results.size() && i < wanted.size(); ++i)
            if (operation.results[i] == result) return bool(wanted[i]);
        return false;
    };
    const std::string_view name = operation.info->name;
    const bool counts = wants("fallbacks") || wants("nonpositive");
    if (name == "visible") {
        found["out"] = visible_pairs(q, k, options.filter);
    } else if (name == "probe_rows") {
        RowProbes probes = probe_rows(q.value(), k.value(), options.filter);
        found["log_similarity"] = std::move(probes.log_similarity);
        found["magnitude"] = std::move(probes.magnitude);
    } else if (name == "log_weights") {
        found["out"] = log_weights(q, k, options);
    } else if (name == "smoother_weights") {
        found["out"] = smoother_weights(q, k, options);
    } else {
        if (wants("lse") || wants("entropy")) {
            Smoothed all = attend_measured(q, k, operand("v"), options);
            found["out"] = std::move(all.out);
            found["lse"] = std::move(all.lse), found["entropy"] = std::move(all.entropy);
        } else if (wants("out") || counts) {
            found["out"] = attend(q, k, operand("v"), options);
        }
        if (counts) options.report = nullptr;  // what the same rows meet is counted once
        if (wants("weights")) found["weights"] = smoother_weights(q, k, options);
    }
    if (counts)
        found["fallbacks"] = count(met.fallbacks), found["nonpositive"] = count(met.nonpositive);
    std::vector<Var> results;
    for (const std::string& result : operation.results) results.push_back(found[result]);
    return results;
}

}  // namespace mercer::description
