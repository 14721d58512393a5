#include "autograd/hooks.h"

#include "autograd/vjp.h"

namespace mercer {

namespace {
Hooks& made(std::unique_ptr<Hooks>& hooks) {
    if (!hooks) hooks = std::make_unique<Hooks>();
    return *hooks;
}

struct Inside {
    bool& flag;
    explicit Inside(bool& f) : flag(f) { flag = true; }
    ~Inside() { flag = false; }
};
}  // namespace

void Tape::on_gradient(const Var& v, GradientHook hook) {
    const uint32_t id = id_of("on_gradient", v);
    made(hooks_).gradients[id].push_back(std::move(hook));
}
void Tape::on_value(ValueHook hook) { made(hooks_).value = std::move(hook); }
void Tape::on_saved(SavedHook hook) { made(hooks_).saved = std::move(hook); }

// The result of a node, or what the hook puts in its place.
Var Tape::hooked(const char* operation, Var result) {
    Hooks& hooks = *hooks_;
    if (!hooks.value || hooks.in_value_hook) return result;
    const Inside inside(hooks.in_value_hook);
    const AtWork at_work(*this);
    const ValueHook hook = hooks.value;  // it may take itself away
    Var instead = hook(operation, result);
    if (!instead.defined()) return result;
    require_like(operation, "what the value hook returned", result.shape(), result.dtype(),
                 instead.value());
    if (!instead.is_constant()) id_of(operation, instead);
    return instead;
}

bool Tape::pack(const Tensor& value) {
    if (!hooks_->saved || !value.defined()) return false;
    const Inside inside(hooks_->in_saved_hook);
    const AtWork at_work(*this);
    const SavedHook hook = hooks_->saved;  // it may take itself away
    Hooks::Packed packed{value.shape(), value.dtype(), hook(value)};
    if (!packed.restore) return false;
    hooks_->packed.insert_or_assign(uint32_t(saved_.size()), std::move(packed));
    return true;
}

Tensor Tape::unpack(const char* operation, uint32_t place) const {
    if (!hooks_) return {};
    const auto found = hooks_->packed.find(place);
    if (found == hooks_->packed.end()) return {};
    const Hooks::Packed packed = found->second;  // what it calls may drop it
    Tensor value = packed.restore();
    require_like(operation, "what the hook on saved values gave back", packed.shape, packed.dtype,
                 value);
    return value;
}

template <class X>
void Tape::call_hooks(Backward<X>& pass, uint32_t id) const {
    const auto found = hooks_->gradients.find(id);
    if (found == hooks_->gradients.end() || !pass.needs(id)) return;
    X& g = pass.cotangent(id);
    for (size_t i = 0; i < found->second.size() && g.defined(); ++i) {
        const GradientHook hook = found->second[i];  // it may add others
        const Var instead = hook(Var(g));
        if (!instead.defined()) continue;
        require_like("gradient", "what the gradient hook returned", shape_of(id), dtype_of(id),
                     instead.value());
        if constexpr (std::is_same_v<X, Tensor>)
            g = instead.value();
        else
            g = instead;
    }
}
template void Tape::call_hooks(Backward<Tensor>&, uint32_t) const;
template void Tape::call_hooks(Backward<Var>&, uint32_t) const;

}  // namespace mercer
