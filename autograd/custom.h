// One's own operation, from two functions: values, and the derivative.
//
//   const auto log_cosh = custom(
//       "log_cosh", [](const Tensor& x) { return log(cosh(x)); },
//       [](auto& c) { c.give(0, c.g() * tanh(c.in(0))); });
//   Var y = log_cosh(x);
//
// `c` is a Vjp<Tensor>, or a Vjp<Var> under create_graph: written with functions that both know, the
// same text gives derivatives of higher order. gradcheck() checks all of it. A formula of single
// elements is better given to map(), which derives it.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "autograd/record.h"

namespace mercer {

/// What is kept for backward, as bits: input_bit(i) | output_bit_of(k). Reading what was not kept
/// gives an undefined value.
constexpr unsigned save_everything =
    Tape::save_inputs | output_bit_of(0) | output_bit_of(1) | output_bit_of(2) | output_bit_of(3);

namespace detail {

/// The name for the rest of the program: instruments remember names beyond the operation.
MERCER_API const char* interned(std::string_view name);

template <class T>
inline constexpr size_t results = 0;
template <>
inline constexpr size_t results<Tensor> = 1;
template <size_t n>
inline constexpr size_t results<std::array<Tensor, n>> = n;

template <class Forward, class Backward>
struct CustomBody {
    const char* name;
    Forward forward;
    Backward backward;
    unsigned saves;
    Rule rule;

    CustomBody(std::string_view n, Forward f, Backward b, unsigned s)
        : name(interned(n)),
          forward(std::move(f)),
          backward(std::move(b)),
          saves(s),
          rule{name, differentiate<Tensor>, differentiate<Var>} {}

    template <class X>
    static void differentiate(Vjp<X>& c) {
        if constexpr (std::invocable<const Backward&, Vjp<X>&>)
            c.template attrs<CustomBody>().backward(c);
        else
            throw TapeError(c.name(),
                            "its derivative is written for values only, so it has none "
                            "of higher order; take it by a generic lambda, `auto& c`");
    }
};

}  // namespace detail

template <class Forward, class Backward>
class Custom {
    using Body = detail::CustomBody<Forward, Backward>;

public:
    Custom(std::string_view name, Forward forward, Backward backward, unsigned saves)
        : body_(
              std::make_shared<const Body>(name, std::move(forward), std::move(backward), saves)) {}

    /// A Var, or an array of as many as forward gives tensors (at most four).
    template <class... X>
    requires(std::convertible_to<const X&, Var>&&...) auto operator()(const X&... x) const {
        return [&](const auto&... v) {
            const auto out = forward(v.value()...);
            const Var* const inputs[] = {&v...};
            return recorded(out, inputs);
        }(Var(x)...);
    }

private:
    template <class... T>
    auto forward(const T&... x) const {
        const OperationScope scope(body_->name, {&x...});
        auto out = body_->forward(x...);
        static_assert(detail::results<decltype(out)> > 0 && detail::results<decltype(out)> <= 4,
                      "forward returns a Tensor, or a std::array of at most four");
        return out;
    }

    template <class Out>
    auto recorded(const Out& out, VarRefs inputs) const {
        instruments::settle();
        Tape* tape = Tape::of(body_->name, inputs);
        if (tape) tape->own(body_);
        return on_tape(tape, body_->rule, body_.get(), inputs, out, saves(detail::results<Out>));
    }
    // The bits of results that exist.
    unsigned saves(size_t results) const {
        unsigned bits = body_->saves;
        for (int k = int(results); k < 4; ++k) bits &= ~output_bit_of(k);
        return bits;
    }

    std::shared_ptr<const Body> body_;
};

/// forward(const Tensor&…) → Tensor or std::array<Tensor, n>; backward(Vjp<X>&). What forward
/// throws passes through; a cotangent of a wrong shape is a ShapeError that names the operation. The
/// operation may be used on any tape and thread, as far as the two functions allow.
template <class Forward, class Backward>
Custom<Forward, Backward> custom(std::string_view name, Forward forward, Backward backward,
                                 unsigned saves = save_everything) {
    return {name, std::move(forward), std::move(backward), saves};
}

}  // namespace mercer
