// What one can hang into a tape: look at values and gradients, change them, or choose how what is
// kept for backward is kept.
//
//   tape.on_value([&](std::string_view operation, const Var& y) { count[operation]++; return Var(); });
//   tape.on_gradient(h, [](const Var& g) { return clamp(g, -1.0, 1.0); });
//   tape.on_saved([](const Tensor& x) { return [h = cast(x, DType::f32)] { return cast(h, DType::f64); }; });
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/var.h"

namespace mercer {

/// Called with each result as it is recorded, also with those that create_graph records. A defined
/// return value takes the result's place downstream (ShapeError unless shape and dtype are the
/// same); a constant there cuts the gradient. What the hook itself records is not reported to it.
using ValueHook = std::function<Var(std::string_view operation, const Var& result)>;

/// Called in a backward pass with dL/dv, once all of it is there, and only where it is needed for
/// what was asked for and anything flowed. A defined return value takes its place. The gradient is
/// a constant, or with create_graph a value on the tape.
using GradientHook = std::function<Var(const Var& gradient)>;

/// Called with a tensor that is to be kept for backward; returns how to get it back (same shape and
/// dtype: ShapeError else), which is called once for each time that a derivative reads it. Such
/// values are not in saved_bytes(), and a later change in place of the original is not noticed.
/// Nothing may be recorded on the same tape meanwhile: TapeError.
using RestoreSaved = std::function<Tensor()>;
using SavedHook = std::function<RestoreSaved(const Tensor& saved)>;

struct Hooks {
    ValueHook value;
    SavedHook saved;
    std::map<uint32_t, std::vector<GradientHook>> gradients;  // by id
    struct Packed {
        Shape shape;
        DType dtype;
        RestoreSaved restore;
    };
    std::unordered_map<uint32_t, Packed> packed;  // by place among the saved
    bool in_value_hook = false, in_saved_hook = false;
};

}  // namespace mercer
