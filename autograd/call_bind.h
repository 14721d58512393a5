// From a C++ function to a Callable: kinds and types of parameters follow from its type, names and defaults from the
// signature in ops.def. Included where a list of operations is bound.
#pragma once

#include <climits>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "autograd/call.h"
#include "engine/error.h"
#include "engine/random.h"
#include "engine/types.h"

namespace mercer::binding {

MERCER_API DType dtype_named(const std::string& name);
MERCER_API size_t choice_named(const std::string& name, std::span<const std::string_view> names);

/// What an attribute of C++ type T is held as: a view needs what it looks at.
template <class T>
struct Owner {
    using type = std::remove_cvref_t<T>;
};
template <class E>
struct Owner<std::span<const E>> {
    using type = std::vector<E>;
};
template <>
struct Owner<std::string_view> {
    using type = std::string;
};

/// The name of an attribute's type.
template <class T>
std::string type_name() {
    if constexpr (std::is_same_v<T, bool>) return "bool";
    if constexpr (std::is_integral_v<T>) return "int";
    if constexpr (std::is_same_v<T, std::optional<int64_t>>) return "int|none";
    if constexpr (std::is_floating_point_v<T>) return "float";
    if constexpr (std::is_same_v<T, std::string>) return "text";
    if constexpr (std::is_same_v<T, DType>) return "dtype";
    if constexpr (std::is_same_v<T, Key>) return "key";
    if constexpr (!std::is_enum_v<T>) return "ints";
    static_assert(!std::is_enum_v<T> || std::is_same_v<T, DType> || !choice_names<T>.empty(),
                  "specialise choice_names beside the enum");
    std::string text;
    for (std::string_view name : choice_names<T>)
        text += (text.empty() ? "" : "|") + std::string(name);
    return text;
}

/// An attribute as a T.
template <class T>
T read(const Attribute& a) {
    if constexpr (std::is_same_v<T, DType>) {
        return dtype_named(std::get<std::string>(a));
    } else if constexpr (std::is_enum_v<T>) {
        return T(choice_named(std::get<std::string>(a), choice_names<T>));
    } else if constexpr (std::is_same_v<T, std::optional<int64_t>>) {
        const auto* given = std::get_if<int64_t>(&a);
        return given ? T(*given) : T();
    } else if constexpr (std::is_same_v<T, int>) {
        return int(std::get<int64_t>(a));
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        return std::get<T>(a);
    } else {
        const auto& list = std::get<std::vector<int64_t>>(a);
        if constexpr (std::is_same_v<T, Key>) {
            return {uint64_t(list[0]), uint64_t(list[1])};
        } else {
            T out;
            for (int64_t i : list) out.push_back(std::remove_cvref_t<decltype(*out.begin())>(i));
            return out;
        }
    }
}

/// One parameter of C++ type T: its kind, its type's name, and its argument as a T.
template <class T>
struct Held {
    using Owned = typename Owner<T>::type;
    static constexpr bool narrow =
        std::is_same_v<Owned, int> || std::is_same_v<Owned, std::vector<int>>;
    static constexpr Parameter::Kind kind = Parameter::Kind::attribute;
    static constexpr int64_t most = narrow ? INT_MAX : INT64_MAX;
    static std::string type() { return type_name<Owned>(); }
    Owned value;
    explicit Held(const Argument& a) : value(read<Owned>(std::get<Attribute>(a))) {}
    T get() const { return T(value); }
};

template <Parameter::Kind k>
struct Operand {
    static constexpr Parameter::Kind kind = k;
    static constexpr int64_t most = INT64_MAX;
    static std::string type() { return {}; }
    std::span<const Var> given;
    explicit Operand(const Argument& a) : given(std::get<std::vector<Var>>(a)) {}
};
template <>
struct Held<const Var&> : Operand<Parameter::Kind::value> {
    using Operand::Operand;
    Var get() const { return given.empty() ? Var() : given[0]; }
};
template <>
struct Held<const Tensor&> : Operand<Parameter::Kind::constant> {
    using Operand::Operand;
    Tensor get() const { return given.empty() ? Tensor() : given[0].value(); }
};
template <>
struct Held<std::span<const Var>> : Operand<Parameter::Kind::values> {
    using Operand::Operand;
    std::span<const Var> get() const { return given; }
};

inline std::vector<Var> results(Var v) { return {std::move(v)}; }
inline std::vector<Var> results(Tensor t) { return {Var(std::move(t))}; }
inline std::vector<Var> results(std::vector<Var> v) { return v; }
template <class Tuple>
requires requires { std::tuple_size<Tuple>::value; }
std::vector<Var> results(Tuple tuple) {
    return std::apply([](auto&&... x) { return std::vector<Var>{Var(std::move(x))...}; },
                      std::move(tuple));
}

/// Whether a result of this type can carry a gradient.
template <class R>
inline constexpr bool carries = true;
template <>
inline constexpr bool carries<Tensor> = false;

template <class... A>
struct Binder {
    /// The overload that takes A....
    template <class R>
    static constexpr auto pick(R (*f)(A...)) {
        return f;
    }
    /// f(arguments…)
    template <class F>
    static auto apply(const F& f, [[maybe_unused]] std::span<const Argument> arguments) {
        return [&]<size_t... i>(std::index_sequence<i...>) {
            [[maybe_unused]] const std::tuple<Held<A>...> held{Held<A>(arguments[i])...};
            return f(std::get<i>(held).get()...);
        }
        (std::index_sequence_for<A...>{});
    }
    template <auto f>
    static std::vector<Var> invoke(std::span<const Argument> arguments) {
        return results(apply(f, arguments));
    }
    template <class R>
    static constexpr bool differentiable(R (*)(A...)) {
        return carries<R> &&
               ((std::is_same_v<A, const Var&> || std::is_same_v<A, std::span<const Var>>) || ...);
    }
    static std::vector<Parameter> parameters() {
        return {{Held<A>::kind, "", Held<A>::type(), {}, "", false, Held<A>::most}...};
    }
};
template <class F>
struct BinderOf;
template <class... A>
struct BinderOf<void(A...)> : Binder<A...> {};

/// Fills names, defaults and ranges of `parameters` from a signature as in ops.def, without results.
MERCER_API void read_signature(std::string_view name, std::string_view signature,
                               std::vector<Parameter>& parameters);
MERCER_API Callable describe(const OperationInfo& info, std::vector<Parameter> parameters,
                             bool differentiable,
                             std::vector<Var> (*invoke)(std::span<const Argument>));

}  // namespace mercer::binding

/// Binds a row FUNCTION(name, types, …) of a list, with Value = Var.
#define MERCER_BIND(list, row, name, types)                                                     \
    {                                                                                           \
        using Bound = mercer::binding::BinderOf<void types>;                                    \
        list.push_back(mercer::binding::describe(row, Bound::parameters(),                      \
                                                 Bound::differentiable(Bound::pick(&name)),     \
                                                 &Bound::template invoke<Bound::pick(&name)>)); \
    }
