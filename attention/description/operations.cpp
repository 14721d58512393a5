// The operations of attention as data, and the calls of those whose attributes are parts.
#include <map>

#include "attention/description/row.h"
#include "attention/smoother/position/encoding.h"
#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer::description {
namespace {

// With its options one by one.
Var sinusoidal_encoding(const Var& positions, int64_t width, DType dtype, EncodingLayout layout,
                        double base, int64_t padding_index) {
    return mercer::sinusoidal_encoding(positions, width, dtype, {layout, base, padding_index});
}

constexpr OperationInfo functions[] = {
#define FUNCTION(name, types, signature, latex, parity, source) \
    {#name, latex, signature, Parity::parity, source, nullptr, "any"},
#include "attention/description/functions.def"
#undef FUNCTION
};

constexpr std::string_view weights_source = "attention/smoother/reference.h";
constexpr OperationInfo smoothers[] = {
    {"attend", "\\sum_j \\frac{k(q_i, k_j)}{\\sum_{j'} k(q_i, k_{j'})} v_j",
     "q, k, v, kernel=dot_product, filter=full, normaliser=automatic -> out, weights, "
     "fallbacks, nonpositive",
     Parity::bits, weights_source, nullptr, "any"},
    {"smoother_weights", "k(q_i, k_j) / \\sum_{j'} k(q_i, k_{j'})",
     "q, k, kernel=dot_product, filter=full, normaliser=automatic -> out, fallbacks, "
     "nonpositive",
     Parity::bits, weights_source, nullptr, "any"},
    {"log_weights", "\\log k(q_i, k_j)", "q, k, kernel=dot_product, filter=full", Parity::bits,
     weights_source, nullptr, "any"},
    {"visible", "[j \\in M(i)]", "q, k, filter=full", Parity::bits, "attention/smoother/filter.h",
     nullptr, "any"},
};

// Operands are tensors, everything else a part of the kind that it is named after.
Callable describe_smoother(const OperationInfo& info) {
    std::vector<Parameter> parameters;
    const std::string_view all = info.signature.substr(0, info.signature.find(" ->"));
    for (size_t from = 0; from < all.size();) {
        const size_t end = std::min(all.find(',', from), all.size());
        const std::string_view one = all.substr(from, end - from);
        const size_t equals = one.find('=');
        const bool operand = equals == one.npos;
        parameters.push_back({operand ? Parameter::Kind::value : Parameter::Kind::attribute,
                              "",
                              std::string(operand ? "" : one.substr(0, equals)),
                              {},
                              "",
                              false});
        from = end + 2;
    }
    return binding::describe(info, std::move(parameters), info.name != "visible", nullptr);
}

Var count(int64_t n) { return Tensor::scalar(n, DType::i64); }

Tensor visible_pairs(const Var& q, const Var& k, const Filter& filter) {
    if (q.rank() < 2 || k.rank() < 2)
        throw ShapeError("visible", "queries " + to_string(q.shape()) + " and keys " +
                                        to_string(k.shape()) + " need two axes or more");
    Shape scores = q.shape();
    scores[q.rank() - 1] = k.size(-2);
    if (!filter.rule()) return Tensor::full(scores, 1, DType::boolean);
    return broadcast_to(visible(filter, scores), scores);
}

}  // namespace

std::span<const Callable> operations() {
    static const std::vector<Callable> list = [] {
        using Value = Var;
        std::vector<Callable> bound;
        for (const OperationInfo& info : smoothers) bound.push_back(describe_smoother(info));
        const OperationInfo* row = functions;
#define FUNCTION(name, types, ...) MERCER_BIND(bound, *row++, name, types)
#include "attention/description/functions.def"
#undef FUNCTION
        return bound;
    }();
    return list;
}

std::vector<Var> call_smoother(const Callable& operation, const Operands& operands,
                               SmootherOptions options, const std::vector<bool>& wanted) {
    const auto operand = [&](const char* name) -> const Var& {
        const auto at = operands.find(name);
        if (at == operands.end())
            throw ValueError(operation.info->name,
                             "argument '" + std::string(name) + "' is missing");
        if (at->second.size() != 1)
            throw ValueError(operation.info->name,
                             "argument '" + std::string(name) + "' is one tensor, not a list");
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
    } else if (name == "log_weights") {
        found["out"] = log_weights(q, k, options);
    } else if (name == "smoother_weights") {
        found["out"] = smoother_weights(q, k, options);
    } else {
        if (wants("out") || counts) found["out"] = attend(q, k, operand("v"), options);
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
