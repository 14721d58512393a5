// Tensors made from themselves or from others by a rule of engine/cpu/optim.h, all in one pass. For
// the files beside it.
#pragma once

#include <span>
#include <vector>

#include "engine/cpu/optim.h"
#include "engine/operation.h"
#include "engine/tensor.h"

namespace mercer {

/// Of one shape and dtype.
inline bool alike(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype();
}

/// ValueError if one is a null pointer.
void check_given(const char* operation, std::span<Tensor* const> parameters);

/// DTypeError unless f32 or f64.
void check_floating(const char* operation, const Tensor& t);

/// p[i] ← rule(p[i], g[i]) with `rate`, where g[i] is defined. The p are contiguous and like the g.
void combine(const char* operation, std::span<Tensor> p, std::span<const Tensor> g,
             cpu::UpdateRule rule, double rate);

/// t[i] ← rule(t[i]) with `rate`, where t[i] is defined: in place where nobody else holds the
/// memory, else in new memory.
void rewrite(const char* operation, std::span<Tensor> t, cpu::UpdateRule rule, double rate);

}  // namespace mercer
