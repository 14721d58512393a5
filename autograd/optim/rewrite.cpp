#include "autograd/optim/rewrite.h"

#include "autograd/optim/undivided.h"
#include "engine/error.h"

namespace mercer {

void check_given(const char* operation, std::span<Tensor* const> parameters) {
    for (size_t i = 0; i < parameters.size(); ++i)
        if (!parameters[i]) throw ValueError(operation, "parameter ", i, " is a null pointer");
}

void check_floating(const char* operation, const Tensor& t) {
    if (!t.defined()) throw ValueError(operation, "a tensor is undefined");
    if (!is_floating(t.dtype()))
        throw DTypeError(operation, "needs f32 or f64, got ", t, "; cast it");
}

void combine(const char* operation, std::span<Tensor> p, std::span<const Tensor> g,
             cpu::UpdateRule rule, double rate) {
    {
        const OperationScope scope(operation, g);
        std::vector<Tensor> dense;
        std::vector<cpu::UpdateItem> items;
        dense.reserve(g.size());
        items.reserve(g.size());
        for (size_t i = 0; i < g.size(); ++i) {
            if (!g[i].defined()) continue;
            p[i].before_write();
            if (instruments::on()) [[unlikely]]
                instruments::made(p[i]);
            cpu::UpdateItem& u = items.emplace_back();
            u.p = p[i].raw();
            u.g = dense.emplace_back(g[i].contiguous()).raw();
            u.n = p[i].count();
            u.rule = rule;
            u.wide = p[i].dtype() == DType::f64;
            u.constants.rate = rate;
        }
        const Undivided undivided;
        cpu::update(items);
    }
    instruments::settle();
}

void rewrite(const char* operation, std::span<Tensor> t, cpu::UpdateRule rule, double rate) {
    std::vector<Tensor> out(t.size());
    for (size_t i = 0; i < t.size(); ++i) {
        if (!t[i].defined()) continue;
        check_floating(operation, t[i]);
        out[i] = t[i].storage().alone() && t[i].is_contiguous()
                     ? t[i]
                     : Tensor::empty(t[i].shape(), t[i].dtype());
    }
    combine(operation, out, t, rule, rate);
    for (size_t i = 0; i < t.size(); ++i)
        if (out[i].defined()) t[i] = std::move(out[i]);
}

}  // namespace mercer
