// How the tables of parts are written: a row takes a function of C++ arguments and a signature as in
// ops.def.
#pragma once

#include <string>

#include "attention/description/parts.h"
#include "autograd/call_bind.h"

namespace mercer {
template <>
inline constexpr auto choice_names<Profile> =
    std::to_array<std::string_view>({"gaussian", "boxcar", "triangular", "epanechnikov", "biweight",
                                     "triweight", "laplace", "constant"});
template <>
inline constexpr auto choice_names<PairLayout> = std::to_array<std::string_view>({"interleaved",
                                                                                  "halves"});
template <>
inline constexpr auto choice_names<EncodingLayout> =
    std::to_array<std::string_view>({"interleaved", "halves", "fairseq"});
}  // namespace mercer

namespace mercer::description {

/// The operations of functions.def.
const std::vector<Callable>& functions();

template <class T, class... A>
Part<T> row(std::string_view name, std::string_view title, std::string_view signature,
            std::string_view latex, std::string_view source, T (*make)(A...)) {
    using Bound = binding::Binder<A...>;
    std::vector<Parameter> parameters = Bound::parameters();
    binding::read_signature(name, signature, parameters);
    return {name, title, latex, source, std::move(parameters), [make](std::span<const Argument> a) {
                return Bound::apply(make, a);
            }};
}

}  // namespace mercer::description
