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

/// One parameter of C++ type T: its kind, its type's name, and its argument as a T.
template <class T>
struct Held;

template <Parameter::Kind k>
struct Operand {
    static constexpr Parameter::Kind kind = k;
    static constexpr int64_t most = INT64_MAX;
    static std::string type() { return {}; }
};
struct AttributeType {
    static constexpr Parameter::Kind kind = Parameter::Kind::attribute;
    static constexpr int64_t most = INT64_MAX;
};

template <>
struct Held<const Var&> : Operand<Parameter::Kind::value> {
    Var value;
    explicit Held(const Argument& a) {
        if (const auto& given = std::get<0>(a); !given.empty()) value = given[0];
    }
    const Var& get() const { return value; }
};
template <>
struct Held<const Tensor&> : Operand<Parameter::Kind::constant> {
    Tensor value;
    explicit Held(const Argument& a) {
        if (const auto& given = std::get<0>(a); !given.empty()) value = given[0].value();
    }
    const Tensor& get() const { return value; }
};
template <>
struct Held<std::span<const Var>> : Operand<Parameter::Kind::values> {
    std::span<const Var> value;
    explicit Held(const Argument& a) : value(std::get<0>(a)) {}
    std::span<const Var> get() const { return value; }
};

template <class T>
struct Plain : AttributeType {
    T value;
    explicit Plain(const Argument& a) : value(std::get<T>(std::get<1>(a))) {}
    T get() const { return value; }
};
template <>
struct Held<bool> : Plain<bool> {
    using Plain::Plain;
    static std::string type() { return "bool"; }
};
template <>
struct Held<int> : AttributeType {
    int value;
    static constexpr int64_t most = INT_MAX;
    explicit Held(const Argument& a) : value(int(std::get<int64_t>(std::get<1>(a)))) {}
    static std::string type() { return "int"; }
    int get() const { return value; }
};
template <>
struct Held<int64_t> : Plain<int64_t> {
    using Plain::Plain;
    static std::string type() { return "int"; }
};
template <>
struct Held<double> : Plain<double> {
    using Plain::Plain;
    static std::string type() { return "float"; }
};
template <>
struct Held<std::optional<int64_t>> : AttributeType {
    std::optional<int64_t> value;
    explicit Held(const Argument& a) {
        if (const auto* given = std::get_if<int64_t>(&std::get<1>(a))) value = *given;
    }
    static std::string type() { return "int|none"; }
    std::optional<int64_t> get() const { return value; }
};
template <>
struct Held<std::string_view> : AttributeType {
    std::string value;
    explicit Held(const Argument& a) : value(std::get<std::string>(std::get<1>(a))) {}
    static std::string type() { return "text"; }
    std::string_view get() const { return value; }
};
template <class List, class View = List>
struct Ints : AttributeType {
    using Element = std::remove_cvref_t<decltype(*std::declval<List>().begin())>;
    static constexpr int64_t most = std::numeric_limits<Element>::max();
    List value;
    explicit Ints(const Argument& a) {
        for (int64_t i : std::get<std::vector<int64_t>>(std::get<1>(a)))
            value.push_back(Element(i));
    }
    static std::string type() { return "ints"; }
    View get() const { return View(value); }
};
template <>
struct Held<const Shape&> : Ints<Shape, const Shape&> {
    using Ints::Ints;
};
template <>
struct Held<std::span<const int>> : Ints<std::vector<int>, std::span<const int>> {
    using Ints::Ints;
};
template <>
struct Held<std::span<const int64_t>> : Ints<std::vector<int64_t>, std::span<const int64_t>> {
    using Ints::Ints;
};
template <>
struct Held<DType> : AttributeType {
    DType value;
    explicit Held(const Argument& a) : value(dtype_named(std::get<std::string>(std::get<1>(a)))) {}
    static std::string type() { return "dtype"; }
    DType get() const { return value; }
};
/// [seed, stream].
template <>
struct Held<Key> : AttributeType {
    Key value;
    explicit Held(const Argument& a) {
        const auto& words = std::get<std::vector<int64_t>>(std::get<1>(a));
        value = {uint64_t(words[0]), uint64_t(words[1])};
    }
    static std::string type() { return "key"; }
    Key get() const { return value; }
};
template <class T>
requires std::is_enum_v<T>
struct Held<T> : AttributeType {
    static_assert(!choice_names<T>.empty(), "specialise choice_names beside the enum");
    T value;
    explicit Held(const Argument& a)
        : value(T(choice_named(std::get<std::string>(std::get<1>(a)), choice_names<T>))) {}
    static std::string type() {
        std::string text;
        for (std::string_view name : choice_names<T>)
            text += (text.empty() ? "" : "|") + std::string(name);
        return text;
    }
    T get() const { return value; }
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
