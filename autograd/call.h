// Calling any operation of the list by its name, with operands and attributes as data. It is what `mercer eval` and
// `mercer ops` stand on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/var.h"
#include "engine/attribute.h"
#include "engine/ops/registry.h"

namespace mercer {

struct Parameter {
    enum class Kind : uint8_t { value, constant, values, attribute };
    Kind kind;  // differentiable, not differentiable, a list of values, or an attribute
    std::string name;
    std::string
        type;  // of an attribute: bool, int, int|none, float, ints, dtype, key, text, or its choices "valid|same"
    std::optional<Attribute> fallback;  // none: it must be given
    std::string range;                  // "[0,1)", empty where any will do
    bool optional = false;              // an operand that may be absent
    int64_t most = INT64_MAX;           // of int and ints: the type's last number
};

/// What a parameter of a call is given.
using Argument = std::variant<std::vector<Var>, Attribute>;

struct Callable {
    const OperationInfo* info;
    std::vector<Parameter> parameters;
    std::vector<std::string> results;
    bool result_list;  // one name for as many results as there are
    bool differentiable;
    std::vector<Var> (*invoke)(std::span<const Argument> arguments);  // one for each parameter
};

/// Every operation, in the order of ops.def.
MERCER_API std::span<const Callable> callables();
/// ValueError with the nearest name if there is none.
MERCER_API const Callable& callable(std::string_view name);

using Operands = std::map<std::string, std::vector<Var>, std::less<>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// The argument of each parameter of `name`, defaults included. ValueError names the parameter that is missing, unknown
/// (with the nearest name), of a wrong type or out of range. Numbers convert where exact (2 for a float, 2.0 for an int).
MERCER_API std::vector<Argument> arguments_for(std::string_view name,
                                               std::span<const Parameter> parameters,
                                               const Operands& operands,
                                               const Attributes& attributes);
/// "; did you mean '…'?" with the one among `names` that is nearest, or nothing.
MERCER_API std::string suggestion(std::string_view name, std::span<const std::string_view> names);

/// Calls it, with arguments_for(…); the operation's own errors pass through.
MERCER_API std::vector<Var> call(const Callable& function, const Operands& operands,
                                 const Attributes& attributes);

}  // namespace mercer
