// A smoother in JSON, as `mercer eval` and the gallery take it:
//
//   {"kernel": {"nadaraya_watson": {"bandwidth": "h", "profile": "triweight"}},
//    "filter": {"and": ["causal", {"padding": {"lengths": [48, 40]}}]},
//    "position": {"rotary": {"base": 500}}, "normaliser": {"entmax": {"alpha": 1.3}}}
//
// A part is its name, or an object of its name and its parameters. A parameter that is a tensor is
// the name of an input, or numbers on the spot: one, a list, or a list of lists of equal length.
#pragma once

#include <functional>

#include "attention/description/parts.h"
#include "cli/fields.h"

namespace mercer::cli {

/// The input of that name; refuses (field) where there is none.
using InputByName = std::function<Var(const std::string& field, const std::string& name)>;

/// The type of that attribute of `operation`, empty if there is none.
std::string attribute_type(const Callable& operation, std::string_view name);

/// Reads the parts that `operation` takes from attrs. Numbers on the spot become tensors of `dtype`, or
/// i64 and bool where the part takes indices. FormatError names the field that is wrong.
SmootherOptions read_smoother(const Callable& operation, const Json& attrs, DType dtype,
                              const InputByName& input);

}  // namespace mercer::cli
